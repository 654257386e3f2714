#!/bin/bash
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400
# short: OCFS2 on two clients: sharing checks; storage away from a node: longer than its heartbeat may be late, it resets itself
. ./lib.sh

# A node whose heartbeat could not be written for (THRESHOLD - 1) * 2 s resets itself, the
# others take it for dead after THRESHOLD * 2 s. More than any stall of a busy host.
THRESHOLD=$((9 * ${LAB_SLOW:-1}))
LIMIT=$(((THRESHOLD - 1) * 2))

# storage away|back - of node 3, and of it alone
storage() {
	if [ "$1" = away ]; then
		nft add rule ip away input ip saddr 10.9.0.3 udp dport 4791 counter drop
	else
		nft list chain ip away input | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p'
		nft flush chain ip away input
	fi
}

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
	barrier shorter 200
	storage away
	barrier away
	# not a wait for something: this is how long it is away; finding out that it is back
	# takes some seconds more
	sleep $((LIMIT / 3))
	need_counter "$(storage back)" -gt 0 "packets of node 3 that were lost"
	tell back ""
	barrier longer 120
	wait_for 60 test -e "$SHARED/loaded"
	storage away
	if lab barrier dead --nodes 1,3 --timeout $((3 * LIMIT)) 2>"$OUT/dead"; then die "node 3 came"; fi
	grep -q 'n3 will not come: dead' "$OUT/dead" || die "node 3 lives on without storage: $(<"$OUT/dead")"
	need_counter "$(storage back)" -gt 0 "packets of node 3 that were lost"
	tell dead ""
	lab barrier end --nodes 1,2 --timeout 120 || die "barrier end"
	configfs_clear
	unload
	exit 0
fi

same "$(</sys/kernel/config/cluster/shared/heartbeat/dead_threshold)" $THRESHOLD dead_threshold
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
took "away for less than the limit"
same "$(stat -c %s $DIR/faults/late)" 4096 "size of what was written late"
run dd if=/dev/urandom of="$DIR/faults/kept.$NODE" bs=64k count=8 conv=fsync status=none
md5sum <"$DIR/faults/kept.$NODE" >"$SHARED/kept.$NODE"
[ "$NODE" = 2 ] || lab may-die 3
barrier longer
if [ "$NODE" = 3 ]; then
	i=0
	while :; do
		mkdir "$DIR/faults/$((++i))"
		echo "$i" >"$DIR/faults/$i/file"
		[ $i != 10 ] || tell loaded ""
	done
fi
i=0
while [ ! -e "$SHARED/dead" ]; do
	echo "$((++i))" >"$DIR/faults/own" || die "write failed"
	sync $DIR/faults/own || die "fsync failed"
done
took "away for longer: node 3 is dead; $i writes meanwhile"
# what node 3 had locked is free after its recovery
run touch $DIR/faults/kept.3 $DIR/faults/new
for i in 2 3; do
	same "$(md5sum <"$DIR/faults/kept.$i")" "$(<"$SHARED/kept.$i")" "what node $i had synced"
done
note "$(find $DIR/faults -name '[0-9]*' | wc -l) directories of node 3 were in its journal"
run rm -rf $DIR/faults/[0-9]*
took "recovered"
run umount $DIR
run fsck.ocfs2 -fn $DISK
took "fsck"
detach $DISK
lab barrier end --nodes 1,2 --timeout 60 || die "barrier end"
unload
