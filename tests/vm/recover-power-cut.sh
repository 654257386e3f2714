#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --disk 64M --disk 768M --timeout 500
# turns: 3
# short: the power of the target fails after any flush: ext4 on the disk is clean, and all synced files are there
. ../lib/lab.sh
. ../lib/rnbd.sh

# dm-log-writes below the export logs every write and flush in the order in which the storage got
# them. Replaying the log from its beginning up to an entry gives an image of the disk after a power
# cut behind that entry.

# At least 4: the last check omits the writes between the syncs of files 2 and 3, and replays the
# earlier and later ones.
FILES=4
CHECKS=4		# power cuts after a flush, besides one after the sync of each file
TREE=/usr/share/zoneinfo/Europe
LOG=/dev/lab/disk1
[ -z "$LAB_SLOW" ] || TREE=/usr/share/zoneinfo/Indian

set_host_id
if [ "$NODE" = 2 ]; then
	mkdir -p /mnt/t
	for mode in through back; do
		barrier "exported-$mode" 120
		dev=$(attach disk0) || exit 1
		run mkfs.ext4 -q -F "$dev"
		mount "$dev" /mnt/t || die "mount failed"
		sync -f /mnt/t
		tell "done-$mode-0" ""
		wait_for 60 test -e "$SHARED/marked-$mode-0"
		for i in $(seq 1 $FILES); do
			# Other files are written concurrently and not synced.
			cp -a $TREE "/mnt/t/tree-$i" &
			dd if=/dev/urandom of="/mnt/t/new" bs=1k count=$((i * 37)) conv=fsync status=none || die dd
			mv /mnt/t/new "/mnt/t/file-$i"
			sync /mnt/t
			tell "sum-$mode-$i" "$(md5sum <"/mnt/t/file-$i")"
			tell "done-$mode-$i" ""
			wait_for 60 test -e "$SHARED/marked-$mode-$i"
			wait
			rm -r "/mnt/t/tree-$i"
		done
		umount /mnt/t
		detach "$dev"
		barrier "written-$mode" 120
	done
	barrier end 280
	unload
	exit 0
fi

# holds IMAGE N MODE - succeed if the file system is clean and has the first N files
holds() {
	local i
	cp --sparse=always "$1" /dev/shm/check
	e2fsck -y -E journal_only /dev/shm/check >"$OUT/fsck" 2>&1
	[ $? -le 1 ] || return 1
	e2fsck -fn /dev/shm/check >"$OUT/fsck" 2>&1 || return 1
	# Run debugfs once for all files: to start it takes longer than its work.
	rm -rf /dev/shm/files && mkdir /dev/shm/files
	for i in $(seq 1 "$2"); do echo "dump file-$i /dev/shm/files/$i"; done |
		debugfs -f - /dev/shm/check >/dev/null 2>&1
	for i in $(seq 1 "$2"); do
		echo "$(told "sum-$3-$i" | cut -d ' ' -f 1)  /dev/shm/files/$i"
	done >/dev/shm/sums
	[ "$2" = 0 ] || md5sum -c --strict --status /dev/shm/sums
}

# mark_at NAME - print the number of the log entry with this mark
mark_at() { sed -n "s/^entry=\([0-9]*\) .* mark=$1$/\1/p" "$OUT/list"; }

modprobe dm-log-writes || die "no dm-log-writes"
target_start
for mode in through back; do
	sectors=$(blockdev --getsz /dev/lab/disk0)
	blkdiscard -f -z /dev/lab/disk0
	dmsetup create log --table "0 $sectors log-writes /dev/lab/disk0 $LOG" || die "dmsetup failed"
	export_disk disk0 /dev/mapper/log -- --write-cache $mode
	barrier "exported-$mode" 120
	for i in $(seq 0 $FILES); do
		wait_for 120 test -e "$SHARED/done-$mode-$i"
		dmsetup message log 0 mark "file-$i" || die "no mark"
		tell "marked-$mode-$i" ""
	done
	barrier "written-$mode" 120
	configfs_clear
	dmsetup remove log || die "dmsetup remove failed"

	logreplay list $LOG >"$OUT/list" || die "the log cannot be read"
	first=$(mark_at file-0)
	last=$(mark_at "file-$FILES")
	# Select the points of a power cut: after the sync of each file and after some of the
	# flushes.
	awk -v first="$first" -v last="$last" -v checks=$CHECKS '
		{ at = substr($1, 7) + 0 }
		at > first && at < last && $4 ~ /flush|fua/ { flush[n++] = at + 1 }
		at >= first && at <= last && $4 ~ /mark/ { print at }
		END { for (i = 0; i < n && i < checks; i++) print flush[int(i * n / checks)] }
	' "$OUT/list" | sort -nu >"$OUT/points"
	flushes=$(grep -cE 'flags=(flush|fua)' "$OUT/list")
	note "write cache $mode: $(wc -l <"$OUT/list") entries, $flushes of them with flush or FUA"
	[ "$flushes" -gt 20 ] || die "too few flushes reached the storage"

	rm -f /dev/shm/image
	truncate -s $((sectors * 512)) /dev/shm/image
	at=0
	while read -r point; do
		run logreplay replay $LOG /dev/shm/image "$at" "$point"
		at=$point
		have=0
		for i in $(seq 1 $FILES); do
			[ "$(mark_at "file-$i")" -gt "$point" ] || have=$i
		done
		holds /dev/shm/image "$have" "$mode" ||
			die "a power cut after entry $point: $(tail -3 "$OUT/fsck"), files that must exist: $have"
		# The check must be able to fail: a file that was not yet written must be missing.
		if [ "$have" -lt $FILES ] && [ "$(mark_at "file-$have")" = "$point" ]; then
			holds /dev/shm/image $((have + 1)) "$mode" && die "a file exists before it was written"
		fi
	done <"$OUT/points"
	note "$(wc -l <"$OUT/points") points of a power cut: the file system is clean and has all synced files"

	# The check must detect storage that loses writes between two syncs.
	rm -f /dev/shm/image
	truncate -s $((sectors * 512)) /dev/shm/image
	run logreplay replay $LOG /dev/shm/image 0 "$(mark_at file-2)"
	run logreplay replay $LOG /dev/shm/image "$(mark_at file-3)" "$last"
	holds /dev/shm/image $FILES "$mode" && die "lost writes are not detected: this test proves nothing"
done
barrier end
unload
