#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400 --ignore-report touch:[0-9]+.blocked.for.more.than
# short: GFS2 on two clients: sharing checks; a node dies under load: the other waits until fence_rnbd succeeds, then continues; the node rejoins
. ../lib/cluster.sh

# Token time-out of corosync in ms. corosync declares a silent node dead after that time plus the
# consensus time-out, which is 1.2 times as long. The sum exceeds any stall of a busy host.
TOKEN=$((5000 * ${LAB_SLOW:-1}))

# The fate of node 3: killed, or paused (gfs2-sleeper.sh)
: "${HOW:=killed}"

# before_command COMMAND: copy the keys or start the daemons that this command of the document
# needs, as scp and systemd do on real machines
before_command() {
	bring_keys "$1"
	[[ $1 = corosync-quorumtool* ]] || return 0
	start_corosync
	dlm_controld -D >"$OUT/dlm_controld" 2>&1 &
	daemons+=($!)
	wait_for 20 dlm_tool status
}

# without_locks: control: mount GFS2 without locks between the nodes; node 3 must then read old data
# in the check round
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
		[ "$NODE" = 2 ] || die "the check does not detect that there are no locks"
	fi
	both control-end
	run umount $DIR
}

# --- the generation checker: node 3 writes to a second disk, "raw", that only node 3 attaches

# The checker keeps WRITERS writes outstanding. The client sends at most DEPTH of them to the target
# at a time; the others wait in node 3.
WRITERS=16 DEPTH=4

raw_export() {
	raw=$(null_disk 4) || exit 1
	dmsetup create raw --table "0 8192 linear $raw 0" || die "dmsetup create"
	rnbd export add raw --path /dev/mapper/raw --host "$victim" --port "$ADDR" || die "export"
}

# raw_write: replace this shell by the checker
raw_write() {
	exec gencheck run --journal "$SHARED/raw" --journal-io pwrite --writer 3 --threads $WRITERS \
		--blocks 512 --mix 0:1:0 --time 3600 "$raw" >"$SHARED/raw-said" 2>&1
}

raw_in_doubt() { gencheck show --journal "$SHARED/raw" | sed -n 's/.* in_doubt=\([0-9]*\) .*/\1/p'; }
raw_stands_still() {
	local before

	before=$(md5sum <"$SHARED/raw")
	sleep 1
	[ "$(md5sum <"$SHARED/raw")" = "$before" ] && [ "$(raw_in_doubt)" = $WRITERS ]
}

# raw_hold: suspend the storage of the disk raw, and wait until all WRITERS writes are outstanding
raw_hold() {
	wait_for 30 test -s "$SHARED/raw"
	dmsetup suspend --noflush --nolockfs raw || die "dmsetup suspend"
	wait_for 30 raw_stands_still
}

# raw_keep NAME: record which generation each block of the disk raw has; fail if an acknowledged
# write is missing
raw_keep() {
	cp "$SHARED/raw" "$OUT/raw-$1"
	gencheck verify --journal "$OUT/raw-$1" --adopt "$raw" >"$OUT/raw-$1.kept" ||
		die "raw, $1: $(tail -n 3 "$OUT/raw-$1.kept")"
}

# raw_since NAME: print how many blocks have another generation than at raw_keep NAME
raw_since() {
	gencheck verify --journal "$OUT/raw-$1" "$raw" >"$OUT/raw-$1.since"
	sed -n 's/^totals .* wrong=\([0-9]*\) .*/\1/p' "$OUT/raw-$1.since"
}
raw_moved() { [ "$(raw_since "$1")" -gt 0 ]; }

# without_fencing: control: while node 3 is paused, the target disables and enables the export, but
# does not fence node 3. The writes that wait in node 3 must reach the disk when node 3 resumes, and
# the check must see them.
without_fencing() {
	if [ "$NODE" = 3 ]; then
		raw_write &
		wait_for 120 test -e "$SHARED/landed"
		kill $!
		wait $! || die "gencheck: $(<"$SHARED/raw-said")"
		return
	fi
	raw_hold
	lab pause 3
	dmsetup resume raw
	rnbd export disable raw || die "export disable"
	raw_keep unfenced
	rnbd export enable raw || die "export enable"
	lab resume 3
	wait_for 60 raw_moved unfenced
	note "not fenced: $(raw_since unfenced) blocks were written late"
	tell landed ""
}

