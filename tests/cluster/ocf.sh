#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 600 --with pacemaker
# short: resource agents pass ocf-tester and the metadata schemas; start, monitor and stop work as Pacemaker calls them; monitor reports failures
. ../lib/lab.sh
. ../lib/rnbd.sh

AGENTS=/usr/lib/ocf/resource.d/rnbd
export OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE=data OCF_RESKEY_CRM_meta_timeout=30000
DISK=("address=$ADDR" export=disk0 queues=1)

# agent STATUS AGENT ACTION [NAME=VALUE...]: run an agent, which must exit with STATUS; set $said to
# its output. NAME is a parameter of the resource; if it begins with OCF_, it is an environment
# variable.
agent() {
	local want=$1 agent=$2 action=$3 status value environment=()

	shift 3
	for value; do
		[[ $value = OCF_* ]] || value=OCF_RESKEY_$value
		environment+=("$value")
	done
	said=$(env "${environment[@]}" "$AGENTS/$agent" "$action" 2>&1)
	status=$?
	[ $status = "$want" ] || die "$agent $action $*: $status, not $want: $said"
}
says() { [[ $said = *"$1"* ]] || die "the output is '$said', without '$1'"; }

# tester AGENT [NAME=VALUE...]: the agent must pass ocf-tester of the package resource-agents
tester() {
	local agent=$1 value options=()

	shift
	for value; do options+=(-o "$value"); done
	said=$(ocf-tester -n "$OCF_RESOURCE_INSTANCE" "${options[@]}" "$AGENTS/$agent" 2>&1) ||
		die "ocf-tester ended with $?: $said"
	says "$AGENTS/$agent passed all tests"
	echo "$said"
}

# walk AGENT [NAME=VALUE...]: do the steps of ocf-tester one by one. "start" and "stop" must change
# the state of the resource, and must also succeed if it is already started or stopped.
walk() {
	local agent=$1 action

	shift
	echo "$agent: step by step"
	agent 0 "$agent" meta-data
	(cd /usr/share/resource-agents && xmllint --noout --relaxng metadata.rng - <<<"$said") ||
		die "meta-data do not match the schema of resource-agents"
	agent 0 "$agent" validate-all "$@"
	agent 3 "$agent" no-such-action "$@"
	for action in 7:monitor 0:stop 0:stop 7:monitor 0:start 0:monitor 0:start 0:monitor 0:stop 7:monitor \
		0:stop 7:monitor 0:start 0:stop; do
		agent "${action%:*}" "$agent" "${action#*:}" "$@"
	done
}

set_host_id
target_start
disk=$(null_disk 64) || exit 1
dmsetup create slow --table "0 $((64 << 11)) linear $disk 0" || die "dmsetup create"
export_disk disk0 /dev/mapper/slow
export_disk disk1 "$(null_disk 1)"
run rnbd save
run rnbd clear
unload

fence_rnbd -o metadata >"$OUT/metadata" || die "no metadata of fence_rnbd"
run xmllint --noout --relaxng /usr/share/cluster/relaxng/metadata.rng "$OUT/metadata"
tester target
agent 0 target start
tester disk "${DISK[@]}"
agent 0 target stop
# The agents must also work without the shell functions of resource-agents.
export OCF_FUNCTIONS_DIR=/nowhere
walk target
agent 5 target start config=/no/such
agent 0 target start
walk disk "${DISK[@]}"
unset OCF_FUNCTIONS_DIR
agent 6 disk start "address=$ADDR"

state() { cat /sys/block/rnbd0/rnbd/state; }
is() { [ "$(state)" = "$1" ]; }

echo "a disk that is attached, or has other options than configured"
agent 0 disk start "${DISK[@]}"
is live || die "it is $(state)"
same "$(cat /sys/block/rnbd0/rnbd/name)" data "name of the disk"
agent 0 disk monitor "${DISK[@]}" OCF_CHECK_LEVEL=10
agent 7 disk monitor "${DISK[@]}" name=other
agent 1 disk start "${DISK[@]}" queues=2
says "--queues 1, not 2"
exec 8</dev/rnbd0
agent 1 disk stop "${DISK[@]}" detach_wait=1
is live || die "it is $(state)"
exec 8<&-

echo "storage that hangs"
dmsetup suspend --noflush --nolockfs slow || die "dmsetup suspend"
agent 0 disk monitor "${DISK[@]}"
agent 1 disk monitor "${DISK[@]}" OCF_CHECK_LEVEL=10 CRM_meta_timeout=5000
says "cannot be read"
dmsetup resume slow
agent 0 disk monitor "${DISK[@]}" OCF_CHECK_LEVEL=10

echo "an export that does not exist"
run rnbd export disable disk0
wait_for 20 is reconnecting
agent 1 target monitor
says "export disk0 is not enabled"
agent 0 disk monitor "${DISK[@]}"
agent 0 disk monitor "${DISK[@]}" max_reconnect=600
agent 1 disk monitor "${DISK[@]}" OCF_CHECK_LEVEL=10
says "has no connection"
agent 1 disk monitor "${DISK[@]}" max_reconnect=0
agent 0 target start
agent 0 target monitor
wait_for 60 is live
agent 0 disk monitor "${DISK[@]}" max_reconnect=0 OCF_CHECK_LEVEL=10
agent 0 disk stop "${DISK[@]}"

echo "a disk in the state failed"
agent 0 disk start "${DISK[@]}" loss_timeout=9 wait=0
# This change is not saved. When the agent stops the target, the agent must store the change in
# target.json.last.
run rnbd export disable disk1
agent 0 target stop
same "$(jq -r '.exports[] | select(.enable | not) | .name' /etc/rnbd/target.json.last)" disk1 "kept"
agent 7 target monitor
wait_for 30 is failed
agent 1 disk monitor "${DISK[@]}"
says "rnbd0 is failed"
agent 1 disk start "${DISK[@]}" loss_timeout=9 wait=0
agent 7 disk monitor "${DISK[@]}"
agent 0 target start
agent 0 disk start "${DISK[@]}"
agent 0 disk monitor "${DISK[@]}" OCF_CHECK_LEVEL=10
verify /dev/rnbd0 --rw=randwrite --bs=4k --size=1m

agent 0 disk stop "${DISK[@]}"
agent 0 target stop
configfs_is_empty || die "something is left"
dmsetup remove slow
unload
