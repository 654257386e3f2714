#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 8 --mem 1536 --timeout 300
# adapter: also
# turns: 3
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: the target refuses one of eight connections: the session works with seven, also over link flaps, and gets the eighth later
. ../lib/lab.sh
. ../lib/rnbd.sh

# A session is live as soon as its first connection is, and the client retries each further
# connection separately. The fault point refuse_queue makes the target refuse one
# connection.
QUEUES=8
# Index of the connection that is refused
REFUSED=7
SLOW=${LAB_SLOW:-1}

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)" 2
	arm rnbd-target
	strike rnbd-target refuse_queue 1000000 $REFUSED
	barrier exported
	barrier recovered 240
	refused=$(hits rnbd-target refuse_queue)
	need_counter "$refused" -ge 3 "connections that were refused"
	# This upper limit holds because the pauses between the retries of the connection grow.
	need_counter "$refused" -le 100 "connections that were refused"
	strike rnbd-target refuse_queue 0
	barrier allowed
	barrier end 240
	configfs_clear
	unload
	exit 0
fi

# connections_are NUMBER: the session has NUMBER connections; for wait_for
connections_are() { [ "$(counter "$dev" connections)" = "$1" ]; }
state_is() { [ "$(counter "$dev" state)" = "$1" ]; }
# said TEXT: print how many lines of the log of the client have TEXT
said() { dmesg | grep -c "$1"; }
said_once() { [ "$(said "$1")" = 1 ]; }
moves() {
	local before
	before=$(completed "$dev")
	wait_for 20 completed_over "$dev" $((before + 100))
	kill -0 $load 2>/dev/null || die "fio ended: $(tail -n 5 "$OUT/load" "$OUT/load.said")"
}

barrier exported
note "attach with a connection that is refused"
began=$(now_ms)
dev=$(attach disk0 --queues $QUEUES --keepalive $((500 * SLOW)) --pool 16M) || exit 1
need_counter $(($(now_ms) - began)) -lt $((15000 * SLOW)) "ms of the attach"
need "$dev" queues -eq $QUEUES
wait_for 20 connections_are $((QUEUES - 1))
wait_for $((20 * SLOW)) said_once "connection $((REFUSED + 1)) of $QUEUES cannot be established"
counter "$dev" connection_error | grep -q . || die "no connection_error"
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=8m --numjobs=$QUEUES --offset_increment=8m

note "the link flaps under load on all processors"
fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw --bs=4k --iodepth=8 --size=8m \
    --numjobs=$QUEUES --offset_increment=8m --time_based --runtime=36000 --verify=crc32c-intel \
    --verify_fatal=1 --verify_backlog=64 --verify_state_save=0 --group_reporting --minimal \
    --output="$OUT/load" >"$OUT/load.said" 2>&1 &
load=$!
seen=$(completed "$dev")
wait_for 20 completed_over "$dev" $((seen + 1000))
for i in 1 2 3; do
	moves
	lab cut 2
	wait_for $((20 * SLOW)) state_is reconnecting
	lab join 2
	began=$(now_ms)
	wait_for $((20 * SLOW)) state_is live
	note "flap $i: live after $(($(now_ms) - began)) ms"
	need_counter $(($(now_ms) - began)) -lt $((6000 * SLOW)) "ms until the disk is live"
	moves
	wait_for $((30 * SLOW)) connections_are $((QUEUES - 1))
done
need "$dev" connections_lost -eq 3
need "$dev" reconnects -eq 3
# The client logs the refusal once, and not at each reconnect.
said_once "connection $((REFUSED + 1)) of $QUEUES cannot be established" ||
	die "the log reports it more than once"
moves

note "the target serves all connections again"
epoch=$(counter "$dev" epoch)
barrier recovered
barrier allowed
wait_for $((30 * SLOW)) connections_are $QUEUES
wait_for 10 said_once "connection $((REFUSED + 1)) of $QUEUES is established"
same "$(counter "$dev" connection_error)" "" "connection_error"
same "$(counter "$dev" epoch)" "$epoch" "epoch: the session has not changed"
moves
need "$dev" connections_lost -eq 3

kill -INT $load
wait $load
grep -q 'verify:' "$OUT/load" "$OUT/load.said" && die "fio: $(cat "$OUT/load.said")"
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=8m --numjobs=$QUEUES --offset_increment=8m
detach "$dev"
barrier end
unload