# --- node 1

sum() { dd if=/dev/sdb bs=1M iflag=direct status=none | md5sum; }

# wake: resume node 3, in which writes still wait; all these writes must fail, and the shared disk
# must not change
wake() {
	local before refused failed

	before=$(sum) refused=$(refusals)
	lab resume 3
	wait_for 60 refused_over "$refused"
	wait_for 60 test -e "$SHARED/raw-ended"
	cat "$SHARED/raw-said"
	failed=$(sed -n 's/^totals .* failed=\([0-9]*\) .*/\1/p' "$SHARED/raw-said")
	need_counter "$failed" -ge $((WRITERS - DEPTH)) "writes that had waited in node 3 and failed"
	# I/O of a fenced host fails with EBADE, the errno of a reservation conflict.
	grep -q " errors=$failed .* EBADE=$failed\$" "$SHARED/raw-said" || die "not all writes failed with EBADE"
	same "$(sum)" "$before" "checksum of the disk after the fenced node has resumed"
	same "$(rnbd fenced | awk '$2 == "fenced" { print $1 }')" "$victim" "fenced hosts"
}

target() {
	local landed

	wait_for 240 test -e "$SHARED/loaded"
	raw_hold
	# The fencing agent fails until sshd on the target is started again.
	kill "$(</run/sshd.pid)"
	if [ "$HOW" = killed ]; then lab kill 3; else lab pause 3; fi
	tell gone ""
	wait_for 120 test -e "$SHARED/failing"
	fenced_is no || die "node 3 is $(rnbd fenced "$victim") while the agent fails"
	run /usr/sbin/sshd
	# The fence now waits for the suspended storage.
	wait_for 60 fenced_is draining
	raw_keep draining
	tell draining ""
	lab barrier still --nodes 1,2 --timeout 60 || die "barrier still"
	fenced_is draining || die "node 3 is $(rnbd fenced "$victim") although the storage has its writes"
	dmsetup resume raw
	wait_for 60 fenced_is fenced
	landed=$(raw_since draining)
	raw_keep fenced
	need_counter "$landed" -gt 0 "writes of node 3 that the storage had, and ended before it was fenced"
	need_counter $((WRITERS - landed)) -gt 0 "writes that were waiting in node 3"
	lab barrier recovered --nodes 1,2 --timeout 120 || die "barrier recovered"
	fenced_is fenced || die "node 3 is $(rnbd fenced "$victim")"
	lab barrier unmounted --nodes 1,2 --timeout 60 || die "barrier unmounted"
	[ "$HOW" = killed ] || wake
	same "$(raw_since fenced)" 0 "blocks written since node 3 was fenced"
	run gencheck verify --journal "$SHARED/raw" "$raw"
	if [ "$HOW" = killed ]; then lab start 3; else lab reset 3; fi
	lab barrier started --nodes 1,2 || die "barrier started"
	come_back
	barrier end 120
	fenced_is no || die "node 3 is $(rnbd fenced "$victim")"
	configfs_clear
	dmsetup remove raw
	unload
}

# --- node 3 restarts and rejoins

FILES=(etc/rnbd etc/corosync etc/dlm root/.ssh)

# restarted: restore the configuration files of node 3 after its restart; if node 3 had been paused,
# it is still fenced, and an attach must be refused
restarted() {
	local said

	run tar -C / -xf "$OUT/files.tar"
	mkdir -p $DIR
	[ "$HOW" = paused ] || return 0
	modprobe rnbd
	said=$(rnbd attach --config /etc/rnbd/attach.d/shared.conf 2>&1) && die "the fenced node attached"
	[[ $said = *"this host is fenced (on the target: rnbd unfence)"* ]] || die "unexpected message: $said"
}

come_back() {
	[ "$HOW" = killed ] || from_document "Unfencing by hand"
	from_document "A node comes back"
	[ "$NODE" != 1 ] || return 0
	md5sum <$DIR/on | agree on
	round $DIR 3 back || die "the data of node 3 are missing"
	took "node 3 is back"
	[ "$HOW" = killed ] || withdraw
	run umount $DIR
	both apart
	[ "$NODE" = 3 ] || run fsck.gfs2 -n $DISK
	detach $DISK
	barrier end 120
	kill "${daemons[@]}"
	wait
	unload
}

