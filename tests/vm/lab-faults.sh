#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 120 --ignore-report .
# kernel: debug
# short: the debug kernel reports deliberate faults, in words that the lab looks for
. ../lib/lab.sh
# only for what it takes for a report
# shellcheck source=scripts/lab.d/machines.sh
. ../../scripts/lab.d/machines.sh

# reported FAULT TEXT - commit it; the kernel must say TEXT in a line that counts as report
reported() {
	dmesg -C
	run modprobe rnbd_faults fault="$1"
	run rmmod rnbd_faults
	dmesg >"$OUT/dmesg.$1"
	grep -aE "$REPORTS" "$OUT/dmesg.$1" | grep -aF "$2" || die "$1: no report '$2'"
}

# Lockdep ends with its first report and with one of KASAN: what needs it comes first.
reported rcu 'suspicious RCU usage'
reported lockdep 'possible circular locking dependency detected'
reported sleep 'sleeping function called from invalid context'
reported kasan 'KASAN: slab-use-after-free in fault_kasan'
reported ubsan 'UBSAN: array-index-out-of-bounds'
reported list 'list_add double add'
reported refcount 'refcount_t: addition on 0; use-after-free'
