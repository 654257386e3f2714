#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --disk 512M --timeout 420
# turns: 3
# short: writeback of a client that is short of memory completes while its pool cannot grow, also after a lost connection
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh
. ../lib/short.sh

# A session must make progress with its floor alone. The target has pool memory only for the floor
# of the session, because a pool of a fixed size uses the rest. The client writes more data to a
# file system on the disk than its memory holds, so memory of the client becomes free only when
# writeback proceeds.
FLOOR=256
MIB=$((1 << 20))
LEFT=80		# MiB of memory that the client has
FILES=4
EACH=48		# MiB

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	param rnbd_target pool_limit_mb 8
	export_disk disk0 /dev/lab/disk0 2
	export_disk other "$(null_disk 16)" 3
	barrier exported
	barrier attached 100
	same "$(pools_charged)" $((8 * MIB)) "bytes that are charged"
	barrier full
	barrier end 380
	configfs_clear
	unload
	exit 0
fi

barrier exported
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd
# kill_queue acts on the session that sends the next keep-alive. Only the session of disk0 has a
# short keep-alive interval, so kill_queue acts on it.
other=$(attach other --queues 1 --pool 7M --pool-floor fixed --keepalive 60000 --host-id "$(host_id 3)") || exit 1
dev=$(attach disk0 --queues 2 --pool 4M --keepalive $((1000 * ${LAB_SLOW:-1}))) || exit 1
need "$dev" pool_units -eq $FLOOR
need "$dev" pool_max_units -gt $FLOOR
barrier attached
barrier full
run mkfs.ext4 -q -F -b 4096 "$dev"
mkdir -p /mnt/f
run mount "$dev" /mnt/f

note "more is written than the memory holds"
short_of_memory $LEFT
began=$(now_ms)
write_files /mnt/f $FILES $EACH
wait_for 60 dirty_over 16
wait_for 120 written
note "$((FILES * EACH)) MiB took $(($(now_ms) - began)) ms"
check_files /mnt/f $FILES $EACH
# These counters show that the pool was too small for the load and did not grow.
need "$dev" pool_stalls -gt 0
need "$dev" pool_units -eq $FLOOR
need "$dev" pool_grants -eq 0

note "the connection is lost while dirty pages fill the memory"
rm /mnt/f/file* || die "rm failed"
lost=$(counter "$dev" connections_lost)
write_files /mnt/f $FILES $EACH
wait_for 60 dirty_over 16
strike rnbd kill_queue 1 0
wait_for 30 counter_over "$dev" connections_lost "$lost"
live() { counter_is "$dev" state live; }
wait_for 60 live
wait_for 120 written
check_files /mnt/f $FILES $EACH
need "$dev" pool_units -eq $FLOOR

run umount /mnt/f
enough_memory
run e2fsck -fn "$dev"
wait_for 20 counter_is "$dev" pool_used 0
detach "$dev"
detach "$other"
barrier end
unload
