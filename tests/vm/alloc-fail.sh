#!/bin/bash
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 400
# kernel: debug
# short: memory allocations fail in logins and I/O at both ends: one clear error or another try, data right
. ./lib.sh
. ./rnbd.sh

TRIES=12
FAIL=/sys/kernel/debug/failslab

# text MODULE - first and last address of its functions
text() {
	awk -v m="[$1]" '$4 == m && $2 ~ /[tT]/ { print $1 }' /proc/kallsyms | sort | sed -n '1p;$p'
}

# fail MODULE PERCENT - allocations with a function of this module in their stack fail that
# often, of slab and of pages
fail() {
	local first last dir
	{ read -r first && read -r last; } < <(text "$1")
	[ -n "$last" ] || die "no functions of $1"
	for dir in $FAIL ${FAIL%/*}/fail_page_alloc; do
		echo 0x"$first" >"$dir"/require-start
		echo 0x"$last" >"$dir"/require-end
		echo 32 >"$dir"/stacktrace-depth
		echo N >"$dir"/ignore-gfp-wait
		echo N >"$dir"/task-filter
		echo 0 >"$dir"/verbose
		echo 1 >"$dir"/interval
		echo 100000 >"$dir"/times
		echo "$2" >"$dir"/probability
	done
	echo 0 >"${FAIL%/*}/fail_page_alloc/min-order"
}
no_fail() {
	echo 0 >"$FAIL"/probability
	echo 0 >"${FAIL%/*}/fail_page_alloc/probability"
}
failed() { echo $((200000 - $(cat $FAIL/times) - $(cat "${FAIL%/*}/fail_page_alloc/times"))); }

set_host_id
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 16)"
	truncate -s 16M /dev/shm/file
	export_disk file0 /dev/shm/file
	idle=$(rdma_own)
	barrier exported
	barrier client-logins 600
	fail rnbd_target 3
	barrier target-fails
	barrier target-logins 600
	note "allocations that failed here in logins: $(failed)"
	[ "$(failed)" -gt 5 ] || die "hardly an allocation failed"
	no_fail
	barrier target-works
	barrier load 120
	fail rnbd_target 3
	barrier io-fails
	barrier io-done 600
	note "allocations that failed here in I/O: $(failed)"
	[ "$(failed)" -gt 0 ] || die "no allocation failed"
	no_fail
	barrier end 120
	wait_for 20 rdma_own_is "$idle"
	configfs_clear
	unload
	exit 0
fi

barrier exported
modprobe rnbd
idle=$(rdma_own)

# logins END - some work, the others say why not and leave nothing
logins() {
	local i dev good=0 bad=0
	for i in $(seq 1 $TRIES); do
		if dev=$(rnbd attach "$ADDR" disk0 --queues 2 2>"$OUT/error"); then
			good=$((good + 1))
			dd if="$dev" of=/dev/null bs=64k count=2 iflag=direct status=none ||
				die "$dev does not read"
			detach "$dev"
		else
			bad=$((bad + 1))
			same "$(grep -c ^rnbd: "$OUT/error")" 1 "lines of an error"
			cat "$OUT/error"
		fi
	done
	note "allocations fail at the $1: $good attached, $bad refused"
	[ "$bad" -gt 0 ] || die "all logins worked"
}

fail rnbd 3
logins client
note "allocations that failed here in logins: $(failed)"
[ "$(failed)" -gt 5 ] || die "hardly an allocation failed"
no_fail
barrier client-logins
barrier target-fails
logins target
barrier target-logins
barrier target-works
wait_for 20 rdma_own_is "$idle"

dev=$(attach disk0 --queues 2 --keepalive 2000) || exit 1
file=$(attach file0 --queues 1 --keepalive 60000) || exit 1
gencheck run --journal /dev/shm/journal --threads 4 --io 1-64 --time 10000 "$dev" >"$OUT/gencheck" &
pids=($!)
gencheck run --journal /dev/shm/journal-file --threads 4 --io 1-64 --time 10000 "$file" >"$OUT/gencheck-file" &
pids+=($!)
wait_for 20 counter_over "$dev" requests 100
barrier load
fail rnbd 3
barrier io-fails
for i in 1 2; do
	# the keep-alive of the other disk comes much later
	strike rnbd kill_queue 1
	wait_for 60 counter_over "$dev" reconnects $((i - 1))
	before=$(counter "$dev" requests)
	wait_for 60 counter_over "$dev" requests $((before + 50))
done
note "allocations that failed here in I/O: $(failed)"
[ "$(failed)" -gt 0 ] || die "no allocation failed"
no_fail
barrier io-done
kill "${pids[@]}"
for p in "${pids[@]}"; do wait "$p" || die "gencheck: $(cat "$OUT"/gencheck*)"; done
cat "$OUT"/gencheck*
run gencheck verify --journal /dev/shm/journal "$dev"
run gencheck verify --journal /dev/shm/journal-file "$file"
detach "$dev"
detach "$file"
wait_for 20 rdma_own_is "$idle"
barrier end
unload
