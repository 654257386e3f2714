#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 900
# adapter: only
# turns: 2
# short: ext4, xfs, GFS2 and OCFS2 on an attached disk keep their files over a detach and are clean for fsck; LVM works on the disk
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
target_start
disk=$(null_disk 768) || exit 1
export_disk disk0 "$disk"
dev=$(attach disk0) || exit 1
mkdir -p /mnt/t

# Trees to copy: a thousand small files and links, fewer on a debug kernel
trees=(/usr/share/zoneinfo)
[ -n "$LAB_SLOW" ] || trees+=(/usr/share/bash-completion)

# fill DIR: copy the trees to DIR and record the checksums of the files
fill() {
	cp -a "${trees[@]}" "$1/" || die "copy failed"
	dd if=/dev/urandom of="$1/big" bs=1M count=24 conv=fsync status=none || die "dd failed"
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 md5sum) >/tmp/sums
	sync
}

compare() {
	(cd "$1" && md5sum -c --quiet /tmp/sums) || die "files changed on $2"
}

# fs NAME MKFS MOUNT-OPTIONS FSCK: make, fill, compare and check a file system
fs() {
	local name=$1 mkfs=$2 opts=$3 fsck=$4
	echo "$name: $mkfs"
	$mkfs "$dev" >"$OUT/$name.mkfs" 2>&1 </dev/null || die "mkfs of $name: $(tail -3 "$OUT/$name.mkfs")"
	mount -t "$name" ${opts:+-o "$opts"} "$dev" /mnt/t || die "mount of $name failed"
	fill /mnt/t
	umount /mnt/t || die "umount of $name failed"
	# Attach the disk again, so that no data come from the page cache.
	detach "$dev"
	dev=$(attach disk0) || exit 1
	mount -t "$name" ${opts:+-o "$opts"} "$dev" /mnt/t || die "second mount of $name failed"
	compare /mnt/t "$name"
	umount /mnt/t
	$fsck "$dev" >"$OUT/$name.fsck" 2>&1 || die "fsck of $name: $(tail -3 "$OUT/$name.fsck")"
	echo "  clean, $(wc -l </tmp/sums) files compared"
}

modprobe -a gfs2 ocfs2 ext4 xfs
fs ext4 "mkfs.ext4 -q -F" "" "e2fsck -fn"
fs xfs "mkfs.xfs -q -f" "" "xfs_repair -n"
fs gfs2 "mkfs.gfs2 -O -q -p lock_nolock -j 1" "" "fsck.gfs2 -n"
fs ocfs2 "mkfs.ocfs2 -q -M local -F" "" "fsck.ocfs2 -fn"

echo "LVM"
wipefs -aq "$dev"
pvcreate -qqy "$dev" || die "pvcreate failed"
vgcreate -qq vg0 "$dev" || die "vgcreate failed"
lvcreate -qqy -Wn -Zn -L 64m -n lv0 vg0 || die "lvcreate failed"
vgmknodes -qq vg0
verify /dev/mapper/vg0-lv0 --rw=randwrite --bs=4k --iodepth=16 --size=4m
vgchange -qq -an vg0 || die "vgchange failed"
vgremove -qqy -f vg0 || die "vgremove failed"
echo "  physical volume, volume group and logical volume made and verified"
need "$dev" rdma_writes -gt 0
detach "$dev"
configfs_clear
unload
