#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 2 --mem 1024 --timeout 240
# turns: 3
# adapter: only
# short: each error of the storage reaches the application with the errno of the protocol's table; refused WRITE ZEROES are written as data
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/storage.sh

# Text of the errno of a path error, and text of the errno of an error that each path would return
PATH_LOST="Link has been severed" REFUSED="Remote I/O error"

device_removed() { cat "$CFG/exports/$1/device_removed"; }
# lives DEV: its session must be live and must have lost no connection
lives() {
	same "$(counter "$1" state)" live "state of $1"
	same "$(counter "$1" connections_lost)" 0 "connections lost by $1"
}

# removed EXPORT DEV COMMAND...: the command removes the storage. After that, I/O must fail with a
# path error, and the session must stay live.
removed() {
	local export=$1 dev=$2

	same "$(device_removed "$export")" 0 "device_removed before the storage is removed"
	reads "$dev" 1 || die "$export: good storage fails"
	"${@:3}" || die "${*:3} failed"
	wait_for 10 sh -c "grep -qx 1 $CFG/exports/$export/device_removed"
	fails "$PATH_LOST" reads "$dev" 1
	fails "$PATH_LOST" writes "$dev" 1
	lives "$dev"
	same "$(rnbd export show "$export" --json | jq .device_removed)" true "rnbd export show"
	rnbd export list "$export" | grep -qw device_removed || die "rnbd export list"
	note "$export: device_removed"
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"

note "every errno, by a fault point: $PATH_LOST for a lost path only"
export_disk disk0 "$(null_disk 16 cache_size=4)" -- --write-cache back
dev=$(attach disk0) || exit 1
while read -r number text; do
	strike rnbd-target fail_request 1 "$number"
	fails "$text" reads "$dev" 0
	same "$(hits rnbd-target fail_request)" $((++n)) hits
done <<-END
	5 $REFUSED
	22 $REFUSED
	30 $REFUSED
	1 $REFUSED
	16 $REFUSED
	121 $REFUSED
	61 No data available
	84 Invalid or incomplete multibyte or wide character
	28 No space left on device
	122 No space left on device
	27 No space left on device
	95 Operation not supported
	52 Invalid exchange
	6 $PATH_LOST
	19 $PATH_LOST
	67 $PATH_LOST
	110 $PATH_LOST
	116 $PATH_LOST
END
same "$(counter "$dev" nomem_retries)" 0 "retried requests"

note "a lack of memory is not reported; the request is retried until it succeeds"
# short ERRNO COMMAND...: the target fails 20 requests with ERRNO; the command must still succeed
short() {
	strike rnbd-target fail_request 20 "$1"
	"${@:2}" || die "errno $1 was reported: ${*:2}"
	same "$(hits rnbd-target fail_request)" $((n += 20)) hits
}
fill() { dd if="$OUT/random" of="$dev" bs=64k oflag=direct status=none; }
fetch() { dd if="$dev" bs="$1" count=16 iflag=direct status=none | cmp -n $((16 * $1)) - "$OUT/random"; }
dd if=/dev/urandom of="$OUT/random" bs=64k count=16 status=none
for number in 12 11; do
	short $number fill
	short $number fetch 65536
	short $number fetch 512
	short $number flushes "$dev"
	short $number blkdiscard -z -o 2M -l 64k "$dev"
done
same "$(counter "$dev" nomem_retries)" 200 nomem_retries
lives "$dev"
note "a forced detach does not wait until the target has memory"
strike rnbd-target fail_request 1000000 12
writes "$dev" 1 2>"$OUT/short" &
pid=$!
wait_for 10 counter_over "$dev" nomem_retries 210
timeout 20 rnbd detach "$dev" --force || die "the detach waits"
wait $pid && die "the write succeeded"
grep -q "$PATH_LOST" "$OUT/short" || die "unexpected message: $(cat "$OUT/short")"
strike rnbd-target fail_request 0

note "a host that is fenced"
dev=$(attach disk0) || exit 1
run rnbd fence "$(host_id 1)"
fails "Invalid exchange" reads "$dev" 1
fails "Invalid exchange" writes "$dev" 1
detach "$dev"
run rnbd unfence "$(host_id 1)"

note "errors that a SCSI disk reports"
disk=$(scsi_disk 64) || exit 1
export_disk scsi "$disk"
dev=$(attach scsi) || exit 1
while read -r opcode host status key asc ascq text; do
	scsi_fail "$disk" "$opcode" "$host" "$status" "$key" "$asc" "$ascq"
	case $opcode in
	28) fails "$text" reads "$dev" 1000 ;;
	2a) fails "$text" writes "$dev" 1000 ;;
	esac
	scsi_well "$disk" "$opcode"
	reads "$dev" 1000 || die "$text: the error persists"
	writes "$dev" 1000 || die "$text: the error persists"
