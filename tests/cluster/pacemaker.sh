#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 1024 --timeout 1500 --with pacemaker --ignore-report touch:[0-9]+.blocked.for.more.than
# short: GFS2 under Pacemaker: a paused node is fenced by fence_rnbd, refused when it resumes, and unfenced when it restarts
. ../lib/cluster.sh

# On a busy host corosync, Pacemaker and the agent can need more than a minute for the fence. The
# kernel then reports that the command touch, which waits for the fence, hangs: this is no failure.
TOKEN=$((5000 * ${LAB_SLOW:-1}))

# --- tasks that systemd, udev and scp do on real machines

is_online() { crm_mon -1 | grep -qF "Online: [ n2 n3 ]"; }
start_pacemaker() {
	start_corosync
	mkdir -p /dev/disk/by-id
	ln -sf ../../rnbd0 /dev/disk/by-id/rnbd-name-shared
	PCMK_logfile=$OUT/pacemaker.log pacemakerd >"$OUT/pacemakerd" 2>&1 &
	daemons+=($!)
	wait_for 180 is_online
}

before_command() {
	bring_keys "$1"
	case $1 in
	crm_mon*) start_pacemaker ;;
	"stonith_admin --list"*) wait_for 120 can_fence ;;
	"echo hello"* | "cat /srv"*) wait_for 240 mountpoint -q $DIR ;;
	esac
}
can_fence() { stonith_admin --list n3 | grep -q fencing; }

target() {
	local victim refused

	lab barrier load --timeout 300 || die "barrier load"
	wait_for 240 test -e "$SHARED/loaded"
	victim=$(told uuid)
	fenced_is no || die "the node is fenced"
	lab pause 3
	tell gone ""
	wait_for 240 fenced_is fenced
	lab barrier recovered --nodes 1,2 --timeout 240 || die "barrier recovered"

	# Node 3 resumes with writes that it has not sent; the target must refuse them. Node 3
	# possibly resets itself, when its cluster software finds that node 3 was fenced.
	refused=$(refusals)
	lab may-die 3
	lab resume 3
	wait_for 60 refused_over "$refused"
	fenced_is fenced || die "the node is $(rnbd fenced "$victim")"
	lab reset 3
	wait_for 240 fenced_is no
	barrier again 400
	barrier end 300
	configfs_clear
	unload
}

# load: create files on node 3 and report the number of each file that is synced
load() {
	local i=0

	mkdir $DIR/load
	tell uuid "$(rnbd hostid)"
	lab barrier load --timeout 300 || die "barrier load"
	while echo "$((++i))" >$DIR/load/new && sync $DIR/load/new &&
		mv $DIR/load/new "$DIR/load/$i" && sync $DIR/load; do
		tell synced "$i"
		[ $i != 5 ] || tell loaded ""
	done
	sleep infinity
}

in_history() { stonith_admin --history n3 --verbose | grep -q "$1"; }
survivor() {
	local touch

	lab barrier load --timeout 300 || die "barrier load"
	wait_for 240 test -e "$SHARED/gone"
	took "node 3 is paused"
	touch $DIR/load/survivor &
	touch=$!
	wait_for 240 sh -c "! kill -0 $touch 2>/dev/null"
	wait $touch || die "touch failed"
	took "fenced and recovered"
	cat /run/fence.log /run/dlm-fence.log
	grep -q "rnbd fence $(told uuid)" /run/fence.log || die "Pacemaker did not call the fence agent"
	# dlm_controld has possibly fenced node 3 first, so the fence by Pacemaker can still be
	# unfinished.
	wait_for 120 in_history 'reboot of n3 successful'
	dmesg_has 'jid=.*: Journal replayed in' || die "no journal was replayed"
	all_synced
	lab barrier recovered --nodes 1,2 --timeout 60 || die "barrier recovered"
	barrier again 400
	took "node 3 has rejoined"
	stonith_admin --history n3 --verbose | tee "$OUT/history"
	head -n 1 "$OUT/history" | grep -q 'unfencing of n3 successful' ||
		die "Pacemaker did not record the unfencing"
	run dd if=/dev/urandom of=$DIR/on bs=64k count=16 conv=fsync status=none
	md5sum <$DIR/on >"$SHARED/on"
}

# agent_known: Pacemaker must find the agent and validate its options, although no fencing device is
# configured yet
agent_known() {
	stonith_admin --list-installed | grep -qw fence_rnbd || die "Pacemaker does not find the agent"
	stonith_admin --metadata --agent fence_rnbd | grep -q '<action name="off"' || die "no metadata"
	run stonith_admin --validate --agent fence_rnbd --option ip=10.9.0.1
	refused stonith_admin --validate --agent fence_rnbd --option ip=10.9.0.1 --option power_timeout=no
	took "stonith_admin"
}

is_stopped() { [ ! -e "$DISK" ]; }

if [ "$NODE" = 1 ]; then
	mkdir -p /run/sshd /root/.ssh
	chmod 700 /root/.ssh
	run /usr/sbin/sshd
fi
if [ "$LAB_BOOT" = 1 ]; then
	disk_from_document
	UP_TO=corosync-quorumtool from_document GFS2 "token: 5000" "token: $TOKEN" \
		"storage /usr/sbin/fence_rnbd" "storage /usr/sbin/fence_rnbd debug_file=/run/dlm-fence.log"
	[ "$NODE" != 2 ] || agent_known
	[ "$NODE" = 1 ] || tar -C / -cf "$SHARED/n$NODE.tar" etc/rnbd etc/corosync etc/dlm root/.ssh
	WALK_TIMEOUT=400 from_document Pacemaker "identity_file=" "debug_file=/run/fence.log identity_file="
	case $NODE in
	1)
		target
		exit 0
		;;
	2) survivor ;;
	3) load ;;
	esac
else
	# Restore the files that a real machine has on its disk; Pacemaker does the rest.
	run tar -C / -xf "$SHARED/n$NODE.tar"
	mkdir -p $DIR
	start_pacemaker
	wait_for 240 mountpoint -q $DIR
	barrier again 400
fi

both written 120
same "$(md5sum <$DIR/on)" "$(told on)" "data that node 2 has written"
both read
if [ "$NODE" = 2 ]; then
	crm_mon -1
	run pcs resource disable shared-clone
fi
wait_for 120 is_stopped
both stopped 120
took "stopped"
if [ "$NODE" = 2 ]; then
	disk=$(attach shared) || exit 1
	run fsck.gfs2 -n "$disk"
	detach "$disk"
fi
both checked 120
kill "${daemons[1]}"
wait "${daemons[1]}"
kill "${daemons[0]}"
wait
unload
barrier end 300
