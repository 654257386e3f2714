#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 900
# turns: 3
# short: a client that breaks any protocol rule loses its own session; a well-behaved client of the same target loses nothing
. ../lib/lab.sh
. ../lib/rnbd.sh

# set_target PARAMETER VALUE: set a module parameter of the target
set_target() { echo "$2" >"/sys/module/rnbd_target/parameters/$1" || die "parameter $1"; }

set_host_id
target_start
# No rate limit of logins: the cases need hundreds of sessions of one host.
set_target login_rate 0
# Seconds for which a claim reserves memory for a session that has lost its connection. The time is
# short, because the last cases need that memory.
CLAIM=5
set_target claim_timeout $CLAIM
export_disk hostile "$(null_disk 64)" 2 3 5
fixed=$(null_disk 64) || exit 1
slow=$(null_disk 16 irqmode=2 completion_nsec=300000000) || exit 1
stable=$(null_disk 16 irqmode=2 completion_nsec=300000000) || exit 1
echo 1 >"/sys/block/${stable##*/}/queue/stable_writes" || die "no stable_writes"
export_disk fixed "$fixed" 2 3 -- --read-only
export_disk slow "$slow" 2 3 5
export_disk stable "$stable" 2
export_disk secret "$(null_disk 16)" 1
export_disk open "$(null_disk 16)" 4
export_disk owned "$(null_disk 16)" 2 -- --exclusive
# Exports for the case detach-many of rnbd-peer
for ((i = 0; i < 24; i++)); do export_disk "many$i" "$(null_disk 16)" 2; done
rnbd secret generate "$OUT/secret" || die "no secret"
rnbd host secret "$(host_id 5)" --secret-file "$OUT/secret" || die "no secret for host 5"

# peer ARGUMENT...: run rnbd-peer as a client
peer() { rnbd-peer client --monitor "$OUT/monitor" --verbose --secret "$OUT/secret" "$@"; }

# done_by DISK: print the counters of the disk: reads, writes, requests in flight, discards, flushes
done_by() { awk '{ print $1, $5, $9, $12, $16 }' "/sys/block/${1##*/}/stat"; }
# busy DISK WRITES: succeed if the disk has completed at least WRITES writes and has at least 4
# requests in flight
busy() {
	local counts
	read -ra counts <<<"$(done_by "$1")"
	[ "${counts[1]}" -ge "$2" ] && [ "${counts[2]}" -ge 4 ]
}

# until_done CASE COMMAND...: when the command returns, the storage must have completed all
# requests of the peer and must get no more, although the peer keeps sending
until_done() {
	local before
	before=$(done_by "$slow" | cut -d " " -f 2)
	peer --only "until-$1" >"$OUT/$1" &
	peer=$!
	wait_for 20 busy "$slow" $((before + 32))
	run "${@:2}"
	before=$(done_by "$slow")
	wait $peer || { cat "$OUT/$1"; die "a case of rnbd-peer failed"; }
	same "$(cut -d " " -f 3 <<<"$before")" 0 "requests in flight"
	same "$(done_by "$slow")" "$before" "requests of the disk"
	note "$1: the session ended, the counters of the disk stay at $before"
}

rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"

note "a well-behaved client works during all cases"
dev=$(attach secret) || exit 1
resources=$(rdma_own)
{
	rounds=0
	while [ ! -e "$OUT/end" ]; do
		verify "$dev" --rw=randrw --bs=4k --iodepth=2 --size=256k --rate_iops=50
		rounds=$((rounds + 1))
		echo $rounds >"$OUT/rounds"
	done
} &
worker=$!

start=${EPOCHREALTIME/[.,]/}
# These kinds of messages are rate limited in the log. Run one case of each first, so that its
# message is logged.
peer --only '@(cm-magic|cm-host-unknown|attach-name-open|login-queues-0|login-pool-0|attach-to-nothing)' >"$OUT/first" ||
	{ cat "$OUT/first"; die "a case of rnbd-peer failed"; }
for text in "refused: the peer does not speak this protocol" "queue 0 refused: this host is not allowed" \
	"queue 0: invalid export name" "queue 0: ring slots, slot size" \
	"queue 0: login, export or pool properties" \
	"export \"nothing\" on port .* refused: the port offers no"; do
	dmesg_has "$text" || die "not in the log: $text"
done
# shellcheck disable=SC2086 # a choice of cases, or none
peer ${1:+--only "$1"} >"$OUT/cases" ||
	{ grep -B 5 FAILED "$OUT/cases"; tail -n 1 "$OUT/cases"; die "a case of rnbd-peer failed"; }
note "$(tail -n 1 "$OUT/cases"), $(((${EPOCHREALTIME/[.,]/} - start) / 1000000)) s"

same "$(rnbd export owner owned)" none "owner after the owner has detached"
same "$(done_by "$fixed" | cut -d " " -f 2,4,5)" "0 0 0" "writes, discards and flushes of the read-only disk"
until_done forbidden rnbd export deny slow "$(host_id 2)"
rnbd secret generate "$OUT/other" || die "no secret"
until_done changed rnbd host secret "$(host_id 5)" --secret-file "$OUT/other"

: >"$OUT/end"
wait $worker || die "the well-behaved client has wrong data"
need_counter "$(cat "$OUT/rounds")" -ge 1 "rounds of the well-behaved client"
same "$(counter "$dev" connections_lost)" 0 "connections that the well-behaved client lost"
same "$(rnbd session list --target --json | jq length)" 1 "sessions that are left"
rdma_own_is "$resources" || wait_for 20 rdma_own_is "$resources"
need_counter "$(cat "$CFG/hosts/$(host_id 5)/authentication_failures")" -ge 9 "authentication failures"
detach "$dev"

note "two clients need more memory than the limit"
# The sessions of the earlier cases have left claims. Wait until the claims have expired, and until
# the timer of the target, which runs once a second, has ended the claims.
set_target claim_timeout 0
sleep $((CLAIM + 2))
set_target reclaim_timeout_ms 1000
set_target pool_limit_mb 4
# reclaims CASE: run a case in which the target must reclaim memory
reclaims() {
	peer --only "until-$1" >"$OUT/$1" || { cat "$OUT/$1"; die "a case of rnbd-peer failed"; }
	cat "$OUT/$1"
}
reclaims reclaimed
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "clients that did not return memory in time"
export_disk crawling "$(null_disk 16 irqmode=2 completion_nsec=3000000000)" 2
reclaims reclaimed-slow
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "clients that did not return memory in time"
reclaims late
reclaims late-using
reclaims late-no-credits
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 3 "clients that did not return memory in time"
kill $monitor
configfs_clear
unload
