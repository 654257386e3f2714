#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 120 --ignore-report .
# kernel: debug
# short: the debug kernel reports deliberate faults in lines that the lab recognises as reports
. ../lib/lab.sh
# This file sets REPORTS, the pattern that matches the line of a kernel report.
# shellcheck source=scripts/lab.d/machines.sh
. ../../scripts/lab.d/machines.sh

# reported FAULT TEXT: cause the fault; a line of the kernel log must match REPORTS and contain TEXT
reported() {
	dmesg -C
	run modprobe rnbd_faults fault="$1"
	run rmmod rnbd_faults
	dmesg >"$OUT/dmesg.$1"
	grep -aE "$REPORTS" "$OUT/dmesg.$1" | grep -aF "$2" || die "$1: no report '$2'"
}

# Lockdep disables itself after its first report about locks and after a report of KASAN. So the
# faults that need lockdep come first.
reported rcu 'suspicious RCU usage'
reported lockdep 'possible circular locking dependency detected'
reported sleep 'sleeping function called from invalid context'
reported kasan 'KASAN: slab-use-after-free in fault_kasan'
reported ubsan 'UBSAN: array-index-out-of-bounds'
reported list 'list_add double add'
reported refcount 'refcount_t: addition on 0; use-after-free'
