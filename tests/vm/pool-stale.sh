#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 500
# turns: 3
# short: pool memory goes to another host only when neither storage nor client can access it; without that rule each side finds the other's data
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The pages of a segment go to another session only when neither the storage nor the RDMA device can
# access them any longer. Each case (client_stale.c) runs with the rule, and the data of
# both clients must be right. Each case also runs with a fault point that disables the rule. In that
# run rnbd-peer or this script must find the bytes of the other client or of the storage in place of
# the right ones. The cases are:
#
# - The storage takes seconds for a request of rnbd-peer, which releases the segment that the
#   request names. Another host fills all memory that it can get.
# - The peer continues with RDMA WRITEs to its segments after it has released them, while the
#   target closes its session, or after it has not returned them in time.
#
# Soft-RoCE, like a real adapter, accesses the pages of a memory region even if they have a new
# owner. The modelled adapter reports such an access instead.
BYTES=65536
OLD=0x77	# bytes of the peer
NEW=0xc7	# bytes of the other host
STORED=0x55	# bytes of the storage that is read

set_host_id
modprobe dm-delay || die "no dm-delay"
target_start
param rnbd_target login_rate 0
param rnbd_target claim_timeout 0
disk=$(null_disk 64) || exit 1
size=$(blockdev --getsz "$disk") || die "no size of $disk"
echo "0 $size delay $disk 0 $((5000 * ${LAB_SLOW:-1}))" | dmsetup create slow || die "dmsetup"
# INFLIGHT is the file inflight of a linear mapping above dm-delay. The linear mapping counts a
# request from its submission, and dm-delay would count it only after the delay.
echo "0 $size linear /dev/mapper/slow 0" | dmsetup create held || die "dmsetup"
INFLIGHT=/sys/dev/block/$(dmsetup info -c --noheadings --separator : -o major,minor held)/inflight
[ -r "$INFLIGHT" ] || die "no $INFLIGHT"
export INFLIGHT
export_disk held /dev/mapper/held 2
other=$(null_disk 64) || exit 1
export_disk hostile "$other" 2 3
arm rnbd-target

rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"

no_sessions() { [ -z "$(ls $SESSIONS)" ]; }
# idle: the storage has no request, for example of udev, which reads new and written disks
idle() { [ "$(xargs <"$INFLIGHT")" = "0 0" ]; }
# peer CASE: run one case of rnbd-peer, which fails unless the expected data are found
peer() {
	wait_for 60 idle
	rnbd-peer client --only "until-stale-$1" --monitor "$OUT/monitor" --verbose >"$OUT/$1" ||
		{ cat "$OUT/$1"; die "$1: a case of rnbd-peer failed"; }
	cat "$OUT/$1"
	wait_for 60 no_sessions
}
# fill BYTE: fill the part of the storage that the requests use, directly on the disk below the
# export
fill() {
	head -c $BYTES /dev/zero | tr '\0' "\\$(printf %o "$1")" |
		dd of="$disk" bs=$BYTES iflag=fullblock oflag=direct status=none || die "dd"
	stored "$1" || die "the disk does not have the bytes $1"
}
# stored BYTE: succeed if the first $BYTES of the storage contain only BYTE
stored() {
	dd if="$disk" bs=$BYTES count=1 iflag=direct status=none |
		tr -d "\\$(printf %o "$1")" | cmp -s - /dev/null
}

# write_has BYTE CASE: run a case in which the peer releases the segment of a WRITE that is in the
# storage; after that the storage must contain BYTE
write_has() {
	fill 0
	peer "$2"
	note "the WRITE stored: $(dd if="$disk" bs=16 count=1 iflag=fullblock status=none | od -An -tx1)"
	stored "$1" || die "$2: the WRITE stored other data than $1"
}

note "a WRITE in the storage: the session ends, and the WRITE stores its own data"
write_has $OLD write-refused
note "without the check for requests, the WRITE stores data of the other host"
strike rnbd-target no_lease_drain 1000
write_has $NEW write-freed
need_counter "$(hits rnbd-target no_lease_drain)" -gt 0 "segments that were freed in use"
strike rnbd-target no_lease_drain 0
note "with the check again"
write_has $OLD write-refused

note "a READ in the storage: the other host keeps its own data"
fill $STORED
peer read-refused
note "without the check for requests, the other host gets data of the READ"
struck=$(hits rnbd-target no_lease_drain)
strike rnbd-target no_lease_drain 1000
peer read-freed
need_counter "$(hits rnbd-target no_lease_drain)" -gt "$struck" "segments that were freed in use"
strike rnbd-target no_lease_drain 0
note "with the check again"
peer read-refused

# Arguments of the fault point reuse_segment, which lets the target reuse pages while the client can
# still access them. The pages belong to a segment that is not returned in time (LATE), to a session
# that closes (CLOSING), or to a released segment (RELEASED).
LATE=0 CLOSING=1 RELEASED=2

# reuse ARG CASE COMMAND...: run a case with the rule, without the rule (reuse_segment ARG), and
# with the rule again; run COMMAND before each of the three runs
reuse() {
	local hits
	note "$2: pages are kept until the access ends"
	"${@:3}"
	peer "$2-kept"
	note "$2: pages are reused before the access ends"
	"${@:3}"
	hits=$(hits rnbd-target reuse_segment)
	strike rnbd-target reuse_segment 1000 "$1"
	peer "$2-reused"
	need_counter "$(hits rnbd-target reuse_segment)" -gt "$hits" "times that pages were reused early"
	strike rnbd-target reuse_segment 0
	note "$2: pages are kept until the access ends, again"
	"${@:3}"
	peer "$2-kept"
}

# Delay the release, so that RDMA WRITEs arrive after the client has released the segment and before
# the target frees it.
reuse $RELEASED releasing strike rnbd-target delay_release 1 $((1000 * ${LAB_SLOW:-1}))
strike rnbd-target delay_release 0
# Delay the teardown of the closing session, so that its connections exist until the delay ends.
reuse $CLOSING closing strike rnbd-target delay_close 1 $((8000 * ${LAB_SLOW:-1}))
strike rnbd-target delay_close 0
param rnbd_target pool_limit_mb 4
param rnbd_target reclaim_timeout_ms 1000
reuse $LATE late true

kill $monitor
configfs_clear
dmsetup_free() { dmsetup remove held 2>/dev/null; }
wait_for 10 dmsetup_free
unload
