#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: the lab restarts a run once if a known fault of QEMU ends a machine after its boot
. ../lib/lab.sh

# Write the kernel messages that follow a known fault of QEMU: QEMU executes a breakpoint although
# the kernel has already removed the breakpoint.
if [ -z "$LAB_AGAIN" ]; then
	echo "Oops: int3: 0000 [#1] SMP" >/dev/kmsg
	echo "Code: 41 8b 4f 20 66 <90> f7 c1" >/dev/kmsg
	echo c >/proc/sysrq-trigger
	sleep 50
fi
same "$LAB_BOOT" 1 "boots that count"
