# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A disk of scsi_debug into which a test can inject errors, and helpers that check the error that a
# reader or writer gets: sourced after rnbd.sh.

# scsi_disk MIB [MODULE-OPTION...]: load scsi_debug with one disk and print its path
scsi_disk() {
	local found="find /sys/bus/pseudo/drivers/scsi_debug/adapter0/ -path '*/block/*' -prune -name 'sd*'"

	modprobe sd_mod || die "no SCSI disks"
	modprobe scsi_debug dev_size_mb="$1" delay=0 "${@:2}" || die "modprobe scsi_debug failed"
	wait_for 10 sh -c "$found | grep -q ."
	echo "/dev/$(basename "$(sh -c "$found")")"
}

scsi_errors() {
	debugfs_ready
	echo "/sys/kernel/debug/scsi_debug/$(basename "$(readlink -f "/sys/block/${1##*/}/device")")/error"
}

# scsi_fail DISK OPCODE HOST STATUS [KEY ASC ASCQ]: let SCSI commands with this opcode fail with
# this host byte, SCSI status and sense data; all numbers are hexadecimal
scsi_fail() {
	echo "2 1 $2 $3 0 $4 ${5-0} ${6-0} ${7-0}" >"$(scsi_errors "$1")" || die "no error injection"
}

# scsi_well DISK OPCODE: let SCSI commands with this opcode succeed again
scsi_well() { echo "- 2 $2" >"$(scsi_errors "$1")" || die "no injected error of $2"; }

# fails TEXT COMMAND...: COMMAND must fail with the error message TEXT
fails() {
	local out

	out=$(LC_ALL=C "${@:2}" 2>&1) && die "no error, wanted '$1': ${*:2}"
	[[ $out == *"$1"* ]] || die "wanted '$1': ${*:2}: $out"
}

# reads DEV BLOCK, writes DEV BLOCK: read or write one block of 4 KiB with direct I/O
reads() { dd if="$1" of=/dev/null bs=4k skip="$2" count=1 iflag=direct status=none; }
writes() { dd if=/dev/zero of="$1" bs=4k seek="$2" count=1 oflag=direct status=none; }
# flushes DEV: flush the device
flushes() { dd if=/dev/null of="$1" conv=fsync,notrunc status=none; }
