# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A machine that is short of memory, and files that are larger than what is left: sourced
# after rnbd.sh. Files have patterns, so that no copy of them is needed.

# available: MiB that can be had without swap
available() { awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo; }

# short_of_memory MIB: no more than MIB are left from now on; most of it may be dirty. There is
# no swap, so what is in a tmpfs stays. Soft-RoCE allocates each packet in a context that
# cannot wait: these allocations have a reserve.
short_of_memory() {
	local n

	echo 8192 >/proc/sys/vm/min_free_kbytes
	echo 3 >/proc/sys/vm/drop_caches
	mkdir -p /run/short
	mount -t tmpfs -o size=100% none /run/short || die "no tmpfs"
	n=$(($(available) - $1))
	[ $n -gt 0 ] || die "the machine has only $(available) MiB"
	dd if=/dev/zero of=/run/short/taken bs=1M count=$n status=none || die "dd failed"
	echo 60 >/proc/sys/vm/dirty_ratio
	echo 50 >/proc/sys/vm/dirty_background_ratio
	note "$(available) MiB are available, $n are taken"
}
# enough_memory: it is given back
enough_memory() { umount /run/short || die "umount /run/short"; }

# pattern NAME MIB: so much text, a different one for each name
pattern() { yes "$1 of node $NODE" | head -c $(($2 << 20)); }

# write_files DIR NUMBER MIB: at the same time, through the page cache, with fsync; the processes
# are in $writers
write_files() {
	local i

	writers=()
	for ((i = 1; i <= $2; i++)); do
		pattern "file $i" "$3" | dd of="$1/file$i" bs=64k iflag=fullblock conv=fsync status=none 2>"$OUT/dd.$i" &
		writers+=($!)
	done
}
# written: all have ended; for wait_for
written() {
	local pid

	for pid in "${writers[@]}"; do ! kill -0 "$pid" 2>/dev/null || return 1; done
}
# check_files DIR NUMBER MIB: no write has failed, and the disk has what was written
check_files() {
	local i

	for ((i = 1; i <= $2; i++)); do
		wait "${writers[i - 1]}" || die "file $i: $(cat "$OUT/dd.$i")"
	done
	echo 3 >/proc/sys/vm/drop_caches
	for ((i = 1; i <= $2; i++)); do
		pattern "file $i" "$3" | cmp - "$1/file$i" || die "file $i has other data"
	done
}

# dirty_over MIB: data that are not on the disk yet; for wait_for
dirty_over() {
	[ "$(awk '$1 == "Dirty:" || $1 == "Writeback:" { n += $2 } END { print int(n / 1024) }' /proc/meminfo)" -gt "$1" ]
}
