#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a kernel that the emulator's treatment of patched code kills at boot is started again
. ../lib/lab.sh

# as the console looks then: a kernel begins, a breakpoint that nobody has set, the end
if [ ! -e "$OUT/died" ]; then
	: >"$OUT/died"
	echo "Linux version" >/dev/kmsg
	echo "Oops: int3: 0000" >/dev/kmsg
	echo c >/proc/sysrq-trigger
fi
same "$LAB_BOOT" 1 "boots that count"
[ -e "$OUT/console.failed-boot-1" ] || die "the console of the first boot is not there"
