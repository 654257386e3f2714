#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 400
# adapter: also mlx5 irdma bnxt_re ionic
# turns: 3
# short: late writes of a deactivated disk are refused when another disk has its handle index; without the generation they damage that disk
. ../lib/lab.sh
. ../lib/rnbd.sh

# A request that arrives after its attachment was closed must not be executed, even if another disk
# has got the index of its handle: the generation of the handle differs. The fault point
# hold_frames delays the frames of connection 1. Disk "one" is deactivated with writes in flight and
# detached over connection 0, and disk "two" gets the handle index of disk "one". Then the delayed
# frames arrive. Each disk has a generation checker with its own writer number, which the checker
# stores in each block. The fault point no_generation makes the target ignore the generation of the
# handle.
TRACING=/sys/kernel/tracing
WRONG_DATA=3

ended() { ! kill -0 "$1" 2>/dev/null; }
attachments() { [ "$(cat "$CFG/exports/$1/sessions")" = "$2" ]; }
late() { cat "$CFG/hosts/$(host_id 1)/late_requests"; }
late_over() { [ "$(late)" -gt "$1" ]; }
struck() { [ "$(hits rnbd-target no_generation)" -gt 0 ]; }
held_over() { [ "$(hits rnbd hold_frames)" -gt "$1" ]; }
# index EXPORT: print the index of the handle in the latest ATTACH of the export
index() {
	sed -n "s/.* handle: .*index=\([0-9]*\) .*export=\"$1\"\$/\1/p" $TRACING/trace | tail -n 1
}
# still DEV: no request of the disk completes within 0.5 s; for wait_for
still() {
	local before
	before=$(completed "$1")
	sleep 0.5
	[ "$(completed "$1")" = "$before" ]
}

# fill NAME NUMBER: write a part of the disk, with this writer number
fill() {
	local dev
	dev=$(attach "$1") || exit 1
	run gencheck run --journal "/dev/shm/$1" --writer "$2" --threads 4 --io 1 --ops 600 "$dev"
	detach "$dev"
	verify_storage "$1"
}

# verify_storage NAME: verify the storage below the export, without the client; return the status
verify_storage() {
	wait_for 20 attachments "$1" 0
	gencheck verify --journal "/dev/shm/$1" --adopt "${disk[$1]}" >"$OUT/verify-$1" 2>&1
	status=$?
	cat "$OUT/verify-$1"
	return $status
}

# overtake NAME COMMAND...: detach disk "one" while its writes are delayed, and attach disk NAME,
# which gets the handle index of disk "one". Then let the delayed writes arrive, and wait until
# COMMAND succeeds.
overtake() {
	local one two before checker attach
	one=$(attach one) || exit 1
	before=$(completed "$one")
	# The data of these writes travel inside frames. So the deactivation can fail a write before
	# its SEND has completed.
	taskset -c "$cpu" gencheck run --journal /dev/shm/one --writer 2 --threads 4 --io 1 --mix 0:100:0 \
		--time 100000 "$one" >"$OUT/run-one" 2>&1 &
	checker=$!
	wait_for 20 completed_over "$one" $((before + 50))
	before=$(hits rnbd hold_frames)
	strike rnbd hold_frames 1000000000 1
	wait_for 10 held_over "$before"
	wait_for 10 still "$one"
	kill -0 $checker 2>/dev/null || die "the checker ended: $(cat "$OUT/run-one")"

	# Deactivation fails the writes in flight and closes the attachment. A detach would wait
	# for them.
	run rnbd deactivate "$one"
	wait_for 20 ended $checker
	wait $checker
	same $? 2 "exit status of the checker (2: I/O errors only): $(cat "$OUT/run-one")"
	wait_for 20 attachments one 0
	detach "$one"
	# Attach in the background, because reads of the new disk can wait behind the delayed
	# frames.
	rnbd attach "$ADDR" "$1" >"$OUT/attached" &
	attach=$!
	wait_for 20 attachments "$1" 1
	same "$(index "$1")" "$(index one)" "index of $1"

	strike rnbd hold_frames 0
	taskset -c "$cpu" dd if="$third" of=/dev/null bs=4k count=1 iflag=direct status=none || die "read failed"
	wait_for 20 "${@:2}"
	wait $attach || die "attach of $1 failed"
	two=$(cat "$OUT/attached")
	detach "$two"
	need "$third" connections_lost -eq 0
}

set_host_id
target_start
# With inline_depth=1024 the data of all small writes travel inside frames, even if many writes are
# in flight.
modprobe rnbd inline_depth=1024 || die "modprobe rnbd failed"
arm rnbd
arm rnbd-target
declare -A disk=()
for name in third one two spare; do
	disk[$name]=$(null_disk 2) || exit 1
	export_disk "$name" "${disk[$name]}"
done
mountpoint -q $TRACING || mount -t tracefs tracefs $TRACING
echo 'p:rnbdproof/handle rnbdt_bind_check index=+0(%si):u16 generation=+4(%si):u32 export=+20(%si):string' \
	>>$TRACING/kprobe_events || die "no probe"
echo 1 >$TRACING/events/rnbdproof/handle/enable || die "the probe cannot be enabled"

# The session lasts as long as this disk is attached. With the long keep-alive interval the client
# does not probe connection 1 while its frames are delayed.
third=$(attach third --queues 2 --pool 4M --keepalive 30000 --slot-size 16K --inline-write 4K) || exit 1
cpu=$(sed 's/[,-].*//' "/sys/block/${third##*/}/mq/1/cpu_list") || die "no second hardware queue"
fill one 2 || die "wrong data before the test"
fill two 3 || die "wrong data before the test"
fill spare 4 || die "wrong data before the test"

note "the writes arrive late, and are refused"
before=$(late)
overtake two late_over "$before"
need_counter "$(($(late) - before))" -gt 0 "requests of the former handle that arrived late and were refused"
verify_storage one || die "wrong data on the disk that was detached"
verify_storage two || die "wrong data on the disk that has the index"

note "without the generation of the handle they are executed on the other disk"
strike rnbd-target no_generation 1000
overtake spare struck
need_counter "$(hits rnbd-target no_generation)" -gt 0 "requests of the former handle that were executed"
strike rnbd-target no_generation 0
verify_storage one || die "wrong data on the disk that was detached"
verify_storage spare
same $? $WRONG_DATA "exit status of the checker: this test proves nothing unless there is damage"
grep -q " writer=2" "$OUT/verify-spare" || die "the damage is not a block of the disk that was detached"

note "with the generation again"
before=$(late)
overtake two late_over "$before"
verify_storage one || die "wrong data on the disk that was detached"
verify_storage two || die "wrong data on the disk that has the index"

detach "$third"
echo 0 >$TRACING/events/rnbdproof/handle/enable
echo >$TRACING/kprobe_events
configfs_clear
unload
