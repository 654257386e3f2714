#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --disk 256M --timeout 300
# adapter: only
# turns: 2
# short: block sizes, unaligned memory, flush, FUA, discard, write zeroes, read-only exports and file exports work
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
target_start
modprobe rnbd
q() { cat "/sys/block/$(basename "$dev")/queue/$1"; }

echo "4 KiB blocks"
export_disk big4k "$(null_disk 64 blocksize=4096)"
dev=$(attach big4k) || exit 1
[ "$(q logical_block_size)" = 4096 ] || die "logical block size is $(q logical_block_size)"
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=4m
detach "$dev"

echo "512 byte blocks, unaligned memory"
export_disk plain "$(null_disk 64)"
dev=$(attach plain) || exit 1
[ "$(q logical_block_size)" = 512 ] || die "logical block size is $(q logical_block_size)"
for align in 4 512 2052; do
	verify "$dev" --rw=randwrite --bsrange=512-256k --bs_unaligned=0 --blockalign=512 \
	       --iodepth=16 --size=8m --iomem_align=$align
done
verify "$dev" --ioengine=pvsync --direct=1 --rw=randwrite --bs=1536 --size=1m

echo "discard and write-zeroes"
[ "$(q discard_max_bytes)" -gt 0 ] || die "no discard"
dd if=/dev/urandom of="$dev" bs=1M count=8 oflag=direct status=none
blkdiscard -o 1048576 -l 2097152 "$dev" || die "discard failed"
cmp -n 2097152 -i 1048576:0 "$dev" /dev/zero || die "discarded blocks of null_blk read non-zero"
blkdiscard -z -o 4194304 -l 1536 "$dev" || die "write-zeroes of 1536 bytes failed"
blkdiscard -z -o 5242880 -l 2097152 "$dev" || die "write-zeroes failed"
cmp -n 1536 -i 4194304:0 "$dev" /dev/zero || die "zeroed blocks read non-zero"
cmp -n 2097152 -i 5242880:0 "$dev" /dev/zero || die "zeroed blocks read non-zero"
if cmp -s -n 512 -i 4195840:0 "$dev" /dev/zero; then die "too much was zeroed"; fi
detach "$dev"

echo "a real disk with a write cache: flush and FUA"
backing=$(basename "$(readlink -f /dev/lab/disk0)")
flushes() { awk '{ print $16 }' "/sys/block/$backing/stat"; }
export_disk real /dev/lab/disk0
dev=$(attach real) || exit 1
[ "$(q write_cache)" = "write through" ] || die "a write-through export has a volatile cache"
before=$(flushes)
dd if=/dev/zero of="$dev" bs=4k count=8 oflag=direct status=none
[ "$(flushes)" -ge $((before + 8)) ] || die "acknowledged writes are not durable"
echo "  write through: flushes at the disk for 8 writes: $before -> $(flushes)"
detach "$dev"
rnbd export remove real || die "export remove failed"
export_disk real /dev/lab/disk0 -- --write-cache back
dev=$(attach real) || exit 1
[ "$(q write_cache)" = "write back" ] || die "the write cache is not reported to the client"
before=$(flushes)
dd if=/dev/zero of="$dev" bs=4k count=8 oflag=direct conv=fsync status=none
[ "$(flushes)" -gt "$before" ] || die "a flush did not reach the disk"
echo "  flushes at the disk: $before -> $(flushes)"
verify "$dev" --rw=randwrite --bs=4k --iodepth=8 --size=2m --fsync=16
verify "$dev" --rw=randwrite --bs=4k --iodepth=1 --size=256k --sync=dsync
detach "$dev"

echo "read-only by the export and by the client"
rnbd export add ro --path "$(null_disk 16)" --read-only --host "$(host_id 1)" --port "$ADDR" ||
	die "export failed"
dev=$(attach ro) || exit 1
[ "$(cat "/sys/block/$(basename "$dev")/ro")" = 1 ] || die "disk is writable"
if dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct 2>/dev/null; then die "a read-only disk was written"; fi
dd if="$dev" of=/dev/null bs=4k count=4 iflag=direct status=none || die "read failed"
detach "$dev"
dev=$(attach plain --read-only) || exit 1
[ "$(cat "/sys/block/$(basename "$dev")/ro")" = 1 ] || die "disk is writable"
detach "$dev"

echo "a file, with direct I/O and through the page cache"
rnbd export remove real || die "export remove failed"
mkfs.ext4 -q -F /dev/lab/disk0 || die "mkfs failed"
mkdir -p /mnt/b
mount /dev/lab/disk0 /mnt/b
truncate -s 64M /mnt/b/direct
truncate -s 64M /mnt/b/cached
export_disk direct /mnt/b/direct -- --write-cache back
export_disk cached /mnt/b/cached -- --cache pagecache
for f in direct cached; do
	dev=$(attach $f) || exit 1
	verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=4m --fsync=64
	verify "$dev" --rw=write --bs=1m --iodepth=4 --size=16m
	dd if=/dev/urandom of="$dev" bs=1M count=4 seek=20 oflag=direct conv=fsync status=none
	blkdiscard -o 20971520 -l 1048576 "$dev" || die "discard on a file failed"
	cmp -n 1048576 -i 20971520:0 "$dev" /dev/zero || die "hole reads non-zero"
	blkdiscard -z -o 22020096 -l 1048576 "$dev" || die "write-zeroes on a file failed"
	cmp -n 1048576 -i 22020096:0 "$dev" /dev/zero || die "zeroed file reads non-zero"
	if cmp -s -n 512 -i 23068672:0 "$dev" /dev/zero; then die "too much was zeroed"; fi
	dd if="$dev" bs=1M iflag=direct status=none | md5sum >"/tmp/sum.$f"
	detach "$dev"
done
for f in direct cached; do
	rnbd export remove $f || die "export remove $f failed"
	sync
	[ "$(md5sum <"/mnt/b/$f")" = "$(cat /tmp/sum.$f)" ] || die "the file $f differs from the disk"
done
umount /mnt/b || die "the backing file system is still held"
configfs_clear
unload
