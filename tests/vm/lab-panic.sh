#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a kernel that panics, also at a breakpoint, is reported as died
# expect: panic
[ -z "$LAB_AGAIN" ] || exit 0 # not a panic: the test fails
echo "this kernel panics on purpose"
# A breakpoint that is in the code: no fault of QEMU.
printf '%s\n' "Oops: int3: 0000 [#1] SMP" "Code: 0f 1f 44 00 cc <66> 90" >/dev/kmsg
echo c >/proc/sysrq-trigger
sleep infinity
