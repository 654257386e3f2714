#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 4 --mem 1024 --timeout 300
# turns: 2
# adapter: only
# short: with polled queues and other queues that serve several CPUs each, no request is lost, also when it is resent after a reconnect
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
target_start
export_disk disk0 "$(null_disk 64)"
modprobe rnbd
dev=$(attach disk0 --queues 2 --poll-queues 1) || exit 1
name=$(basename "$dev")
same "$(counter "$dev" queues)" 3 queues

# A queue that serves the reads of all CPUs would list all four CPUs.
for i in 0 1; do
	cpus=$(cat "/sys/block/$name/mq/$i/cpu_list")
	echo "queue $i serves the CPUs $cpus"
	same "$(wc -w <<<"$cpus")" 2 "CPUs of queue $i"
done
detach "$dev"

# After a reconnect the client resends the requests that were in flight, through the per-CPU lists
# of the block layer. A request on the list of a wrong CPU would never be sent.
dev=$(attach disk0 --queues 2 --poll-queues 1) || exit 1
for cpu in 0 1 2 3; do
	before=$(counter "$dev" reconnects)
	requests=$(counter "$dev" requests)
	taskset -c $cpu fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw --bs=4k \
		--iodepth=32 --size=8m --time_based --runtime=300 --minimal >"$OUT/load" 2>&1 &
	pid=$!
	wait_for 30 counter_over "$dev" requests $((requests + 200))
	strike rnbd kill_queue 1 $((cpu % 2))
	wait_for 40 counter_over "$dev" reconnects "$before"
	requests=$(counter "$dev" requests)
	wait_for 30 counter_over "$dev" requests $((requests + 200))
	pkill -INT -x fio
	wait_for 30 sh -c "! pgrep -x fio"
	wait $pid
	wait_for 20 sh -c "grep -q '^0$' /sys/block/$(basename "$dev")/rnbd/pool_used"
	echo "CPU $cpu: all requests were completed"
done
detach "$dev"

echo "fewer queues than requested: both kinds get some"
echo 4 >/sys/module/rnbd_target/parameters/max_queues
dev=$(attach disk0 --queues 4 --poll-queues 4) || exit 1
same "$(counter "$dev" queues)" 4 queues
same "$(counter "$dev" poll_queues)" 2 "polled queues"
detach "$dev"
configfs_clear
unload
