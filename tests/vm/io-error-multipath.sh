#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 2 --mem 1024 --timeout 180
# adapter: only
# short: dm-multipath keeps its paths on an error of the storage and fails over when storage is gone; RAID 1 and ext4 handle the error
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/storage.sh

HALF=$((32 * 2048))	# sectors

# paths MAP: print the state of each path of a multipath map, for example "A F"
paths() { dmsetup status "$1" | grep -oE '[0-9]+:[0-9]+ [AF] ' | cut -d' ' -f2 | xargs; }

# alone TEXT COMMAND...: COMMAND must fail with TEXT; after that, both paths must still be active,
# and a read of a good block must succeed
alone() {
	local out

	out=$(LC_ALL=C "${@:2}" 2>&1) && die "no error, wanted '$1': ${*:2}"
	same "$(paths both)" "A A" "paths after: ${*:2}: $out"
	[[ $out == *"$1"* ]] || die "wanted '$1': ${*:2}: $out"
	reads /dev/mapper/both 100 || die "read of a good block failed after: ${*:2}"
	note "$1: only that request"
}

set_host_id
modprobe -a dm-multipath dm-round-robin raid1 || die "no dm-multipath"
modprobe rnbd || die "modprobe rnbd failed"
target_start

disk=$(scsi_disk 64) || exit 1
# I/O to the second half fails.
{ echo "0 $HALF linear $disk 0"
  echo "$HALF $HALF error"; } | dmsetup create back || die "dmsetup failed"
export_disk shared /dev/mapper/back 1 2
one=$(attach shared --host-id "$(host_id 1)") || exit 1
two=$(attach shared --host-id "$(host_id 2)") || exit 1
dmsetup create both --table "0 $((2 * HALF)) multipath 0 0 1 1 round-robin 0 2 1 $one 1 $two 1" ||
	die "no multipath map"
same "$(paths both)" "A A" paths

note "errors of the storage, over two paths to it"
alone "Remote I/O error" reads /dev/mapper/both 10000
alone "Remote I/O error" writes /dev/mapper/both 10000
while read -r status key asc text; do
	scsi_fail "$disk" 28 0 "$status" "$key" "$asc" 0
	fails "$text" reads /dev/mapper/both 200
	scsi_well "$disk" 28
	alone "Remote I/O error" reads /dev/mapper/both 10000
done <<-END
	2 3 11 No data available
	2 5 24 Remote I/O error
	2 b 10 Invalid or incomplete multibyte or wide character
	18 0 0 Invalid exchange
END

note "RAID 1 reads from its other half"
mirror=$(null_disk 64) || exit 1
dd if=/dev/urandom of="$OUT/random" bs=1M count=1 status=none
dd if="$OUT/random" of="$mirror" bs=1M seek=40 oflag=direct status=none || die "write failed"
run mdadm --build /dev/md0 --run --level=1 --raid-devices=2 --assume-clean /dev/mapper/both \
	--write-mostly "$mirror"
dd if=/dev/md0 bs=64k skip=640 count=16 iflag=direct status=none | cmp - "$OUT/random" ||
	die "RAID 1 returned an error or wrong data"
dmesg_has 'md/raid1:md0:.*dm-' || die "RAID 1 logged no error"
run mdadm --stop /dev/md0
same "$(paths both)" "A A" "paths after RAID 1"

note "ext4: the writer of a bad block gets the error, and synced files survive fsck"
mkfs.ext4 -q -F /dev/mapper/both 24M || die "mkfs failed"
mkdir -p /mnt/fs
mount /dev/mapper/both /mnt/fs || die "mount failed"
dd if="$OUT/random" of=/mnt/fs/kept bs=64k conv=fsync status=none || die "write failed"
echo "0 $((2 * HALF)) error" | dmsetup reload back || die "reload failed"
dmsetup suspend --noflush --nolockfs back || die "suspend failed"
dmsetup resume back || die "resume failed"
# The process that writes the file must get an I/O error.
fails "I/O error" dd if="$OUT/random" of=/mnt/fs/lost bs=64k conv=fsync status=none
same "$(paths both)" "A A" "paths after ext4"
echo "0 $((2 * HALF)) linear $disk 0" | dmsetup reload back || die "reload failed"
dmsetup suspend --noflush --nolockfs back || die "suspend failed"
dmsetup resume back || die "resume failed"
umount /mnt/fs || die "umount failed"
e2fsck -fy /dev/mapper/both >"$OUT/fsck" 2>&1
[ $? -lt 4 ] || { cat "$OUT/fsck"; die "fsck failed"; }
mount /dev/mapper/both /mnt/fs || die "mount failed"
cmp /mnt/fs/kept "$OUT/random" || die "a synced file is lost"
umount /mnt/fs || die "umount failed"

dmsetup remove both || die "dmsetup remove failed"
detach "$one"
detach "$two"
rnbd export remove shared || die "export remove failed"
dmsetup remove back || die "dmsetup remove failed"

note "storage is removed under load: multipath continues on the other path"
export_disk left "$disk" 1
export_disk right "$mirror" 2
fio --name=same --filename="$disk" --direct=1 --rw=write --bs=1m --size=64m --randseed=7 \
	--refill_buffers --minimal >"$OUT/fio.log" || die "fio failed"
dd if="$disk" of="$mirror" bs=1M iflag=direct oflag=direct status=none || die "copy failed"
left=$(attach left --host-id "$(host_id 1)") || exit 1
right=$(attach right --host-id "$(host_id 2)") || exit 1
dmsetup create both --table "0 $((2 * HALF)) multipath 0 0 2 1 round-robin 0 1 1 $left 1 round-robin 0 1 1 $right 1" ||
	die "no multipath map"
fio --name=load --filename=/dev/mapper/both --direct=1 --ioengine=libaio --rw=randrw --bs=16k \
	--iodepth=16 --size=64m --time_based --runtime=$((5 * ${LAB_SLOW:-1})) --minimal >"$OUT/load" 2>&1 &
pid=$!
wait_for 20 counter_over "$left" requests 200
same "$(paths both)" "A A" "paths before"
same "$(counter "$right" rdma_writes)" 0 "writes over the second path"
echo 1 >"/sys/block/${disk##*/}/device/delete" || die "delete failed"
wait $pid || { cat "$OUT/load"; die "the load saw an error"; }
same "$(paths both)" "F A" "paths after"
need "$right" rdma_writes -gt 0
works /dev/mapper/both
same "$(counter "$left" state)" live "state of the path without storage"
need "$left" connections_lost -eq 0
same "$(<$CFG/exports/left/device_removed)" 1 device_removed

dmsetup remove both || die "dmsetup remove failed"
detach "$left"
detach "$right"
configfs_clear
unload
