#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 120 --ignore-report .
# kernel: debug
# short: the debug kernel reports deliberate faults in lines that the lab recognises as reports
. ../lib/lab.sh
# Sourced for REPORTS, the pattern of a kernel report
# shellcheck source=scripts/lab.d/machines.sh
. ../../scripts/lab.d/machines.sh

# reported FAULT TEXT: commit the fault; a line that counts as a report must have TEXT
reported() {
	dmesg -C
	run modprobe rnbd_faults fault="$1"
	run rmmod rnbd_faults
	dmesg >"$OUT/dmesg.$1"
	grep -aE "$REPORTS" "$OUT/dmesg.$1" | grep -aF "$2" || die "$1: no report '$2'"
}

# Lockdep switches itself off at its first report and at one of KASAN, so the faults that need it
# come first.
reported rcu 'suspicious RCU usage'
reported lockdep 'possible circular locking dependency detected'
reported sleep 'sleeping function called from invalid context'
reported kasan 'KASAN: slab-use-after-free in fault_kasan'
reported ubsan 'UBSAN: array-index-out-of-bounds'
reported list 'list_add double add'
reported refcount 'refcount_t: addition on 0; use-after-free'
