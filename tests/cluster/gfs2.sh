#!/bin/bash
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400
# short: GFS2 on two clients: sharing checks; a node dies amid load: the other waits until fence_rnbd succeeds, then goes on
. ./lib.sh

# Milliseconds until corosync takes a silent node for dead, and what it adds for the others'
# consent is 1.2 times that. More than any stall of a busy host.
TOKEN=$((5000 * ${LAB_SLOW:-1}))

# or it sleeps: see gfs2-sleeper.sh
: "${HOW:=killed}"

# what systemd and udev do elsewhere, and scp
before_command() {
	local link

	case $1 in
	ssh-keyscan*) cp /root/.ssh/fencing.pub "$SHARED/n$NODE.pub" ;;
	*authorized_keys) cp "$SHARED"/n?.pub /root/.ssh/ ;;
	corosync-quorumtool*) ;;
	*) return 0 ;;
	esac
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

refusals() { cat /sys/kernel/rnbd-target/refused/fenced; }
refused_over() { [ "$(refusals)" -gt "$1" ]; }
sum() { dd if=/dev/sdb bs=1M iflag=direct status=none | md5sum; }

target() {
	local victim before refused

	wait_for 240 test -e "$SHARED/loaded"
	victim=$(told uuid)
	# the agent does not get through at first
	kill "$(</run/sshd.pid)"
	if [ "$HOW" = killed ]; then lab kill 3; else lab pause 3; fi
	tell gone ""
	wait_for 120 test -e "$SHARED/failing"
	same "$(rnbd fenced "$victim")" no "state of node 3 while the agent fails"
	run /usr/sbin/sshd
	lab barrier recovered --nodes 1,2 --timeout 120 || die "barrier recovered"
	same "$(rnbd fenced "$victim")" fenced "state of node 3"
	lab barrier unmounted --nodes 1,2 --timeout 60 || die "barrier unmounted"
	if [ "$HOW" = paused ]; then
		# it wakes up with all that it was about to write
		before=$(sum) refused=$(refusals)
		lab resume 3
		wait_for 60 refused_over "$refused"
		same "$(sum)" "$before" "the disk, after what was fenced has woken up"
		same "$(rnbd fenced | awk '$2 == "fenced" { print $1 }')" "$victim" "who is fenced"
		lab kill 3
	fi
	run rnbd unfence "$victim"
	lab barrier end --nodes 1,2 --timeout 60 || die "barrier end"
	configfs_clear
	unload
}

if [ "$NODE" = 1 ]; then
	mkdir -p /run/sshd /root/.ssh
	chmod 700 /root/.ssh
	run /usr/sbin/sshd
fi
disk_from_document
[ "$NODE" = 1 ] || [ "$HOW" = paused ] || without_locks
from_document GFS2 "token: 5000" "token: $TOKEN" \
	"identity_file=" "debug_file=/run/fence.log identity_file="
if [ "$NODE" = 1 ]; then
	target
	exit 0
fi
[ "$HOW" = paused ] || share $DIR

# files of node 3: each is told when it is on the disk, and on it goes until it dies
if [ "$NODE" = 3 ]; then
	tell uuid "$(rnbd hostid)"
	mkdir $DIR/load
	both load
	i=0
	while echo "$((++i))" >$DIR/load/new && sync $DIR/load/new &&
		mv $DIR/load/new "$DIR/load/$i" && sync $DIR/load; do
		tell synced "$i"
		[ $i != 5 ] || tell loaded ""
		mkdir "$DIR/load/d$i" && rmdir "$DIR/load/d$((i - 2))" 2>/dev/null
	done
	[ "$HOW" = paused ] || die "the load ended"
	sleep infinity
fi

both load
wait_for 120 test -e "$SHARED/gone"
took "node 3 is $HOW"
touch $DIR/load/survivor &
touch=$!
failing() { [ "$(grep -c 'not reached by ssh' /run/fence.log)" -ge 2 ]; }
wait_for 60 failing
took "the agent was called twice, and failed"
kill -0 $touch || die "nobody waited for the fence"
if dmesg_has 'jid=.*: Replaying'; then die "a journal was replayed before its node was fenced"; fi
tell failing ""
wait $touch || die "touch failed"
lab barrier recovered --nodes 1,2 --timeout 60 || die "barrier recovered"
took "fenced and recovered"
cat /run/fence.log
dmesg | grep -E 'gfs2: .*jid=' | tail -n 8
dmesg_has 'jid=.*: Journal replayed in' || die "no journal was replayed"
need_counter "$(told synced)" -ge 5 "files of node 3 that were synced"
for ((i = 1; i <= $(told synced); i++)); do
	same "$(<"$DIR/load/$i")" "$i" "file of node 3"
done
run rm -r $DIR/load
run dd if=/dev/urandom of=$DIR/on bs=64k count=16 conv=fsync status=none
run umount $DIR
run fsck.gfs2 -n $DISK
took "fsck"
detach $DISK
lab barrier unmounted --nodes 1,2 --timeout 60 || die "barrier unmounted"
lab barrier end --nodes 1,2 --timeout 120 || die "barrier end"
kill "${daemons[@]}"
wait
unload
