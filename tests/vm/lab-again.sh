#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a run whose machine a fault of QEMU ends after its boot is started again, once
. ../lib/lab.sh

# The log looks as if QEMU had executed a breakpoint that the kernel had removed.
if [ -z "$LAB_AGAIN" ]; then
	echo "Oops: int3: 0000 [#1] SMP" >/dev/kmsg
	echo "Code: 41 8b 4f 20 66 <90> f7 c1" >/dev/kmsg
	echo c >/proc/sysrq-trigger
	sleep 50
fi
same "$LAB_BOOT" 1 "boots that count"
