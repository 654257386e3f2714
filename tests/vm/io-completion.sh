#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 8 --mem 1536 --timeout 200
# turns: 2
# adapter: only mlx5 irdma bnxt_re ionic
# short: each request is marked complete before it ends; unmapped reads are retried with a delay; late connection events do no harm; polled queues drain together
# The fault point fail_map acts only on reads that allow an inline reply, because the client maps
# the pages of such a read only after the reply. The profile minimal has one gather entry and
# therefore no inline replies.
. ../lib/lab.sh
. ../lib/rnbd.sh

# wrong TEXT: record a failure. The test continues, and fails at its end if a failure was recorded.
failures=0
wrong() {
	echo "WRONG: $*"
	failures=$((failures + 1))
}

set_host_id
target_start
# brd handles bios and no requests of blk-mq, so the probe below counts only requests of the client.
modprobe brd rd_nr=1 rd_size=65536 || die "no brd"
export_disk disk0 /dev/ram0
modprobe rnbd
arm rnbd

note "every request is marked complete before it ends, on any processor"
dev=$(attach disk0 --queues 2) || exit 1
# On soft-RoCE (a run without modelled adapters), work requests complete in unbound work items. Keep
# these work items on the processor that submits the requests.
unbound=/sys/devices/virtual/workqueue/cpumask
mask=$(<$unbound)
echo 1 >$unbound || die "no mask of work queues"
count_calls blk_mq_complete_request_remote
taskset -c 0 dd if="$dev" of=/dev/null bs=4k count=500 iflag=direct status=none || die "dd failed"
echo 0 >/sys/kernel/tracing/events/rnbdproof/enable
echo "$mask" >$unbound
marked=$(calls blk_mq_complete_request_remote)
note "$marked of 500 requests"
[ "$marked" -ge 500 ] || wrong "requests ended that the block layer considers in flight"

note "a read whose pages cannot be mapped is retried after a delay"
strike rnbd fail_map 1000000
fio --name=map --filename="$dev" --direct=1 --ioengine=libaio --rw=randread --bs=4k --iodepth=16 --time_based \
    --runtime=3 --minimal >"$OUT/fio" 2>&1 &
load=$!
failed_once() { [ "$(hits rnbd fail_map)" -gt 0 ]; }
wait_for 20 failed_once
first=$(hits rnbd fail_map) began=$(now_ms)
sleep 1
rate=$((($(hits rnbd fail_map) - first) * 1000 / ($(now_ms) - began)))
strike rnbd fail_map 0
wait $load || die "fio: $(tail -3 "$OUT/fio")"
note "$rate reads per second were retried"
# Each of the 16 reads in flight waits 10 ms before each retry, so there are at most 1600 retries
# per second.
[ $rate -gt 0 ] || wrong "no read was retried"
[ $rate -le 1650 ] || wrong "reads were retried too often"
need "$dev" connections_lost -eq 0
detach "$dev"

note "the connection manager reports the connections late"
# While queue 1 connects, the session is already live, and the ends send keep-alives on queue 0.
strike rnbd late_start 2 3500
if dev=$(rnbd attach "$ADDR" disk0 --queues 2 --keepalive 4000); then
	wait_for 20 counter_over "$dev" credit_frames_received 1
	wait_for 20 counter_over "$dev" connections 1
	same "$(hits rnbd late_start)" 2 "connections that were reported late"
	works "$dev"
	[ "$(counter "$dev" connections_lost)" = 0 ] || wrong "the connection was lost"
	detach "$dev"
else
	wrong "no disk"
fi
strike rnbd late_start 0
[ "$(cat /sys/kernel/rnbd/violations/* | sort -u)" = 0 ] || wrong "protocol errors"

note "polled queues are drained concurrently"
# drains N: deactivate a disk with N polled queues; set took to the milliseconds that this takes
drains() {
	local began

	dev=$(attach disk0 --queues 1 --poll-queues "$1") || exit 1
	same "$(counter "$dev" poll_queues)" "$1" "polled queues"
	began=$(now_ms)
	rnbd deactivate "$dev" || die "deactivate failed"
	took=$(($(now_ms) - began))
	note "$1 polled queues drained in $took ms"
	detach "$dev"
}
drains 1
one=$took
drains 8
# If the queues were drained one after the other, the drain of 8 queues would take 8 times as long.
[ $took -lt $((4 * one)) ] || wrong "the drain took too long"
configfs_clear
unload
[ $failures = 0 ] || die "$failures checks failed"
