#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 300
# turns: 3
# adapter: only
# without: event, because a lost packet costs a retry time-out of the time to reconnect
# short: with policy queue, cut links, killed queue pairs, lost replies and removed devices cost time, but never an I/O error
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	lab barrier exported

	lab barrier drop
	strike rnbd-target drop_reply 1
	lab barrier dropped --timeout 120
	[ "$(hits rnbd-target drop_reply)" = 1 ] || die "no reply was dropped"

	lab barrier remove --timeout 120
	echo "the target's RDMA device is removed and returns"
	device_remove
	sleep 1
	device_add
	wait_for 20 grep -q listening "$CFG/ports/1/state"
	lab barrier removed --timeout 120

	lab barrier off --timeout 120
	echo "the export is disabled for a while"
	rnbd export disable disk0 || die "disable failed"
	sleep 1
	rnbd export enable disk0 || die "enable failed"
	lab barrier on --timeout 120
	lab barrier end --timeout 120
	configfs_clear
	unload
	exit 0
fi

lab barrier exported
modprobe rnbd io_timeout=3
dev=$(attach disk0 --queues 2 --keepalive 1000) || exit 1
sys=/sys/block/$(basename "$dev")/rnbd

# On a slow kernel a lighter load leaves processor time for the shell.
depth=16 sizes=4k-64k
if [ -n "$LAB_SLOW" ]; then depth=4 sizes=4k-16k; fi

load() {
	fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw \
	    --bsrange=$sizes --iodepth=$depth --size=32m --time_based --runtime=3600 \
	    --verify=crc32c-intel --verify_fatal=1 --verify_backlog=64 --verify_state_save=0 \
	    --minimal >"$OUT/load" 2>&1 &
	pid=$!
	wait_for 20 counter_over "$dev" requests 200
}

# still_runs: the load has not ended, and its requests complete
still_runs() {
	local before
	before=$(counter "$dev" requests)
	wait_for 20 counter_over "$dev" requests $((before + 100))
	kill -0 "$pid" 2>/dev/null || die "fio ended: $(tail -5 "$OUT/load")"
}

# again WHAT: the session reconnects after WHAT, and the load continues
again() {
	wait_for 40 counter_over "$dev" reconnects "$seen"
	wait_for 20 grep -q live "$sys/state"
	seen=$(counter "$dev" reconnects)
	still_runs
	echo "  $1: reconnects $seen, epoch $(counter "$dev" epoch), resent $(counter "$dev" resent_requests), reason: $(counter "$dev" reason)"
}

seen=0
load
for i in 0 1; do
	strike rnbd kill_queue 1 $i
	again "queue $i killed"
	[ "$(hits rnbd kill_queue)" = $((i + 1)) ] || die "no queue was killed"
done

strike rnbd fail_post 1
again "a post failed"

strike rnbd fail_ring 1
again "the ring failed while a request was submitted"
[ "$(hits rnbd fail_ring)" = 1 ] || die "the ring did not fail"

lab barrier drop
again "a reply was lost"
lab barrier dropped

echo "the link is cut for 5 s"
for i in 1 2; do
	lab cut 2
	sleep 5
	lab join 2
	start=${EPOCHREALTIME/[.,]/}
	before=$(counter "$dev" requests)
	wait_for 10 counter_over "$dev" requests $((before + 10))
	took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
	echo "  I/O continues $took ms after the link's return"
	[ "$took" -lt $((3000 * ${LAB_SLOW:-1})) ] || die "reconnected only $took ms after the link's return"
	[ "$(counter "$dev" state)" = live ] || wait_for 5 grep -q live "$sys/state"
	still_runs
done
seen=$(counter "$dev" reconnects)
echo "  reconnects $seen, $(counter "$dev" reason)"

lab barrier remove
again "the target's device was removed"
lab barrier removed
seen=$(counter "$dev" reconnects)

echo "the RDMA device of the client is removed and returns"
device_remove
wait_for 10 grep -q reconnecting "$sys/state"
sleep 1
device_add
again "our device was removed"

start=$(now_ms)
epoch=$(counter "$dev" epoch)
lab barrier off
wait_for 40 back_since "$dev" "$start"
still_runs
counter "$dev" reason | grep -q 'disabled or withdrawn' || die "reason: $(counter "$dev" reason)"
need "$dev" reconnects -eq "$seen"
need "$dev" epoch -eq "$epoch"
echo "  the export was disabled: the disk is attached again, in the same session"
lab barrier on

kill -0 "$pid" || die "fio ended: $(tail -5 "$OUT/load")"
kill "$pid"
wait "$pid"
if grep -q 'verify\|error' "$OUT/load"; then die "fio: $(grep -m3 'verify\|error' "$OUT/load")"; fi
detach "$dev"
lab barrier end
unload
