#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 300 --boot-limit 60 --append lab.hang
# short: the lab restarts a machine that hangs, or that a known fault of QEMU ends, while its kernel boots
# beside: it waits for most of its time
. ../lib/lab.sh

# die_booting QEMU-LINE KERNEL-LINES: write the log lines of a fault of QEMU during the boot, and
# power the machine off
die_booting() {
	# The lab checks the machine every 2 s. It must first see that the machine is up, and only
	# after that the log lines of the fault.
	sleep 5
	echo "Linux version" >/dev/kmsg
	echo "$1" >"$OUT/qemu.log"
	while read -r line; do echo "$line" >/dev/kmsg; done <<<"$2"
	sync
	sleep 5
	echo o >/proc/sysrq-trigger
	sleep 30
}

if [ ! -e "$OUT/asserted" ]; then
	: >"$OUT/asserted"
	die_booting "qemu: iotlb_to_section: Assertion failed" ""
elif [ ! -e "$OUT/trapped" ]; then
	: >"$OUT/trapped"
	die_booting "" "Oops: int3: 0000 [#1]
Code: 41 8b 4f 20 66 <90> f7 c1"
fi
same "$LAB_BOOT" 1 "boots that count"
[ -e "$OUT/hangs" ] || die "the first boot did not hang"
grep -q RIP= "$OUT/registers.failed-boot-1" || die "the registers of the machine that hangs are missing"
[ -e "$OUT/qemu.failed-boot-2" ] || die "the QEMU log of the second boot is missing"
grep -q 'Oops: int3' "$OUT/console.failed-boot-3" || die "the kernel log of the third boot is missing"
