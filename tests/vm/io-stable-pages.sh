#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 2 --mem 1024 --timeout 300
# turns: 4
# adapter: also
# short: a client rewrites its pool while RAID 5 writes from it: parity is right if the target copies the data, wrong if it does not
. ../lib/lab.sh
. ../lib/rnbd.sh

MD=/dev/md0 SYS=/sys/block/md0

# member MIB: make a disk that reads the data of a write DELAY ms after the submission of the write;
# print the name of the disk
member() {
	local disk name

	disk=$(null_disk "$1") || exit 1
	name=late-${disk##*/}
	dmsetup create "$name" --table "0 $(($1 * 2048)) delay $disk 0 0 $disk 0 $DELAY" ||
		die "no dm-delay"
	echo "/dev/mapper/$name"
}

# checked: compare the whole array with its parity; set mismatch to the number of wrong sectors
checked() {
	wait_for 20 grep -qx idle $SYS/md/sync_action
	echo check >$SYS/md/sync_action || die "no check"
	wait_for 120 grep -qx idle $SYS/md/sync_action
	mismatch=$(<$SYS/md/mismatch_cnt)
}

# rewritten EXPORT TIMES: write to the export while the client overwrites its whole pool, including
# the data of writes in flight. The target passes the data of up to TIMES writes to the storage
# without copying them. The parity must be right if TIMES is 0, and wrong otherwise.
rewritten() {
	local export=$1 times=$2 dev skipped strays

	dev=$(attach "$export" --queues 1 --pool 256K --max-io 64K --inline-write 0) || exit 1
	skipped=$(hits rnbd-target no_copy)
	strays=$(hits rnbd stray_writes)
	strike rnbd-target no_copy "$times"
	strike rnbd stray_writes 1000000 64
	fio --name=rewritten --filename="$dev" --direct=1 --ioengine=libaio --rw=randwrite \
	    --bs=4k-64k --iodepth=16 --size=8m --io_size=3m --randseed=1 --minimal \
	    >"$OUT/fio.log" || die "fio failed"
	strike rnbd stray_writes 0
	strike rnbd-target no_copy 0
	detach "$dev"
	skipped=$(($(hits rnbd-target no_copy) - skipped))
	strays=$(($(hits rnbd stray_writes) - strays))
	checked
	note "$export: $strays frames rewrote the pool, $skipped writes were not copied, mismatch_cnt $mismatch"
	[ $strays -gt 15 ] || die "the pool was rewritten too rarely"
	if [ "$times" = 0 ]; then
		same "$mismatch" 0 mismatch_cnt
	else
		[ $skipped -gt 15 ] || die "every write was copied"
		[ "$mismatch" -gt 0 ] || die "no damage without copies: this test proves nothing"
	fi
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
modprobe -a dm-delay raid456 || die "no RAID 5"
DELAY=30
members=("$(member 16)" "$(member 16)" "$(member 16)") || exit 1
run mdadm --create $MD --run --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none "${members[@]}"
# By default RAID 5 copies the data of each write itself, so it does not need stable pages.
same "$(<$SYS/queue/stable_writes)" 0 stable_writes
mkdir -p /mnt/md

note "writes are copied as soon as the device needs it, also while it is exported"
export_disk stable $MD 1 2
echo 1 >$SYS/md/skip_copy || die "no skip_copy"
same "$(<$SYS/queue/stable_writes)" 1 stable_writes
checked
same "$mismatch" 0 "mismatch_cnt at first"
rewritten stable 0
# The modelled adapter has no user-space verbs for rnbd-peer.
if [ -z "${LAB_ADAPTER-}" ]; then
	note "so many writes from the same memory that the copies exceed their limit"
	rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
	monitor=$!
	wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"
	rnbd-peer client --only copies-bounded --monitor "$OUT/monitor" --verbose ||
		die "a case of rnbd-peer failed"
	kill $monitor
	checked
	same "$mismatch" 0 mismatch_cnt
fi
rewritten stable 1000000
run rnbd export remove stable --prune

note "a file on such a device"
echo repair >$SYS/md/sync_action || die "no repair"
wait_for 120 grep -qx idle $SYS/md/sync_action
run mkfs.ext4 -q -F -b 4096 $MD
run mount $MD /mnt/md
run dd if=/dev/urandom of=/mnt/md/file bs=1M count=8 status=none conv=fsync
export_disk file /mnt/md/file
rewritten file 0
rewritten file 1000000
configfs_clear
run umount /mnt/md
run mdadm --stop $MD
run dmsetup remove "${members[@]}"
unload
