#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --disk 256M --timeout 300
# turns: 3
# adapter: only
# short: exports grow and shrink while they are attached, in use or cut off; every client sees the new size, with a uevent
. ../lib/lab.sh
. ../lib/rnbd.sh

MIB=$((1 << 20))
UEVENTS=$OUT/uevents

# size DEV MIB: succeed if ioctl and sysfs report this size
size() {
	[ "$(blockdev --getsize64 "$1")" = $(($2 * MIB)) ] &&
		[ "$(cat "/sys/block/${1##*/}/size")" = $(($2 * 2048)) ]
}
seen() { wait_for 10 size "$1" "$2"; }

# resized DEV: print the number of uevents so far that reported a new size
resized() {
	awk -v RS= -v dev="DEVNAME=/dev/${1##*/}" '
		("\n" $0 "\n") ~ "\n" dev "\n" && /\nRESIZE=1/ { n++ }
		END { print n + 0 }' "$UEVENTS"
}
resized_is() { [ "$(resized "$1")" = "$2" ]; }

# story_is DEV STATES: succeed if uevents have reported these session states, in this order
story_is() {
	[ "$(awk -v RS= -v dev="DEVPATH=/devices/virtual/rnbd/${1##*/}" '
		("\n" $0 "\n") ~ "\n" dev "\n" && match($0, /RNBD_STATE=[a-z]+/) {
			print substr($0, RSTART + 11, RLENGTH - 11)
		}' "$UEVENTS" | xargs)" = "$2" ]
}

# table MIB: set the size of the device below the block export
table() {
	echo "0 $(($1 * 2048)) linear $disk 0" | dmsetup reload back || die "reload failed"
	dmsetup suspend back || die "suspend failed"
	dmsetup resume back || die "resume failed"
}

# resize EXPORT: run rnbd export resize, which must succeed without output
resize() {
	local text
	text=$(rnbd export resize "$1" 2>&1) || die "resize of $1 failed: $text"
	same "$text" '' "output of resize"
}

# unwilling TEXT COMMAND...: COMMAND must fail with one line that has TEXT
unwilling() {
	local want=$1 text
	shift
	text=$("$@" 2>&1) && die "not refused: $*"
	echo "  $text"
	same "$(echo "$text" | wc -l)" 1 "lines of: $text"
	[[ $text = *"$want"* ]] || die "unexpected message: $text, wanted: $want"
}

state_is() { [ "$(counter "$1" state)" = "$2" ]; }

set_host_id
target_start
modprobe rnbd
modprobe dm-mod 2>/dev/null
disk=$(null_disk 96) || exit 1
echo "0 $((32 * 2048)) linear $disk 0" | dmsetup create back || die "dmsetup failed"
mkfs.ext4 -q -F /dev/lab/disk0 || die "mkfs failed"
mkdir -p /mnt/b /mnt/a
mount /dev/lab/disk0 /mnt/b
truncate -s 32M /mnt/b/file
# Three hosts, because a host can attach an export only once.
export_disk block /dev/mapper/back 1 2 3
export_disk file /mnt/b/file -- --write-cache back

udevadm monitor --kernel --property --subsystem-match=block \
	--subsystem-match=rnbd >"$UEVENTS" &
monitor=$!
wait_for 10 grep -q 'kernel uevent' "$UEVENTS"

one=$(attach block --inline-write 0 --queues 1) || exit 1
two=$(attach block --host-id "$(host_id 2)") || exit 1
third=$(attach file) || exit 1
for dev in "$one" "$two" "$third"; do size "$dev" 32 || die "size of $dev"; done

echo "the parent device identifies the disk"
same "$(lsblk -dno VENDOR,MODEL,SERIAL "$third" | xargs)" \
	"rnbd file $(cat "$CFG/exports/file/uuid")" "vendor, model and serial of lsblk"
same "$(cat "/sys/class/rnbd/${third##*/}/state")" live "state of the parent device"

echo "a block device grows below a mounted file system"
mkfs.ext4 -q "$one" || die "mkfs failed"
mount "$one" /mnt/a || die "mount failed"
verify /mnt/a/before --rw=randwrite --bs=4k --iodepth=8 --size=2m
table 64
size "$one" 32 || die "the disk grew before rnbd export resize"
resize block
seen "$one" 64
seen "$two" 64
same "$(cat "$CFG/exports/block/size")" $((64 * MIB)) "size of the export"
for dev in "$one" "$two"; do wait_for 10 resized_is "$dev" 1; done
same "$(resized "$third")" 0 "events of another export's disk"
resize2fs "$one" >/dev/null 2>&1 || die "resize2fs failed"
verify /mnt/a/after --rw=write --bs=256k --iodepth=4 --size=36m
umount /mnt/a || die "umount failed"
e2fsck -fn "$one" >/dev/null || die "the file system is damaged"
resize block
same "$(resized "$one")" 1 "events after a resize to the same size"

echo "a new disk has the current size, and then the others get it"
table 96
dev=$(attach block --read-only --host-id "$(host_id 3)") || exit 1
size "$dev" 96 || die "the new disk has another size"
seen "$one" 96
seen "$two" 96
same "$(resized "$dev")" 0 "events of a disk that was attached with this size"
verify "$two" --rw=randwrite --bs=4k --iodepth=16 --offset=64m --size=4m
detach "$dev"

echo "a block device shrinks with requests in flight"
strike rnbd-target delay_submit 1 100000
sent=$(counter "$one" rdma_write_bytes)
printf 'inside %4089s' '' |
	dd of="$one" bs=4k seek=1000 count=1 iflag=fullblock oflag=direct 2>"$OUT/inside" &
inside=$!
wait_for 20 hit delay_submit
printf 'beyond %4089s' '' |
	dd of="$one" bs=4k seek=10000 count=1 iflag=fullblock oflag=direct 2>"$OUT/beyond" &
beyond=$!
wait_for 10 counter_over "$one" rdma_write_bytes $((sent + 8191))
before=$(dd if="$disk" bs=4k skip=10000 count=1 iflag=direct status=none | md5sum)
table 32
resize block
strike rnbd-target delay_submit 0
wait $inside || die "the write before the end failed: $(cat "$OUT/inside")"
wait $beyond && die "a write beyond the end was acknowledged"
# The error must come from the target. If the block layer of the client had refused the write, the
# errno would be another one.
grep -q 'Remote I/O error' "$OUT/beyond" || die "unexpected error: $(cat "$OUT/beyond")"
same "$(dd if="$disk" bs=4k skip=10000 count=1 iflag=direct status=none | md5sum)" "$before" \
	"the block beyond the end"
same "$(dd if="$disk" bs=4k skip=1000 count=1 iflag=direct status=none | head -c 6)" inside \
	"the block before the end"
seen "$one" 32
seen "$two" 32
for dev in "$one" "$two"; do need "$dev" connections_lost -eq 0; done
dd if="$one" of=/dev/null bs=4k skip=8192 count=1 iflag=direct 2>"$OUT/end"
grep -q '^0 bytes' "$OUT/end" || die "a read beyond the last block returned data: $(cat "$OUT/end")"
dd if="$one" of=/dev/null bs=4k skip=8191 count=1 iflag=direct status=none || die "the last block cannot be read"

echo "a file grows many times"
for mib in 40 41 42 43 44 48; do
	truncate -s ${mib}M /mnt/b/file
	resize file
done
seen "$third" 48
some() { [ "$(resized "$third")" -ge 1 ]; }
wait_for 10 some
[ "$(resized "$third")" -le 6 ] || die "more events than sizes"
verify "$third" --rw=randwrite --bs=4k --iodepth=16 --offset=32m --size=4m
truncate -s $((50 * MIB + 100)) /mnt/b/file
resize file
seen "$third" 50

echo "the file grows while the client has no connection"
port=$(echo "$CFG"/ports/*)
echo 0 >"$port/enable"
wait_for 20 state_is "$third" reconnecting
truncate -s 64M /mnt/b/file
resize file
size "$third" 50 || die "the size of a disk without a connection changed"
same "$(cat "/sys/block/${third##*/}/device/state")" reconnecting "state of the parent device"
events=$(resized "$third")
echo 1 >"$port/enable"
wait_for 30 state_is "$third" live
seen "$third" 64
wait_for 10 resized_is "$third" $((events + 1))
wait_for 10 story_is "$third" "reconnecting live"
verify "$third" --rw=randwrite --bs=4k --iodepth=16 --offset=50m --size=4m

echo "resizes that are refused"
truncate -s 100 /mnt/b/file
unwilling "cannot set 1" rnbd export resize file
wait_for 5 dmesg_has 'export file: its storage is smaller than one block'
size "$third" 64 || die "a resize that was refused had an effect"
truncate -s 64M /mnt/b/file
resize file
# shellcheck disable=SC2016 # expanded by the inner shell
refused sh -c 'echo 0 >"$0"' "$CFG/exports/file/resize"
detach "$third"
rnbd export disable file || die "disable failed"
unwilling "run: rnbd export enable file" rnbd export resize file
# shellcheck disable=SC2016
refused sh -c 'echo 1 >"$0"' "$CFG/exports/file/resize"
unwilling "rnbd export list" rnbd export resize nothing
unwilling "an operand is missing" rnbd export resize

wait_for 30 state_is "$one" live
wait_for 30 state_is "$two" live
detach "$one"
detach "$two"
same "$(ls /sys/class/rnbd)" '' "parent devices that are left"
kill $monitor
configfs_clear
dmsetup remove back || die "dmsetup remove failed"
umount /mnt/b || die "the backing file system is still held"
unload
