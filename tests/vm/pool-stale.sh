#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# short: memory that a client releases while a WRITE uses it is not freed; without that rule the data of the WRITE are another client's
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# Rule R6. rnbd-peer has a WRITE in the storage, which takes seconds for it, releases the
# segment with the data, and fills all memory that another host can get (client_reclaim.c).
# Its data have the bytes 0x77, those of the other host 0xc7.
BYTES=65536

set_host_id
modprobe dm-delay || die "no dm-delay"
target_start
param rnbd_target login_rate 0
param rnbd_target claim_timeout 0
disk=$(null_disk 64) || exit 1
size=$(blockdev --getsz "$disk") || die "no size of $disk"
echo "0 $size delay $disk 0 0 $disk 0 $((5000 * ${LAB_SLOW:-1}))" | dmsetup create held || die "dmsetup"
INFLIGHT=/sys/block/$(basename "$(readlink -f /dev/mapper/held)")/inflight
export INFLIGHT
export_disk held /dev/mapper/held 2
other=$(null_disk 64) || exit 1
export_disk hostile "$other" 2 3
arm rnbd-target

rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"

# peer CASE [OPTION...]
peer() {
	rnbd-peer client --only "until-stale-$1" --verbose "${@:2}" >"$OUT/$1" ||
		{ cat "$OUT/$1"; die "the target is wrong, or the peer"; }
	cat "$OUT/$1"
}
no_sessions() { [ -z "$(ls $SESSIONS)" ]; }
# stored BYTE: the disk behind the export has nothing but this byte where the WRITE went
stored() {
	dd if="$disk" bs=$BYTES count=1 iflag=direct status=none |
		tr -d "\\$(printf %o "$1")" | cmp -s - /dev/null
}
wipe() { dd if=/dev/zero of="$disk" bs=$BYTES count=1 oflag=direct status=none || die "dd"; }

note "the session is ended, and the WRITE has its own data"
wipe
stored 0 || die "the disk is not wiped"
peer refused --monitor "$OUT/monitor"
wait_for 30 no_sessions
stored 0x77 || die "the WRITE has other data than its own"

note "without a look at the requests, its memory is another client's"
wipe
strike rnbd-target no_lease_drain 1000
peer freed
need_counter "$(hits rnbd-target no_lease_drain)" -gt 0 "segments that were freed in use"
strike rnbd-target no_lease_drain 0
wait_for 30 no_sessions
if stored 0x77; then die "no damage: this test proves nothing"; fi
note "the WRITE has: $(dd if="$disk" bs=16 count=1 iflag=fullblock status=none | od -An -tx1)"

note "and with the rule again"
wipe
peer refused --monitor "$OUT/monitor"
wait_for 30 no_sessions
stored 0x77 || die "the WRITE has other data than its own"
kill $monitor
configfs_clear
dmsetup_free() { dmsetup remove held 2>/dev/null; }
wait_for 10 dmsetup_free
unload
