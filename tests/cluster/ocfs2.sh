#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400
# short: OCFS2 on two clients: sharing checks; a node without storage waits; beyond the heartbeat limit it resets itself, the other continues; it rejoins
. ../lib/cluster.sh

# A node that could not write its heartbeat for (THRESHOLD - 1) * 2 s resets itself. The other nodes
# declare it dead after THRESHOLD * 2 s. Both times are longer than a busy host stalls its machines.
THRESHOLD=$((9 * ${LAB_SLOW:-1}))
LIMIT=$(((THRESHOLD - 1) * 2))

# The nodes that lose the storage: one, or all (ocfs2-all.sh)
: "${FROM:=one}"

# storage away ADDRESS,...: drop the RoCE packets that arrive from these nodes; storage back: accept
# them again and print how many were dropped
storage() {
	if [ "$1" = away ]; then
		nft add rule ip away input ip saddr "{ $2 }" udp dport 4791 counter drop
	else
		nft list chain ip away input | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p'
		nft flush chain ip away input
	fi
}

# resets NODE: the node, which has no storage, must reset itself before the deadline
resets() {
	lab barrier dead --nodes "1,$1" --timeout $((3 * LIMIT)) 2>"$OUT/dead" && die "node $1 did not reset itself"
	grep -q "n$1 cannot reach the barrier: dead" "$OUT/dead" || die "node $1 still runs without storage: $(<"$OUT/dead")"
}

# keep NAME: write a file with fsync and record its checksum
keep() {
	run dd if=/dev/urandom of="$DIR/faults/$1.$NODE" bs=64k count=8 conv=fsync status=none
	md5sum <"$DIR/faults/$1.$NODE" >"$SHARED/$1.$NODE"
}

# load DIR: create files until this machine resets itself
load() {
	local i=0

	mkdir -p "$1"
	while mkdir "$1/$((++i))" && echo "$i" >"$1/$i/file"; do
		tell "load-$NODE" $i
	done
	die "the load failed"
}
loaded() { [ -e "$SHARED/load-$1" ] && [ "$(told "load-$1")" -gt "$2" ]; }

# all_away: nodes 2 and 3 lose the storage but reach each other: both must wait, and continue when
# the storage is back. Then they lose the storage and each other: both must reset themselves, so
# that no node replays a journal.
all_away() {
	local node at=()

	for node in 2 3; do wait_for 60 loaded $node 10; done
	storage away 10.9.0.2,10.9.0.3
	# The outage lasts as long as this sleep, which exceeds the heartbeat limit.
	sleep $((LIMIT * 3 / 2))
	for node in 2 3; do at[node]=$(told load-$node); done
	need_counter "$(storage back)" -gt 0 "packets of both that were lost"
	for node in 2 3; do wait_for 60 loaded $node $((at[node] + 10)); done
	took "the target is unreachable from all nodes for longer: the load continues"
	tell back ""
	barrier kept
	for node in 2 3; do lab cut $node; done
	for node in 2 3; do resets $node; done
	took "the nodes cannot reach each other either: all are dead"
	configfs_clear
	# fsck.ocfs2 asks for confirmation because this machine is not in the cluster.
	fsck.ocfs2 -F -fy /dev/sdb <<<y || [ $? = 1 ] || die "fsck.ocfs2 failed"
	run fsck.ocfs2 -F -fn /dev/sdb <<<y
	for node in 2 3; do
		run debugfs.ocfs2 -R "dump /faults/kept.$node /dev/shm/kept" /dev/sdb
		same "$(md5sum </dev/shm/kept)" "$(<"$SHARED/kept.$node")" "data that node $node had synced"
	done
	took "fsck"
	unload
}

all_away_here() {
	[ "$NODE" = 3 ] || mkdir $DIR/faults
	both faults
	load "$DIR/faults/load.$NODE" &
	wait_for 180 test -e "$SHARED/back"
	dmesg | grep 'o2hb: .*hung'
	dmesg_has "node $NODE hb write hung" || die "the heartbeat of node $NODE was not late"
	keep kept
	lab may-die "$NODE"
	barrier kept
	wait
	die "node $NODE still runs"
}

