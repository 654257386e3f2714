#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --cpus 4 --timeout 600
# short: a kernel survives code patching while four processors execute the code
. ../lib/lab.sh

# Enabling or disabling trace points patches code that every processor executes. On QEMU 7.2 this
# ended the machine with "Oops: int3" within seconds.
cd /sys/kernel/tracing || { mount -t tracefs none /sys/kernel/tracing && cd /sys/kernel/tracing; } ||
	die "no tracefs"
echo 0 >tracing_on
for _ in 1 2 3; do
	while :; do /bin/true; done &
done
for round in 1 2; do
	for group in sched irq timer; do
		echo 1 >events/$group/enable || die "cannot switch on the trace points of $group"
		echo 0 >events/$group/enable
	done
	echo "round $round, $SECONDS s"
done
jobs -p | xargs kill
