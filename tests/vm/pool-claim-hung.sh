#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 3
# without: event, because a lost message costs a retry time-out that is longer than a keep-alive
# short: a host whose pool memory is held by hung storage reconnects with its floor, and its other disks work
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# Two disks share a session. The storage of the first disk is suspended while its requests use most
# of the pool memory that the host may have. Then kill_queue ends the connection. The session must
# reconnect and get its floor while the storage still hangs, because requests in the storage delay
# only the attachment of their own export.
MIB=$((1 << 20))
FLOOR=256
UNITS=2048	# units of 4 KiB in LIMIT
LIMIT=$((8 * MIB))

set_host_id
modprobe dm-mod 2>/dev/null
target_start
disk=$(null_disk 64) || exit 1
echo "0 131072 linear $disk 0" | dmsetup create back || die "dmsetup"
export_disk hung /dev/mapper/back 1
disk=$(null_disk 64) || exit 1
export_disk disk0 "$disk" 1
echo $LIMIT >"$CFG/hosts/$(host_id 1)/max_pool_bytes" || die "max_pool_bytes"
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd

common=(--queues 1 --pool 8M --keepalive $((500 * ${LAB_SLOW:-1})) --loss-timeout 0)
hung=$(attach hung "${common[@]}") || exit 1
disk0=$(attach disk0 "${common[@]}") || exit 1
same "$(counter "$hung" session_id)" "$(counter "$disk0" session_id)" "session of both disks"
need "$hung" pool_units -eq $FLOOR
works "$disk0"

live() { counter_is "$disk0" state live; }
writing() { [ "$(awk '{ print $2 }' "/sys/block/${hung##*/}/inflight")" -gt 0 ]; }
# hang: suspend the storage, write to it, and wait until these requests use most of the pool memory
# of the host
hang() {
	dmsetup suspend --noflush --nolockfs back || die "suspend"
	steadily hung "$hung" --rw=randwrite --bs=128k --iodepth=128
	wait_for 10 writing
	# The pool grows to 15/16 of the limit of the host. The client reserves an eighth of the
	# pool for the other disk, and lets one disk use eight ninths of the rest.
	wait_for 60 counter_over "$hung" pool_used $((UNITS * 2 / 3))
	note "the storage has $(counter "$hung" pool_used) of $(counter "$hung" pool_units) units"
}
# lose: end the connection and wait until the session is live again; the storage still hangs
lose() {
	lost=$(counter "$disk0" connections_lost)
	began=$(now_ms)
	strike rnbd kill_queue 1 0
	wait_for 20 counter_over "$disk0" connections_lost "$lost"
	wait_for 30 live
	note "live again after $(($(now_ms) - began)) ms"
}

note "the session has a claim"
hang
lose
charged=$(pools_charged)
need_counter "$charged" -gt $((LIMIT - LIMIT / 4)) "charged bytes, including those in the storage"
need "$disk0" pool_units -ge $FLOOR
works "$disk0"
need "$hung" pool_floor_units -eq $FLOOR
same "$(counter "$hung" state)" reconnecting "state of the hung disk"

note "the storage completes the requests"
dmsetup resume back || die "resume"
hung_live() { counter_is "$hung" state live; }
wait_for 60 hung_live
steadily_end hung
verify "$hung" --rw=randwrite --bsrange=4k-64k --iodepth=16 --size=4m
verify "$disk0" --rw=randwrite --bsrange=4k-64k --iodepth=16 --size=4m
detach "$hung"
detach "$disk0"
dmsetup_free() { dmsetup remove back 2>/dev/null; }
configfs_clear
wait_for 10 dmsetup_free
unload