done <<-END
	28 4 0 0 0 0 $REFUSED
	28 0 2 5 24 0 $REFUSED
	28 0 2 3 11 0 No data available
	28 0 2 b 10 1 Invalid or incomplete multibyte or wide character
	28 f 0 0 0 0 $PATH_LOST
	2a 0 2 5 26 0 $REFUSED
	2a 0 2 3 14 0 No data available
	2a 0 2 7 27 7 No space left on device
	2a 0 18 0 0 0 Invalid exchange
END
blockdev --setro "$disk"
fails "$REFUSED" writes "$dev" 1000
fails "$REFUSED" blkdiscard -z -o 0 -l 1M "$dev"
blockdev --setrw "$disk"
writes "$dev" 1000 || die "the disk stays read-only"

note "a disk offers WRITE ZEROES and rejects the command"
limit=/sys/block/${disk##*/}/queue/write_zeroes_max_bytes
[ "$(<"$limit")" -gt 0 ] || die "the disk offers no write zeroes"
dd if="$OUT/random" of="$dev" bs=64k oflag=direct status=none || die "write failed"
blkdiscard -z -o 0 -l 64k "$dev" || die "write zeroes failed"
scsi_fail "$disk" 93 0 2 5 20 0
scsi_fail "$disk" 41 0 2 5 20 0
trace=/sys/kernel/tracing
mountpoint -q $trace || mount -t tracefs tracefs $trace
echo 1 >$trace/events/block/block_rq_issue/enable
blkdiscard -z -o 128k -l 512k "$dev" || die "the error reached the client"
echo 0 >$trace/events/block/block_rq_issue/enable
same "$(<"$limit")" 0 "write_zeroes_max_bytes: the disk has not refused"
number=$(tr : , <"/sys/block/${disk##*/}/dev")
grep " $number W" $trace/trace >"$OUT/zeroes"
# The export is write-through, so the zeroes must be written with FUA.
same "$(awk -v n="$number" '{ for (i = 1; i < NF; i++)
		if ($i == n && $(i + 1) == "WFS") sum += $(i + 2) }
	END { print sum + 0 }' "$OUT/zeroes")" $((512 * 1024)) "bytes written with FUA"
{ head -c 64k /dev/zero
  tail -c +$((64 * 1024 + 1)) "$OUT/random" | head -c 64k
  head -c 512k /dev/zero
  tail -c +$((640 * 1024 + 1)) "$OUT/random"; } >"$OUT/want"
dd if="$dev" bs=64k count=16 iflag=direct status=none | cmp - "$OUT/want" || die "wrong data"
# The refusal has set write_zeroes_max_bytes of the disk to 0. From now on the target must write the
# zeroes as data at once, without sending WRITE ZEROES to the disk first.
blkdiscard -z -o 128k -l 64k "$dev" || die "write zeroes failed afterwards"
run rnbd export disable scsi
run rnbd export enable scsi
# The target must offer the same features of the export as before it was disabled, because otherwise
# the client would not attach the disk again.
wait_for 20 grep -qx live "/sys/block/${dev##*/}/rnbd/state"
blkdiscard -z -o 128k -l 64k "$dev" || die "write zeroes failed after the export was enabled again"
detach "$dev"
dev=$(attach scsi) || exit 1