# withdraw: make GFS2 withdraw on node 3. The disk of node 3 must fail before the locks of node 3 go
# to node 2, which replays the journal of node 3. The function ends the script.
withdraw() {
	if [ "$NODE" = 3 ]; then
		run /lib/systemd/systemd-udevd --daemon
		echo here >$DIR/synced
		run sync $DIR/synced
		echo 1 >/sys/fs/gfs2/shared:fs0/withdraw
		wait_for 120 dmesg_has 'shared:fs0.*File system withdrawn'
		same "$(cat /sys/block/rnbd0/rnbd/state)" failed "state of the disk of the withdrawn file system"
		dmesg | grep -E 'given up|telling LM to unmount' | cut -c 1-120
		same "$(dmesg | grep -oE 'given up|telling LM to unmount' | tail -n 2 | xargs)" \
			"given up telling LM to unmount" "order of the disk failure and the unlock"
		echo more 2>/dev/null >$DIR/more && die "the withdrawn file system still writes"
		both withdrawn 120
		# A file system that has withdrawn can no longer be unmounted safely.
		both apart
		barrier end 120
		exit 0
	fi
	both withdrawn 120
	dmesg | grep -E 'gfs2: .*jid=' | tail -n 3
	same "$(<$DIR/synced)" here "data that node 3 synced before the withdraw"
	run dd if=/dev/urandom of=$DIR/after bs=64k count=16 conv=fsync status=none
	run umount $DIR
	run fsck.gfs2 -n $DISK
	took "without node 3"
	both apart
	detach $DISK
	barrier end 120
	kill "${daemons[@]}"
	wait
	unload
	exit 0
}

if [ "$LAB_BOOT" -gt 1 ]; then
	restarted
	come_back
	exit 0
fi
if [ "$NODE" = 1 ]; then
	mkdir -p /run/sshd
	run /usr/sbin/sshd
fi
disk_from_document
if [ "$NODE" = 3 ]; then tell uuid "$(rnbd hostid)"; fi
barrier uuid
victim=$(told uuid)
[ "$NODE" != 1 ] || raw_export
barrier raw
if [ "$NODE" = 3 ]; then raw=$(attach raw --new-session --queues 1 --queue-depth $DEPTH --keepalive 500) || exit 1; fi
if [ "$HOW" = killed ]; then
	[ "$NODE" = 1 ] || without_locks
elif [ "$NODE" != 2 ]; then
	without_fencing
fi
took "control"
from_document GFS2 "token: 5000" "token: $TOKEN" \
	"identity_file=" "debug_file=/run/fence.log identity_file="
[ "$HOW" = paused ] || from_document "Unfencing by a restart"
if [ "$NODE" = 1 ]; then
	target
	exit 0
fi
need_fstab gfs2
[ "$HOW" = paused ] || share $DIR

# Node 3 creates files until it is killed or paused, and reports the number of each file that it has
# synced.
if [ "$NODE" = 3 ]; then
	run tar -C / -cf "$OUT/files.tar" "${FILES[@]}"
	mkdir $DIR/load
	both load
	{ (raw_write); tell raw-ended $?; } &
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
kill -0 $touch || die "the lock was granted before the fence"
if dmesg_has 'jid=.*: Replaying'; then die "a journal was replayed before its node was fenced"; fi
tell failing ""
wait_for 60 test -e "$SHARED/draining"
kill -0 $touch || die "the lock was granted before the storage of the target had completed its requests"
if dmesg_has 'jid=.*: Replaying'; then die "a journal was replayed before the I/O of its node had ended"; fi
lab barrier still --nodes 1,2 --timeout 60 || die "barrier still"
wait $touch || die "touch failed"
lab barrier recovered --nodes 1,2 --timeout 60 || die "barrier recovered"
took "fenced and recovered"
cat /run/fence.log
dmesg | grep -E 'gfs2: .*jid=' | tail -n 8
dmesg_has 'jid=.*: Journal replayed in' || die "no journal was replayed"
all_synced
run dd if=/dev/urandom of=$DIR/on bs=64k count=16 conv=fsync status=none
run umount $DIR
run fsck.gfs2 -n $DISK
took "fsck"
lab barrier unmounted --nodes 1,2 --timeout 60 || die "barrier unmounted"
lab barrier started --nodes 1,2 --timeout 180 || die "barrier started"
# mount finds the disk in /etc/fstab.
run mount $DIR
come_back
