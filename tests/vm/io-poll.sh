#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 3
# adapter: only
# short: polled queues: verified I/O completes by polling and survives faults; no request waits for a poller that was killed
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	barrier exported
	barrier end 300
	configfs_clear
	unload
	exit 0
fi

barrier exported
modprobe rnbd io_timeout=3

# polled FIO-OPTION...: run verified I/O that polls for completions; polling must find some
polled() {
	local before
	before=$(counter "$dev" polled)
	fio --name=poll --filename="$dev" --direct=1 --ioengine=io_uring --hipri=1 \
	    --verify=crc32c-intel --verify_fatal=1 --verify_state_save=0 --size=4m --minimal "$@" >"$OUT/fio" 2>&1 ||
		die "fio: $(tail -3 "$OUT/fio")"
	[ "$(counter "$dev" polled)" -gt "$before" ] || die "no completion was found by polling"
	echo "  $*: polled $(counter "$dev" polled)"
}

# Without --poll-queues the disk must have no polled queues.
dev=$(attach disk0 --queues 1) || exit 1
same "$(counter "$dev" poll_queues)" 0
detach "$dev"

dev=$(attach disk0 --queues 2 --poll-queues 2 --keepalive 1000) || exit 1
same "$(counter "$dev" queues)" 4 queues
same "$(counter "$dev" poll_queues)" 2 "polled queues"
same "$(cat "/sys/block/$(basename "$dev")/queue/io_poll")" 1 io_poll
polled --rw=randwrite --bs=4k --iodepth=1
polled --rw=randwrite --bs=4k --iodepth=32
polled --rw=randwrite --bs=128k --iodepth=8
# Use polled and other queues at the same time.
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=2m --offset=32m &
polled --rw=randrw --bs=4k --iodepth=8
wait $! || die "the other queues failed"
fio --name=sync --filename="$dev" --direct=1 --ioengine=pvsync2 --hipri=1 --rw=randread --bs=4k --size=1m \
    --minimal >"$OUT/sync" 2>&1 || die "fio: $(tail -3 "$OUT/sync")"

echo "a polled queue breaks under load"
for i in 2 3; do
	before=$(counter "$dev" reconnects)
	fio --name=load --filename="$dev" --direct=1 --ioengine=io_uring --hipri=1 --rw=randwrite --bs=4k \
	    --iodepth=16 --size=8m --time_based --runtime=300 --verify=crc32c-intel --verify_fatal=1 \
	    --verify_backlog=64 --verify_state_save=0 --minimal >"$OUT/load" 2>&1 &
	pid=$!
	requests=$(counter "$dev" requests)
	wait_for 30 counter_over "$dev" requests $((requests + 200))
	strike rnbd kill_queue 1 $i
	wait_for 40 counter_over "$dev" reconnects "$before"
	requests=$(counter "$dev" requests)
	wait_for 30 counter_over "$dev" requests $((requests + 200))
	kill -0 $pid || die "fio ended: $(tail -3 "$OUT/load")"
	kill $pid
	wait $pid
	if grep -q 'verify\|error' "$OUT/load"; then die "fio: $(grep -m3 'verify\|error' "$OUT/load")"; fi
done

echo "the link is cut, and no thread polls"
before=$(counter "$dev" reconnects)
lab cut 2
wait_for 30 grep -q reconnecting "/sys/block/$(basename "$dev")/rnbd/state"
lab join 2
wait_for 40 counter_over "$dev" reconnects "$before"
polled --rw=randwrite --bs=4k --iodepth=8

echo "the polling process is killed"
fio --name=load --filename="$dev" --direct=1 --ioengine=io_uring --hipri=1 --rw=randrw --bs=4k --iodepth=32 \
    --size=8m --time_based --runtime=300 --minimal >"$OUT/load" 2>&1 &
pid=$!
requests=$(counter "$dev" requests)
wait_for 30 counter_over "$dev" requests $((requests + 200))
pkill -KILL -P $pid
kill -KILL $pid
wait $pid
wait_for 30 sh -c "! pgrep -x fio"
before=$(counter "$dev" reconnects)
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=1m
wait_for 20 sh -c "grep -q '^0$' /sys/block/$(basename "$dev")/rnbd/pool_used"
same "$(counter "$dev" reconnects)" "$before" "reconnects for lack of a poller"
detach "$dev"
barrier end
unload