note "storage that is removed"
removed scsi "$dev" sh -c "echo 1 >/sys/block/${disk##*/}/device/delete"
fails "$PATH_LOST" blkdiscard -f -z -o 0 -l 64k "$dev"
dmesg_has "export scsi: its device ${disk##*/} is gone" || die "not in the log"
detach "$dev"
run rnbd export remove scsi
rmmod scsi_debug || die "the target still uses the disk"

# There are three exports: a partition, which keeps its size when its disk is removed; a file with
# write cache "through"; and a file with write cache "back". The files are on the same disk.
disk=$(null_disk 64) || exit 1
power=/sys/kernel/config/nullb/${disk##*/}/power
{ head -c 446 /dev/zero
  printf '\0\0\0\0\x83\0\0\0\0\x08\0\0\0\x70\0\0'
  printf '\0\0\0\0\x83\0\0\0\0\x78\0\0\0\x80\x01\0'
  head -c 32 /dev/zero
  printf '\x55\xaa'; } | dd of="$disk" conv=notrunc status=none
blockdev --rereadpt "$disk" || die "no partitions"
export_disk part "${disk}p1"
mkfs.ext4 -q -F "${disk}p2" || die "mkfs failed"
mkdir -p /mnt/fs
mount "${disk}p2" /mnt/fs || die "mount failed"
for file in through back; do
	head -c 4M /dev/zero >/mnt/fs/$file
	sync /mnt/fs/$file
	export_disk $file /mnt/fs/$file -- --write-cache $file
done
part=$(attach part) || exit 1
through=$(attach through) || exit 1
back=$(attach back) || exit 1
removed part "$part" sh -c "echo 0 >$power"
fails "$PATH_LOST" reads "$through" 1
fails "$PATH_LOST" writes "$through" 1
# With write cache "back" acknowledged writes can be lost together with the device. So the error
# must not be a path error: dm-multipath would retry over another path and so hide the loss.
fails "$REFUSED" writes "$back" 1
fails "$REFUSED" flushes "$back"
for dev in "$part" "$through" "$back"; do
	lives "$dev"
	detach "$dev"
done
configfs_clear
umount /mnt/fs || die "umount failed"

# The device returns, and a new export of it must work.
echo 1 >"$power"
wait_for 10 test -b "$disk"
export_disk part "$disk"
same "$(device_removed part)" 0 "device_removed, of an export that was enabled again"
dev=$(attach part) || exit 1
works "$dev"
detach "$dev"
configfs_clear

note "acknowledged writes that were in the cache of a disk that is removed"
disk=$(null_disk 16 cache_size=4) || exit 1
power=/sys/kernel/config/nullb/${disk##*/}/power
export_disk cached "$disk" -- --write-cache back
dev=$(attach cached) || exit 1
writes "$dev" 1 || die "write failed"
echo 0 >"$power"
wait_for 10 grep -qx 1 "$CFG/exports/cached/device_removed"
run rnbd export disable cached
echo 1 >"$power"
wait_for 10 test -b "$disk"
run rnbd export enable cached
wait_for 20 grep -qx failed "/sys/block/${dev##*/}/rnbd/state"
grep -q 'may have lost' "/sys/block/${dev##*/}/rnbd/last_error" ||
	die "unexpected message: $(cat "/sys/block/${dev##*/}/rnbd/last_error")"
fails "$REFUSED" flushes "$dev"
detach "$dev"
configfs_clear

note "an export that is disabled has closed its file"
mkfs.ext4 -q -F "$disk" || die "mkfs failed"
for round in {1..10}; do
	mount "$disk" /mnt/fs || die "mount failed"
	truncate -s 1M /mnt/fs/disk
	[ "$round" -gt 1 ] || export_disk file /mnt/fs/disk
	echo 1 >"$CFG/exports/file/enable" || die "enable failed"
	run rnbd export disable file
	umount /mnt/fs || die "the file system is still busy in round $round"
done
configfs_clear
unload
