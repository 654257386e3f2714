#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --disk 64M --disk 16M
# short: udev makes links by id, UUID, label and partition, keeps them while the connection is lost, and removes them at the detach
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=6ba7b810-9dad-41d1-80b4-00c04fd430c8
DISK=1b4e28ba-2fa1-41d2-883f-0016d3cca427
ID=/dev/disk/by-id/rnbd-$DISK

link_to() { [ "$(readlink -f "$1")" = "$2" ]; }
no_link() { [ ! -L "$1" ]; }
# property DEV NAME - print a property of the device from the database of udev
property() { udevadm info -q property --property="$2" --value "$1"; }
property_is() { [ "$(property "$1" "$2")" = "$3" ]; }
state_is() { [ "$(cat "/sys/block/${1##*/}/rnbd/state")" = "$2" ]; }

set_host_id
unset DM_DISABLE_UDEV
run /lib/systemd/systemd-udevd --daemon
target_start
export_disk disk0 /dev/lab/disk0 1 2 -- --uuid $DISK
export_disk disk1 /dev/lab/disk1

note "a disk"
dev=$(attach disk0 --queues 1) || exit
wait_for 30 link_to $ID "$dev"
wait_for 30 link_to "/dev/disk/by-diskseq/$(cat "/sys/block/${dev##*/}/diskseq")" "$dev"
same "$(property "$dev" ID_SERIAL)" $DISK ID_SERIAL
same "$(property "$dev" ID_MODEL)" disk0 ID_MODEL
same "$(property "$dev" ID_VENDOR)" rnbd ID_VENDOR
same "$(property "$dev" SYSTEMD_READY)" "" SYSTEMD_READY
[[ :$(property "$dev" TAGS): == *:systemd:* ]] || die "$dev has no tag for systemd"
run lsblk -o NAME,SIZE,SERIAL,MODEL "$dev"
same "$(lsblk -dno SERIAL "$dev")" $DISK "lsblk's serial"
same "$(lsblk -dno MODEL "$dev")" disk0 "lsblk's model"

note "a file system that is made later"
run mkfs.ext4 -q -U $UUID -L 'my data' "$dev"
wait_for 30 link_to /dev/disk/by-uuid/$UUID "$dev"
wait_for 30 link_to '/dev/disk/by-label/my\x20data' "$dev"

note "a disk that is detached at once after a write"
dd if=/dev/zero of="$dev" bs=4k count=1 seek=10 conv=notrunc,fsync status=none || die dd
detach "$dev"
wait_for 30 no_link $ID
wait_for 30 no_link /dev/disk/by-uuid/$UUID

note "a file system that is there already"
dev=$(attach disk0 --queues 1) || exit
wait_for 30 link_to /dev/disk/by-uuid/$UUID "$dev"

note "events without a connection do not change the links"
run rnbd export disable disk0
wait_for 30 state_is "$dev" reconnecting
echo change >"/sys/block/${dev##*/}/uevent"
run udevadm settle --timeout=60
run link_to /dev/disk/by-uuid/$UUID "$dev"
run link_to $ID "$dev"
same "$(property "$dev" ID_FS_TYPE)" ext4 ID_FS_TYPE
run rnbd export enable disk0
wait_for 60 state_is "$dev" live

note "partitions"
run wipefs -qa "$dev"
# A partition table with one partition of 10 MiB at offset 1 MiB
truncate -s 512 "$OUT/mbr"
printf '\x78\x56\x34\x12\0\0\0\0\0\0\x83\0\0\0\0\x08\0\0\0\x50\0\0' |
	dd of="$OUT/mbr" bs=1 seek=440 conv=notrunc status=none
printf '\x55\xaa' | dd of="$OUT/mbr" bs=1 seek=510 conv=notrunc status=none
run dd if="$OUT/mbr" of="$dev" conv=notrunc,fsync status=none
wait_for 30 blockdev --rereadpt "$dev"
wait_for 30 link_to $ID-part1 "${dev}p1"
wait_for 30 link_to /dev/disk/by-partuuid/12345678-01 "${dev}p1"
# When dd closes the disk, udevd also reads the partition table, and the partition disappears and
# reappears.
wait_for 30 property_is "${dev}p1" ID_SERIAL $DISK
wait_for 30 no_link /dev/disk/by-uuid/$UUID

note "two disks of one export: the link points to the writable one"
other=$(attach disk0 --queues 1 --read-only --host-id "$(host_id 2)") || exit
run udevadm settle --timeout=60
same "$(property "$other" ID_SERIAL)" $DISK "ID_SERIAL of the other disk"
run link_to $ID "$dev"
detach "$dev"
wait_for 30 link_to $ID "$other"
detach "$other"
wait_for 30 no_link $ID

note "detach right after a write, many times"
for ((i = 0; i < 5; i++)); do
	dev=$(attach disk1 --queues 1) || exit
	dd if=/dev/zero of="$dev" bs=4k count=1 status=none || die dd
	detach "$dev"
done
run udevadm settle --timeout=60
same "$(find /dev/disk -lname '*rnbd*' | wc -l)" 0 "links that are left"
run udevadm control --exit
