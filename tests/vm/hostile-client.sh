#!/bin/bash
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# short: a client that breaks every rule ends its own session, and nobody else notices
. ./lib.sh
. ./rnbd.sh

set_host_id
target_start
# hundreds of sessions, each of which breaks a rule, are more than a host may have
echo 0 >/sys/module/rnbd_target/parameters/login_rate || die "parameter"
export_disk hostile "$(null_disk 64)" 2 3 5
export_disk fixed "$(null_disk 64)" 2 3 -- --read-only
export_disk slow "$(null_disk 16 irqmode=2 completion_nsec=300000000)" 2 3
export_disk secret "$(null_disk 16)" 1
export_disk open "$(null_disk 16)" 4
rnbd secret generate "$OUT/secret" || die "no secret"
rnbd host secret "$(host_id 5)" --secret-file "$OUT/secret" || die "no secret for host 5"

rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"

note "a lawful client works all the while"
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
# shellcheck disable=SC2086 # a choice of cases, or none
rnbd-peer client --monitor "$OUT/monitor" --verbose --secret "$OUT/secret" ${1:+--only "$1"} >"$OUT/cases" ||
	{ grep -B 5 FAILED "$OUT/cases"; tail -n 1 "$OUT/cases"; die "the target is wrong, or the peer"; }
note "$(tail -n 1 "$OUT/cases"), $(((${EPOCHREALTIME/[.,]/} - start) / 1000000)) s"

: >"$OUT/end"
wait $worker || die "the lawful client's data"
need_counter "$(cat "$OUT/rounds")" -ge 1 "rounds of the lawful client"
same "$(counter "$dev" lost)" 0 "connections that the lawful client lost"
same "$(rnbd session list --json | jq length)" 1 "sessions that are left"
rdma_own_is "$resources" || wait_for 20 rdma_own_is "$resources"
same "$(dmesg | grep -c 'broke the protocol on queue' | sed 's/^[1-9][0-9]*$/some/')" some "kernel log"
need_counter "$(cat "$CFG/hosts/$(host_id 5)/failed_proofs")" -ge 9 "failed proofs"
kill $monitor
detach "$dev"
configfs_clear
unload