# come_back: the steps of each node after node 3 has restarted; node 3 rejoins the cluster
come_back() {
	from_document "A node that has reset itself"
	if [ "$NODE" = 1 ]; then
		barrier end 120
		configfs_clear
		unload
		return
	fi
	same "$(md5sum <$DIR/faults/kept.3)" "$(<"$SHARED/kept.3")" "data that node 3 had synced"
	share_bytes $DIR
	took "node 3 is back"
	run umount $DIR
	both apart
	[ "$NODE" = 3 ] || run fsck.ocfs2 -fn $DISK
	detach $DISK
	barrier end 120
	unload
}

# Node 3 after its restart: restore its configuration files.
if [ "$LAB_BOOT" -gt 1 ]; then
	run tar -C / -xf "$OUT/files.tar"
	mkdir -p $DIR
	come_back
	exit 0
fi
disk_from_document
from_document OCFS2 THRESHOLD=31 THRESHOLD=$THRESHOLD
if [ "$NODE" = 1 ]; then
	nft -f - <<-END || die "no nft"
		table ip away {
			chain input {
				type filter hook input priority 0;
			}
		}
	END
	if [ "$FROM" = all ]; then
		all_away
		exit 0
	fi
	barrier shorter 200
	storage away 10.9.0.3
	barrier away
	# The outage lasts as long as this sleep, and for the seconds that the client needs to
	# reconnect after the sleep.
	sleep $((LIMIT / 3))
	need_counter "$(storage back)" -gt 0 "packets of node 3 that were lost"
	tell back ""
	barrier longer 120
	wait_for 60 loaded 3 10
	storage away 10.9.0.3
	resets 3
	need_counter "$(storage back)" -gt 0 "packets of node 3 that were lost"
	tell dead ""
	lab start 3
	lab barrier goes-on --nodes 1,2 --timeout 120 || die "barrier goes-on"
	come_back
	exit 0
fi

same "$(</sys/kernel/config/cluster/shared/heartbeat/dead_threshold)" $THRESHOLD dead_threshold
need_fstab ocfs2
[ "$FROM" = one ] || all_away_here
share $DIR

[ "$NODE" = 3 ] || mkdir $DIR/faults
barrier shorter
barrier away
if [ "$NODE" = 3 ]; then
	start=${EPOCHREALTIME/[.,]/}
	run dd if=/dev/zero of=$DIR/faults/late bs=4k count=1 oflag=direct status=none
	late=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
	[ -e "$SHARED/back" ] || die "a write did not wait for the storage"
	need_counter "$late" -gt 1000 "ms that a write waited for the storage"
fi
both waited
took "the target is unreachable from node 3 for less than the limit"
same "$(stat -c %s $DIR/faults/late)" 4096 "size of the file that was written late"
keep kept
if [ "$NODE" = 3 ]; then
	lab may-die 3
	run tar -C / -cf "$OUT/files.tar" etc/rnbd etc/ocfs2 etc/default/o2cb
fi
barrier longer
[ "$NODE" = 2 ] || load $DIR/faults/load
i=0
while [ ! -e "$SHARED/dead" ]; do
	echo "$((++i))" >"$DIR/faults/own" || die "write failed"
	sync $DIR/faults/own || die "fsync failed"
done
took "the target is unreachable for longer: node 3 is dead; $i writes of node 2 until then"
# Node 2 has recovered node 3, so node 2 must get the locks that node 3 had.
run touch $DIR/faults/kept.3 $DIR/faults/new
for i in 2 3; do
	same "$(md5sum <"$DIR/faults/kept.$i")" "$(<"$SHARED/kept.$i")" "data that node $i had synced"
done
note "$(find $DIR/faults/load -mindepth 1 -type d | wc -l) directories of node 3 were in its journal"
run rm -rf $DIR/faults/load
took "recovered"
lab barrier goes-on --nodes 1,2 --timeout 60 || die "barrier goes-on"
come_back
