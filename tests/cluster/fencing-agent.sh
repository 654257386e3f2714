#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 300
# short: fence_rnbd by ssh succeeds only once both targets have fenced a host under load; the disks do not change after that; the host can be unfenced
. ../lib/lab.sh
. ../lib/rnbd.sh

# Nodes 1 and 2 are targets; node 3 attaches one disk of each target. The agent runs on node 1. It
# fences node 3 at target 1 directly, and at target 2 by ssh with a key that only allows fence_rnbd.
MIB=16
TARGETS=10.9.0.1,10.9.0.2
HOST=$(host_id 3)

# targets NAME [SECONDS]: wait until both targets have reached barrier NAME
targets() { lab barrier "$1" --nodes 1,2 --timeout "${2:-60}" || die "barrier $1"; }

load() {
	fio --name=load --filename="$1" --direct=1 --ioengine=libaio --rw=randwrite --bs=4k --iodepth=4 \
	    --size=${MIB}m --refill_buffers --time_based --runtime=3600 --minimal >"$OUT/load.${1##*/}" 2>&1 &
}

state() { cat "/sys/block/${1##*/}/rnbd/state"; }
failed() { [ "$(state "$1")" = failed ]; }

attach_both() {
	a=$(rnbd attach 10.9.0.1 disk0 --keepalive 500) || die "attach at n1"
	b=$(rnbd attach 10.9.0.2 disk0 --keepalive 500) || die "attach at n2"
}

client() {
	barrier exported
	modprobe rnbd || die "modprobe"
	attach_both
	load "$a"
	load "$b"
	wait_for 30 counter_over "$a" requests 100
	wait_for 30 counter_over "$b" requests 100
	barrier loaded 120
	barrier fenced 200
	wait_for 60 failed "$a"
	wait_for 60 failed "$b"
	wait
	said=$(rnbd attach 10.9.0.2 disk0 2>&1) && die "the fenced host attached"
	[[ $said = *"this host is fenced"* ]] || die "unexpected message: $said"
	barrier refused
	barrier unfenced 120
	{ failed "$a" && failed "$b"; } || die "disks reconnected"
	detach "$a"
	detach "$b"
	attach_both
	verify "$b" --rw=randwrite --bs=4k --size=1m
	detach "$a"
	detach "$b"
	barrier over
	unload
}

target() {
	target_start
	disk=$(null_disk $MIB) || exit 1
	dmsetup create slow --table "0 $((MIB << 11)) linear $disk 0" || die "dmsetup create"
	rnbd export add disk0 --path /dev/mapper/slow --host "$HOST" --port "10.9.0.$NODE" || die "export"
}

end_target() {
	configfs_clear
	dmsetup remove slow
	unload
}

fenced() { [ "$(rnbd fenced "$HOST")" = fenced ]; }
sum() { dd if="$disk" bs=1M iflag=direct status=none | md5sum; }

# second_target: the steps of node 2. It suspends its storage, so that the fence cannot complete
# there, and resumes the storage after the agent has failed.
second_target() {
	local before

	mkdir -p /run/sshd /root/.ssh
	chmod 700 /root/.ssh
	barrier key
	echo "restrict,command=\"/usr/sbin/fence_rnbd --serve --hosts=n3:$HOST\" $(told key)" >/root/.ssh/authorized_keys
	/usr/sbin/sshd || die "no sshd"
	target
	barrier exported
	barrier loaded 120
	dmsetup suspend --noflush --nolockfs slow || die "dmsetup suspend"
	targets stuck
	targets undrained 120
	dmsetup resume slow
	targets drained
	# Once the target has fenced the host, the disk must not change, also in the time before the
	# agent reports the fence.
	wait_for 60 fenced
	before=$(sum)
	barrier fenced 120
	fenced || die "the host is: $(rnbd fenced "$HOST")"
	barrier refused 120
	same "$(sum)" "$before" "checksum of the disk"
	barrier unfenced 120
	barrier over 120
	end_target
}

# agent STATUS [OPTION...]: run the agent, which must exit with STATUS; set $said to its output
agent() {
	local want=$1 status start=$SECONDS

	shift
	said=$(fence_rnbd "$@" 2>&1)
	status=$?
	[ $status = "$want" ] || die "fence_rnbd $*: $status, not $want: $said"
	echo "  $((SECONDS - start)) s: fence_rnbd $*: ${said##*$'\n'}"
}
says() { [[ $said = *"$1"* ]] || die "the output lacks '$1': $said"; }

first_target() {
	local before

	mkdir -p /root/.ssh
	ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 || die "ssh-keygen"
	tell key "$(cat /root/.ssh/id_ed25519.pub)"
	# All lab machines have the same ssh host keys, because they share one root image.
	for i in 1 2 4; do echo "10.9.0.$i $(cut -d ' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub)"; done \
		>/root/.ssh/known_hosts
	barrier key
	target
	barrier exported
	echo "$HOST n3 3" >/etc/rnbd/hosts

	agent 0 -o metadata
	xmllint --noout - <<<"$said" || die "metadata are no XML"
	agent 0 -o validate-all -a $TARGETS -n n3
	agent 0 -o monitor -a $TARGETS
	agent 0 -o list -a $TARGETS
	says "n3,$HOST"
	agent 0 -o status -a $TARGETS -n n3
	ssh -o BatchMode=yes 10.9.0.2 touch /root/was-here && die "the key allows other commands"
	agent 1 -o off -a $TARGETS -n "$(host_id 4)"
	says "target 10.9.0.1"
	[[ $said != *"target 10.9.0.2"* ]] || die "the second target was called although the first had failed"

	echo "a target that does not exist; one whose storage has not completed its requests"
	barrier loaded
	agent 1 -o monitor -a $TARGETS,10.9.0.4 --login-timeout 3
	says "target 10.9.0.4: host (any): monitor: not reached by ssh"
	targets stuck
	agent 1 -a $TARGETS -n n3 --power-timeout 15
	says "target 10.9.0.2: host $HOST: off: "
	fenced || die "the host is: $(rnbd fenced "$HOST")"
	agent 0 -o status -a $TARGETS -n n3
	targets undrained
	targets drained
	echo "options as dlm_controld passes them"
	said=$(printf '%s\n' ip=$TARGETS node=3 fail_time=1700000000 | fence_rnbd 2>&1) || die "not fenced: $said"
	echo "  $said"
	before=$(sum)
	barrier fenced
	agent 2 -o status -a $TARGETS -n n3
	agent 1 -o status -a $TARGETS,10.9.0.4 -n n3 --login-timeout 3
	barrier refused 120
	same "$(sum)" "$before" "checksum of the disk"

	said=$(printf '%s\n' ip=$TARGETS node=3 action=on | fence_rnbd 2>&1) || die "not unfenced: $said"
	agent 0 -o status -a $TARGETS -n n3
	barrier unfenced
	barrier over 120
	end_target
}

set_host_id
case $NODE in
1) first_target ;;
2) second_target ;;
3)
	barrier key
	client
	;;
esac
