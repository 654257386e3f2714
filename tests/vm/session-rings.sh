#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 4 --mem 1536 --timeout 300
# adapter: only
# turns: 3
# short: receive slots and requests of a connection grow under load and shrink when it is idle, and no frame is lost
. ../lib/lab.sh
. ../lib/rnbd.sh

# The receive slots and requests of a connection grow under load and shrink when it is idle. A
# new or idle connection has FIRST receive slots at each end, and the target accepts
# DEPTH_FIRST requests on it.
FIRST=4
DEPTH_FIRST=16
QUEUES=4
T=/sys/kernel/rnbd-target

# target NAME: print a counter of the only session of the target
target() { cat "$T"/sessions/*/"$1"; }
# violations: print the number of protocol errors that both ends have counted
violations() { cat /sys/kernel/rnbd/violations/* $T/violations/* | awk '{ sum += $1 } END { print sum }'; }
frames_sent() { echo $(($(counter "$dev" frames_sent) + $(counter "$dev" credit_frames_sent))); }
frames_received() { echo $(($(counter "$dev" frames_received) + $(counter "$dev" credit_frames_received))); }

# idle: succeed if all connections have their initial numbers of slots and requests; for wait_for
idle() {
	[ "$(counter "$dev" recv_slots)" = $((FIRST * QUEUES)) ] &&
		[ "$(counter "$dev" peer_slots)" = $((FIRST * QUEUES)) ] &&
		[ "$(counter "$dev" send_slots)" = $(((FIRST + 1) * QUEUES)) ] &&
		[ "$(counter "$dev" depth_allocated)" = $((DEPTH_FIRST * QUEUES)) ] &&
		[ "$(target recv_slots)" = $((FIRST * QUEUES)) ] &&
		[ "$(target requests_allocated)" = $((DEPTH_FIRST * QUEUES)) ]
}
# agree: succeed if each frame that one end has sent has arrived at the other end; for wait_for
agree() {
	[ "$(frames_sent)" = "$(target frames_received)" ] &&
		[ "$(target frames_sent)" = "$(frames_received)" ]
}
over() { [ "$(target "$1")" -gt "$2" ]; }
connections_are() { [ "$(counter "$dev" connections)" = "$1" ]; }
memory_is() { [ "$(target queue_bytes)" = "$1" ]; }
limited() { cat $T/limits/host_queue_memory; }
limited_over() { [ "$(limited)" -gt "$1" ]; }

# load: start I/O with checksums at a depth that needs larger rings; set pid
load() {
	fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw --bs=4k \
	    --iodepth=128 --iodepth_batch_submit=1 --size=16m --numjobs=$QUEUES --offset_increment=16m \
	    --cpus_allowed=0-$((QUEUES - 1)) --cpus_allowed_policy=split --time_based --runtime=36000 \
	    --verify=crc32c-intel --verify_fatal=1 --verify_backlog=64 --verify_state_save=0 \
	    --group_reporting --minimal --output="$OUT/load" >"$OUT/load.said" 2>&1 &
	pid=$!
}

set_host_id
target_start
# The storage takes 0.2 ms for a request, so many requests are in flight, and their replies are
# spread over many frames.
export_disk disk0 "$(null_disk 128 irqmode=2 completion_nsec=200000)"
before=$(violations)
dev=$(attach disk0 --queues $QUEUES --queue-depth 128 --ring-slots 64 --pool 16M) || exit 1
wait_for 20 connections_are $QUEUES

note "idle since the login"
wait_for 30 idle
small=$(target queue_bytes)
note "memory of $QUEUES idle connections at the target: $small bytes"

for round in 1 2 3; do
	note "round $round: load at depth 128"
	grown=$(counter "$dev" rings_grown)
	shrunk=$(counter "$dev" rings_shrunk)
	load
	wait_for 30 counter_over "$dev" peer_slots $((FIRST * QUEUES))
	wait_for 30 over recv_slots $((FIRST * QUEUES))
	wait_for 30 counter_over "$dev" depth_allocated $((DEPTH_FIRST * QUEUES))
	wait_for 30 over requests_allocated $((DEPTH_FIRST * QUEUES))
	wait_for 30 over queue_bytes "$small"
	need "$dev" rings_grown -gt "$grown"
	kill -0 $pid 2>/dev/null || die "fio ended: $(tail -n 5 "$OUT/load" "$OUT/load.said")"
	note "slots of the target: $(target recv_slots), of the client: $(counter "$dev" recv_slots), requests: $(counter "$dev" depth_allocated), memory: $(target queue_bytes)"
	seen=$(completed "$dev")
	wait_for 30 completed_over "$dev" $((seen + 2000))
	kill $pid
	wait $pid
	# The status of a stopped fio says nothing about data, so search its output for wrong data.
	! grep -q "verify:" "$OUT/load.said" || die "$(cat "$OUT/load.said")"

	note "round $round: idle"
	wait_for 60 idle
	need "$dev" rings_shrunk -gt "$shrunk"
	wait_for 30 memory_is "$small"
	wait_for 30 agree
done

note "correct data, no lost connection, no protocol error"
verify "$dev" --rw=randwrite --bs=4k --iodepth=128 --size=16m
verify "$dev" --rw=randwrite --bsrange=4k-256k --iodepth=32 --size=32m
need "$dev" connections_lost -eq 0
same "$(violations)" "$before" "protocol errors"
wait_for 30 agree
note "frames of the client: $(frames_sent) sent, $(frames_received) received"

detach "$dev"

note "a limit on memory keeps rings small, and nothing fails"
# A single host may use 896 KiB of this limit of 1 MiB. Even the idle connections need more than 576
# KiB for slots, so the rings can hardly grow.
echo 1 >/sys/module/rnbd_target/parameters/queue_limit_mb || die "parameter"
dev=$(attach disk0 --queues $QUEUES --queue-depth 128 --ring-slots 64 --slot-size 16384 --pool 16M) || exit 1
wait_for 20 connections_are $QUEUES
had=$(limited)
load
wait_for 30 limited_over "$had"
seen=$(completed "$dev")
wait_for 30 completed_over "$dev" $((seen + 2000))
need_counter "$(target queue_bytes)" -le $((896 * 1024)) "bytes of the host"
kill -0 $pid 2>/dev/null || die "fio ended: $(tail -n 5 "$OUT/load" "$OUT/load.said")"
kill $pid
wait $pid
need "$dev" connections_lost -eq 0
same "$(violations)" "$before" "protocol errors"
echo 0 >/sys/module/rnbd_target/parameters/queue_limit_mb
detach "$dev"
configfs_clear
unload
