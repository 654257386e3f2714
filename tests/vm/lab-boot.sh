#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60 --boot-limit 30 --append lab.hang
# short: a machine that hangs, or that an assertion of QEMU ends, while its kernel boots is started again
# beside: it waits for most of its time
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
[ -e "$OUT/hangs" ] || die "the first boot did not hang"
grep -q RIP= "$OUT/registers.failed-boot-1" || die "the registers of the machine that hangs are not there"
[ -e "$OUT/qemu.failed-boot-2" ] || die "the log of QEMU at the second boot is not there"
