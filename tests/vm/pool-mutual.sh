#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --disk 512M --timeout 400
# turns: 3
# short: two machines that mount each other's exports complete writeback while both are short of memory
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh
. ../lib/short.sh

# A session must make progress with its floor alone, and the target must not wait for free memory to
# serve the session. Each of the two machines gets free memory only when the other one has executed
# its writes. Each target has pool memory only for the floor of the session of the other machine,
# because a pool of a fixed size uses the rest. If each target waited for the writeback of its own
# machine before it serves a request, the two machines would deadlock.
FLOOR=256
LEFT=80		# MiB of memory that each machine has
FILES=3
EACH=48		# MiB
OTHER=$((3 - NODE))

set_host_id
ADDR=10.9.0.$NODE
target_start
param rnbd_target pool_limit_mb 8
param rnbd_target pool_reserve_mb 0
export_disk "disk$NODE" /dev/lab/disk0 $OTHER
export_disk "other$NODE" "$(null_disk 16)" 3
barrier exported

ADDR=10.9.0.$OTHER
modprobe rnbd || die "modprobe rnbd failed"
other=$(attach "other$OTHER" --queues 1 --pool 7M --pool-floor fixed --keepalive 60000 --host-id "$(host_id 3)") || exit 1
dev=$(attach "disk$OTHER" --queues 2 --pool 4M --keepalive $((2000 * ${LAB_SLOW:-1}))) || exit 1
need "$dev" pool_units -eq $FLOOR
need "$dev" pool_max_units -gt $FLOOR
run mkfs.ext4 -q -F -b 4096 "$dev"
mkdir -p /mnt/f
run mount "$dev" /mnt/f
short_of_memory $LEFT
barrier short

note "both write more than their memory holds"
began=$(now_ms)
write_files /mnt/f $FILES $EACH
wait_for 60 dirty_over 16
wait_for 150 written
note "$((FILES * EACH)) MiB took $(($(now_ms) - began)) ms"
barrier written 200
check_files /mnt/f $FILES $EACH
need "$dev" pool_stalls -gt 0
need "$dev" pool_units -eq $FLOOR
run umount /mnt/f
enough_memory
barrier checked 200
run e2fsck -fn "$dev"
detach "$dev"
detach "$other"
barrier detached
wait_for 60 no_sessions
barrier idle
configfs_clear
unload
