#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1536 --timeout 300
# kernel: debug
# short: soft-RoCE handles a packet while its queue pair is destroyed: no use after free
. ../lib/lab.sh
. ../lib/rnbd.sh

# After soft-RoCE of Linux 6.12 has queued a packet, it uses the queue pair for a moment without a
# reference. A probe at the target prolongs that moment. Without the work-around in quirks.c KASAN
# reports a use after free.
ROUNDS=5

held_up() { cat /sys/module/rnbd_faults/parameters/late_packets; }

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	modprobe rnbd_faults fault=late-packet late_every=24 late_ms=700 || die "no probe"
	lab barrier exported
	lab barrier end --timeout 280
	echo "target: $(held_up) packets held up"
	[ "$(held_up)" -gt $ROUNDS ] || die "the probe delayed too few packets"
	rmmod rnbd_faults
	configfs_clear
	unload
	exit 0
fi

# The probe delays the processors of the target, so an attach can time out: wait_for retries it.
attached() { dev=$(rnbd attach "$ADDR" disk0 --queues 2); }

lab barrier exported
modprobe rnbd
before=$(rdma_own)
for i in $(seq 1 $ROUNDS); do
	wait_for 90 attached
	fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw --bs=16k \
	    --iodepth=16 --time_based --runtime=600 --minimal >"$OUT/load" 2>&1 &
	pid=$!
	wait_for 60 counter_over "$dev" requests 50
	rnbd detach "$dev" --force || die "forced detach failed"
	wait $pid && die "fio saw no error"
	echo "$i of $ROUNDS connections ended under load"
done
wait_for 30 rdma_own_is "$before"
lab barrier end
unload
