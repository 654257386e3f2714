#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a machine that an assertion of QEMU ends while its kernel boots is started again
. ../lib/lab.sh

# The logs look as if QEMU had failed during the boot.
if [ ! -e "$OUT/died" ]; then
	: >"$OUT/died"
	echo "Linux version" >/dev/kmsg
	echo "qemu: iotlb_to_section: Assertion failed" >"$OUT/qemu.log"
	sync
	echo o >/proc/sysrq-trigger
	sleep 30
fi
same "$LAB_BOOT" 1 "boots that count"
[ -e "$OUT/qemu.failed-boot-1" ] || die "the log of QEMU at the first boot is not there"
