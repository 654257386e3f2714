#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 300
# short: two clients on one disk without a file system: each reads the acknowledged writes of the other; a flush of one covers the writes of both
. ../lib/cluster.sh

ROUNDS=4 OPS=200
[ -z "$LAB_SLOW" ] || ROUNDS=2 OPS=60
IMAGE=/dev/shm/image

# flush_of I: print the number of the log entry of the last flush before the mark of round I
flush_of() {
	awk -v name="mark=flushed-$1" '
		$4 ~ /flush/ { last = substr($1, 7) }
		$NF == name { print last; exit }' "$OUT/list"
}

# holds I TO: write the log entries before entry TO to an image, which is then like a disk after a
# power cut at this entry; succeed if it has all writes that were acknowledged before flush I
holds() {
	rm -f $IMAGE
	truncate -s 16M $IMAGE
	logreplay replay "$log" $IMAGE 0 "$2" || die "replay failed"
	gencheck verify --journal "$SHARED/flush-$1" $IMAGE >"$OUT/verify-$1" 2>&1
}

set_host_id
if [ "$NODE" = 1 ]; then
	modprobe dm-log-writes || die "no dm-log-writes"
	target_start
	export_disk disk0 "$(null_disk 16)"
	log=$(null_disk 96) || exit 1
	dmsetup create log --table "0 32768 log-writes $(null_disk 16) $log" || die "dmsetup failed"
	export_disk logged /dev/mapper/log -- --write-cache back
	barrier exported
	for ((i = 1; i <= ROUNDS; i++)); do
		wait_for 120 test -e "$SHARED/flushed-$i"
		dmsetup message log 0 mark "flushed-$i" || die "no mark"
		tell "marked-$i" ""
	done
	barrier end 120
	configfs_clear
	dmsetup remove log || die "dmsetup remove failed"
	logreplay list "$log" >"$OUT/list" || die "the log cannot be read"
	for ((i = 1; i <= ROUNDS; i++)); do
		flush=$(flush_of "$i")
		[ "$flush" ] || die "no flush before mark $i"
		holds "$i" $((flush + 1)) || die "flush $i did not cover it: $(tail -n 3 "$OUT/verify-$i")"
		# Control: the check must fail for an image without the log entries of round I.
		[ "$i" = 1 ] && before=0 || before=$(($(flush_of $((i - 1))) + 1))
		[ "$before" -lt "$flush" ] || die "flush $i is one of another round"
		if holds "$i" "$before"; then die "the check does not detect that round $i is missing"; fi
		note "flush $i, entry $flush: covers the writes of the other node"
	done
	unload
	exit 0
fi

# turn I: succeed if this node writes in round I
turn() { [ $((2 + $1 % 2)) = "$NODE" ]; }

barrier exported
dev=$(attach disk0 --queues 2) || exit 1
took "attached"

note "both nodes write in turn to the same blocks, with one journal"
for ((i = 1; i <= 2 * ROUNDS; i++)); do
	if turn $i; then
		gencheck run --journal "$SHARED/relay" --journal-io pwrite --writer "$NODE" --blocks 256 \
			--io 1-8 --ops $OPS "$dev" >"$OUT/relay-$i" || die "round $i: $(cat "$OUT/relay-$i")"
	fi
	both relay
done
took "$i rounds"
run gencheck verify --journal "$SHARED/relay" "$dev"
both relayed
# Control: node 2 overwrites a block with an old generation; the check on node 3 must find it.
if [ "$NODE" = 2 ]; then
	run dd if="$dev" of=/dev/shm/right bs=1M count=1 iflag=direct status=none
	run gencheck plant --journal "$SHARED/relay" old any "$dev"
	both planted
	both found
	run dd if=/dev/shm/right of="$dev" bs=1M oflag=direct status=none
else
	both planted
	gencheck verify --journal "$SHARED/relay" "$dev" >"$OUT/planted"
	same $? 3 "exit code of verify with an old block planted by the other node"
	grep -q ' wrong_old=1$' "$OUT/planted" || die "not one old block: $(tail -n 1 "$OUT/planted")"
	both found
fi

note "both nodes write concurrently to alternating blocks"
run gencheck run --journal "$SHARED/share-$NODE" --journal-io pwrite --writer "$NODE" --first 256 \
	--share $((NODE - 2))/2 --io 1-8 --fill any --ops $((2 * OPS)) "$dev"
both shared
run gencheck verify --journal "$SHARED/share-2" --journal "$SHARED/share-3" "$dev"
took "at the same time"
need "$dev" reconnects -eq 0
detach "$dev"

note "one node writes without a flush, the other one only flushes"
dev=$(attach logged --queues 2) || exit 1
same "$(<"/sys/block/${dev##*/}/queue/write_cache")" "write back" "write cache"
for ((i = 1; i <= ROUNDS; i++)); do
	if turn $i; then
		gencheck run --journal "$SHARED/logged" --journal-io pwrite --writer "$NODE" --mix 0:1:0 \
			--io 1-8 --ops 50 "$dev" >"$OUT/logged-$i" || die "round $i: $(cat "$OUT/logged-$i")"
		cp "$SHARED/logged" "$SHARED/flush-$i"
	fi
	both "written-$i"
	if ! turn $i; then
		sync "$dev" || die "flush failed"
		tell "flushed-$i" ""
		wait_for 60 test -e "$SHARED/marked-$i"
	fi
	both "flushed-$i"
done
took "flushes"
run gencheck verify --journal "$SHARED/logged" "$dev"
detach "$dev"
barrier end 120
unload
