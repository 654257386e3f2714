#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 2 --mem 1024 --timeout 300
# turns: 3
# adapter: only
# short: concurrent writes through the page cache fail exactly if the device fails them; without the rule lost writes are acknowledged
. ../lib/lab.sh
. ../lib/rnbd.sh

# If a write-back error was recorded during a write, the target executes the write once more, alone,
# and only the result of this execution counts. The export is a file of two parts on ext4. The
# device fails the first block of the file and delays the other blocks of the first part. So the
# error of a write to the first part is recorded long before this write completes, and writes to the
# second part complete between these two moments. The fault point no_wb_check disables the rule.
DELAY=20	# ms
PART=32		# blocks of 4 KiB
BLOCKS=$((4 * PART))
FILE=/mnt/f/file

# physical FILE-BLOCK: print the sector of the device that has this block of the file
physical() {
	filefrag -e -b4096 $FILE | tr -d ':' | awk -v b="$1" '
		$1 ~ /^[0-9]+$/ {
			first = $2; sub(/\..*/, "", first)
			last = $2 == first ".." ? $3 : $2; sub(/.*\./, "", last)
			where = $2 == first ".." ? $4 : $3; sub(/\..*/, "", where)
			if (b >= first && b <= last) print (where + b - first) * 8
		}'
}

table() {
	dmsetup reload lower || die "reload failed"
	dmsetup suspend --nolockfs lower || die "suspend failed"
	dmsetup resume lower || die "resume failed"
}
heal() { echo "0 $SIZE linear $disk 0" | table; }
# break_it: the device fails the first block and is slow for the other blocks of the first part
break_it() {
	{
		echo "0 $BAD linear $disk 0"
		echo "$BAD 8 error"
		echo "$((BAD + 8)) $((SLOW - BAD - 8)) linear $disk $((BAD + 8))"
		echo "$SLOW $SLOWS delay $disk $SLOW 0 $disk $SLOW $DELAY"
		echo "$((SLOW + SLOWS)) $((SIZE - SLOW - SLOWS)) linear $disk $((SLOW + SLOWS))"
	} | table
}

# total FILE WORD: print the number behind "WORD=" in the line of totals, or 0 if there is none
total() { sed -n "s/^totals.* $2=\([0-9]*\).*/\1/p" "$1" | grep . || echo 0; }

# both OPS: make OPS writes to the first (bad) part and, concurrently, writes to the second (good)
# part; count the results, and compare the acknowledged writes with the data on the device
both() {
	local pid

	break_it
	rm -f /dev/shm/good /dev/shm/bad
	gencheck run --journal /dev/shm/good --fill any --first $PART \
		--blocks $((BLOCKS - PART)) --io 1-4 --threads 1 --mix 20:80:0 --time 600 \
		--on-error continue "$dev" >"$OUT/good" &
	pid=$!
	gencheck run --journal /dev/shm/bad --fill any --blocks $PART --io $PART \
		--threads 1 --mix 0:1:0 --ops "$1" --on-error continue "$dev" >"$OUT/bad"
	kill -INT $pid
	wait $pid
	cat "$OUT/bad" "$OUT/good"
	# Drop the page cache, so that the file is read from the device.
	heal
	echo 3 >/proc/sys/vm/drop_caches
	gencheck verify --journal /dev/shm/good $FILE >"$OUT/good-verify"
	gencheck verify --journal /dev/shm/bad $FILE >"$OUT/bad-verify"
	tail -qn 1 "$OUT/good-verify" "$OUT/bad-verify"
	bad=$(total "$OUT/bad" writes) failed=$(total "$OUT/bad" EREMOTEIO)
	good=$(total "$OUT/good" writes) charged=$(total "$OUT/good" EREMOTEIO)
	lost=$(grep -c '^wrong' "$OUT/bad-verify")
	if grep '^wrong' "$OUT/good-verify"; then die "a write to good blocks is not on the disk"; fi
	need_counter "$good" -gt 20 "acknowledged writes to good blocks"
}

# shown EXPORT OPS: check that with the rule exactly the writes to the bad part fail
shown() {
	dev=$(attach "$1" --queues 2) || exit 1
	both "$2"
	same "$failed" "$2" "$1: writes to the bad block that failed"
	same "$bad" 0 "$1: writes to the bad block that were acknowledged"
	same "$lost" 0 "$1: acknowledged blocks that are not on the disk"
	same "$charged" 0 "$1: requests for good blocks that failed"

	note "$1: an error that was reported to another program is not reported to a write"
	break_it
	run dd if=/dev/zero of=$FILE bs=4k count=1 conv=notrunc status=none
	refused sync $FILE
	dd if=/dev/urandom of="$dev" bs=4k seek=$PART count=1 oflag=direct status=none ||
		die "the next write failed"
	heal
	detach "$dev"
}

# refuted EXPORT OPS: check that without the rule writes are acknowledged although their data are
# lost
refuted() {
	dev=$(attach "$1" --queues 2) || exit 1
	strike rnbd-target no_wb_check 1000000
	both "$2"
	strike rnbd-target no_wb_check 0
	note "$1 without the rule: $bad lost writes were acknowledged, $lost blocks are wrong, $charged good requests failed"
	[ "$bad" -gt 0 ] || die "nothing is acknowledged without the rule: this test proves nothing"
	[ "$lost" -gt 0 ] || die "nothing is lost without the rule: this test proves nothing"
	detach "$dev"
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
modprobe -a dm-mod dm-delay || die "no device mapper"
disk=$(null_disk 64) || exit 1
SIZE=$((64 * 2048))
echo "0 $SIZE linear $disk 0" | dmsetup create lower || die "dmsetup failed"
# The device now needs stable pages. So with direct I/O to a file system that is mounted after this,
# the target writes through the page cache.
echo 1 >"/sys/dev/block/$(dmsetup info -c --noheadings -o major,minor lower)/queue/stable_writes" ||
	die "no stable_writes"
run mkfs.ext4 -q -F -b 4096 /dev/mapper/lower
mkdir -p /mnt/f
run mount /dev/mapper/lower /mnt/f
# Allocate the first block of the file apart from the other blocks, so that write-back uses a
# separate bio for it.
run fallocate -l 4K $FILE
run fallocate -l 64K /mnt/f/between
run fallocate -l $((BLOCKS * 4096)) $FILE
run dd if=/dev/zero of=$FILE bs=4k count=$BLOCKS conv=notrunc,fsync status=none
BAD=$(physical 0) SLOW=$(physical 1) SLOWS=$(((PART - 1) * 8))
filefrag -e -b4096 $FILE
if [ -z "$BAD" ] || [ -z "$SLOW" ] || [ "$SLOW" -lt $((BAD + 16)) ]; then die "the blocks of the file are not where the test needs them"; fi
same "$(physical $((PART - 1)))" $((SLOW + SLOWS - 8)) "the end of the first part"

note "write_cache=through through the page cache"
export_disk cached $FILE -- --cache pagecache
shown cached 120
refuted cached 40
run rnbd export remove cached
note "direct I/O, but the storage needs stable pages"
export_disk copied $FILE
shown copied 80
refuted copied 40
configfs_clear
run umount /mnt/f
run dmsetup remove lower
unload
