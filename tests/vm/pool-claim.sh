#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 3
# without: event, because it makes other sessions reconnect
# short: a session that reconnects keeps its place and its floor by a claim; without claims another host can take both
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# While a session reconnects, a claim reserves its floor, so that the sum of all floors never
# exceeds the memory for pools. In this test the floors of two hosts use all this memory.
# kill_queue ends the connection of the first host, and the rate limit for logins delays its
# reconnect while a third host tries to attach.
MIB=$((1 << 20))

set_host_id
target_start
param rnbd_target pool_limit_mb 8
param rnbd_target login_rate 0
disk=$(null_disk 32) || exit 1
export_disk first "$disk" 1
disk=$(null_disk 32) || exit 1
export_disk second "$disk" 2
disk=$(null_disk 32) || exit 1
export_disk third "$disk" 3 4
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd

# kill_queue acts on the session that sends the next keep-alive. Only the first session has a short
# keep-alive interval, so kill_queue acts on it.
second=$(attach second --queues 1 --pool 7M --pool-floor fixed --keepalive 60000 --host-id "$(host_id 2)") || exit 1
common=(--queues 1 --pool 4M)
first=$(attach first "${common[@]}" --keepalive 500) || exit 1
same "$(pools_charged)" $((8 * MIB)) "bytes that are charged"
checker first 1 "$first" --threads 4 --io 1-64

# only_live NUMBER: the target has NUMBER sessions, and all are live; for wait_for
only_live() {
	[ "$(find $SESSIONS -mindepth 1 -maxdepth 1 | wc -l)" = "$1" ] &&
		[ "$(cat $SESSIONS/*/state | sort -u)" = live ]
}
# lose: end the connection of the first session; the rate limit delays its logins until come_back is
# called
lose() {
	before=$(completed "$first")
	wait_for 20 completed_over "$first" $((before + 20))
	param rnbd_target login_burst 1
	param rnbd_target login_rate 1
	rnbd discover "$ADDR" >/dev/null || die "no list of exports"
	lost=$(counter "$first" connections_lost)
	strike rnbd kill_queue 1 0
	wait_for 20 counter_over "$first" connections_lost "$lost"
	wait_for 30 only_live 1
	same "$(counter "$second" connections_lost)" 0 "connections that the second disk lost"
	same "$(pools_charged)" $((7 * MIB)) "bytes of the session that is live"
	same "$(counter "$first" state)" reconnecting "state of the first disk"
}
come_back() { param rnbd_target login_rate 0; }
live() { counter_is "$first" state live; }
attach_third() { rnbd attach "$ADDR" third "${common[@]}" --host-id "$(host_id "$1")" --wait 0; }

# refused PATTERN: the attach of the third host fails with a message that matches PATTERN
refused() {
	local text

	if text=$(attach_third 3 2>&1); then die "another session was granted memory or the place of the claim: $text"; fi
	echo "  $text"
	grep -q "$1" <<<"$text" || die "unexpected message: $text"
}

note "the session has a claim on its place and on its floor"
lose
param rnbd_target max_sessions 2
refused "limit on sessions"
param rnbd_target max_sessions 4096
refused "no memory left for the buffer pool"
come_back
wait_for 30 live
need "$first" pool_units -eq 256
before=$(completed "$first")
wait_for 30 completed_over "$first" $((before + 20))

note "without claims, another host takes place and memory, and the first one cannot reconnect"
param rnbd_target claim_timeout 0
lose
param rnbd_target max_sessions 2
third=$(attach_third 3) || die "no place or no memory although no session has a claim"
param rnbd_target max_sessions 4096
come_back
left_out() { counter "$first" last_error | grep -q "no memory left for the buffer pool"; }
wait_for 30 left_out
counter "$first" last_error
same "$(counter "$first" state)" reconnecting "state of the first disk"
detach "$third"
wait_for 60 live

note "a claim ends with its time"
param rnbd_target claim_timeout 2
lose
attached() { third=$(attach_third 4 2>/dev/null); }
wait_for 30 attached
detach "$third"
come_back
wait_for 60 live
checker_end first "$first"

note "a session whose disks are detached leaves no claim"
param rnbd_target claim_timeout 60
detach "$first"
detach "$second"
none() { [ -z "$(find $SESSIONS -mindepth 1 -maxdepth 1)" ]; }
wait_for 30 none
third=$(attach third --queues 1 --pool 8M --pool-floor fixed --host-id "$(host_id 4)") || exit 1
# A host may use seven eighths of the memory for pools.
need "$third" pool_units -eq 1792
detach "$third"
configfs_clear
unload
