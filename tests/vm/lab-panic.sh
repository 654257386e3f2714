#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a machine whose kernel panics, also at a breakpoint, is reported as died and not restarted
# expect: panic
[ -z "$LAB_AGAIN" ] || exit 0 # a wrong restart: the test fails without a panic
echo "this kernel panics on purpose"
# These code bytes still contain the breakpoint (cc). So the lab must regard the trap as an error of
# the kernel, and not as the known fault of QEMU.
printf '%s\n' "Oops: int3: 0000 [#1] SMP" "Code: 0f 1f 44 00 cc <66> 90" >/dev/kmsg
echo c >/proc/sysrq-trigger
sleep infinity
