#!/bin/bash
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400
# short: GFS2 on two clients: sharing checks; a node dies amid load: the other waits until its fence agent succeeds, then goes on
. ./lib.sh

# Milliseconds until corosync takes a silent node for dead, and what it adds for the others'
# consent is 1.2 times that. More than any stall of a busy host.
TOKEN=$((5000 * ${LAB_SLOW:-1}))

cat >/usr/local/sbin/fence-shared <<'END'
#!/bin/bash
# The agent: what it is asked goes to a log; it fails until it may succeed.
{ xargs; echo; } >>/run/fence.log
[ -e /run/fence-works ]
END
chmod 755 /usr/local/sbin/fence-shared

# what systemd and udev do elsewhere
before_command() {
	local link

	[[ $1 = corosync-quorumtool* ]] || return 0
	mkdir -p /var/lib/corosync /run/dlm_controld /var/log/dlm_controld /dev/misc
	modprobe -a dlm gfs2 || die "no dlm"
	for link in dlm-control dlm-monitor dlm_plock; do ln -sf ../$link /dev/misc/$link; done
	corosync -f >"$OUT/corosync" 2>&1 &
	daemons=($!)
	wait_for 60 corosync-quorumtool -s
	dlm_controld -D >"$OUT/dlm_controld" 2>&1 &
	daemons+=($!)
	wait_for 20 dlm_tool status
}

# Without locks between the nodes the first of the checks must fail.
without_locks() {
	mkdir -p $DIR
	[ "$NODE" = 3 ] || run mkfs.gfs2 -O -q -p lock_nolock -j 1 -J 8 $DISK
	both control
	if [ "$NODE" = 3 ]; then
		run mount -t gfs2 -o ro $DISK $DIR
		ls $DIR
	fi
	both cached
	[ "$NODE" = 3 ] || run mount -t gfs2 $DISK $DIR
	if round $DIR 2 1 conv=fsync; then
		[ "$NODE" = 2 ] || die "the check does not see that nobody locks"
	fi
	both control-end
	run umount $DIR
	took "negative control"
}

disk_from_document
[ "$NODE" = 1 ] || without_locks
from_document GFS2 "token: 5000" "token: $TOKEN"
if [ "$NODE" = 1 ]; then
	wait_for 240 test -e "$SHARED/loaded"
	lab kill 3
	tell killed ""
	lab barrier end --nodes 1,2 --timeout 120 || die "barrier end"
	configfs_clear
	unload
	exit 0
fi

share $DIR

# files of node 3: each is told when it is on the disk, and on it goes until it dies
if [ "$NODE" = 3 ]; then
	mkdir $DIR/load
	both load
	while :; do
		echo "$((++i))" >$DIR/load/new
		sync $DIR/load/new
		mv $DIR/load/new "$DIR/load/$i"
		sync $DIR/load
		mkdir "$DIR/load/d$i" && rmdir "$DIR/load/d$((i - 2))" 2>/dev/null
		tell synced "$i"
		[ $i != 5 ] || tell loaded ""
	done
fi

both load
wait_for 60 test -e "$SHARED/killed"
took "node 3 is dead"
touch $DIR/load/survivor &
touch=$!
asked() { [ "$(grep -c node=3 /run/fence.log)" -ge "$1" ]; }
wait_for 50 asked 3
took "the agent was asked three times, and failed"
kill -0 $touch || die "nobody waited for the fence"
if dmesg_has 'jid=.*: Replaying'; then die "a journal was replayed before its node was fenced"; fi
: >/run/fence-works
wait $touch || die "touch failed"
took "fenced and recovered"
dmesg | grep -E 'gfs2: .*jid=' | tail -n 8
dmesg_has 'jid=.*: Journal replayed in' || die "no journal was replayed"
need_counter "$(told synced)" -ge 5 "files of node 3 that were synced"
for ((i = 1; i <= $(told synced); i++)); do
	same "$(<$DIR/load/$i)" "$i" "file of node 3"
done
run rm -r $DIR/load $DIR/tree $DIR/names
run dd if=/dev/urandom of=$DIR/on bs=64k count=16 conv=fsync status=none
run umount $DIR
run fsck.gfs2 -n $DISK
took "fsck"
detach $DISK
lab barrier end --nodes 1,2 --timeout 60 || die "barrier end"
kill "${daemons[@]}"
wait
unload
