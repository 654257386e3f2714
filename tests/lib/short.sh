# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A machine that is short of memory, and files that are larger than the available memory: sourced
# after rnbd.sh. Files have patterns, so that the checks need no copy of them.

# available: print the MiB that are available without swap
available() { awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo; }

# short_of_memory MIB: fill a tmpfs until only MIB MiB of memory are available; dirty page cache may
# take up to 60 % of this. The tmpfs stays in memory, because there is no swap. soft-RoCE
# allocates each packet in atomic context, so min_free_kbytes keeps a reserve for it.
short_of_memory() {
	local n

	echo 8192 >/proc/sys/vm/min_free_kbytes
	echo 3 >/proc/sys/vm/drop_caches
	mkdir -p /run/short
	mount -t tmpfs -o size=100% none /run/short || die "no tmpfs"
	n=$(($(available) - $1))
	[ $n -gt 0 ] || die "only $(available) MiB of memory are available"
	dd if=/dev/zero of=/run/short/taken bs=1M count=$n status=none || die "dd failed"
	echo 60 >/proc/sys/vm/dirty_ratio
	echo 50 >/proc/sys/vm/dirty_background_ratio
	note "$(available) MiB are available, $n are taken"
}
# enough_memory: free the memory that short_of_memory has taken
enough_memory() { umount /run/short || die "umount /run/short"; }

# pattern NAME MIB: print MIB MiB of text that differs for each name and node
pattern() { yes "$1 of node $NODE" | head -c $(($2 << 20)); }

# write_files DIR NUMBER MIB: start to write NUMBER files concurrently, through the page cache, with
# fsync; set $writers to the process ids
write_files() {
	local i

	writers=()
	for ((i = 1; i <= $2; i++)); do
		pattern "file $i" "$3" | dd of="$1/file$i" bs=64k iflag=fullblock conv=fsync status=none 2>"$OUT/dd.$i" &
		writers+=($!)
	done
}
# written: succeed if all writers have ended; for wait_for
written() {
	local pid

	for pid in "${writers[@]}"; do ! kill -0 "$pid" 2>/dev/null || return 1; done
}
# check_files DIR NUMBER MIB: wait for the writers; fail if a write has failed or if a file does not
# have the data that was written
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

# dirty_over MIB: succeed if more than MIB MiB of the page cache are still to be written to disk;
# for wait_for
dirty_over() {
	[ "$(awk '$1 == "Dirty:" || $1 == "Writeback:" { n += $2 } END { print int(n / 1024) }' /proc/meminfo)" -gt "$1" ]
}
