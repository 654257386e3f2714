#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 480
# turns: 3
# adapter: also
# short: four disks of one target share a session until the last detach; contradicting options are refused; --new-session makes another one
. ../lib/lab.sh
. ../lib/rnbd.sh

HOST=$CFG/hosts/$(host_id 1)
T=/sys/kernel/rnbd-target/sessions

# client_sessions, target_sessions: print how many sessions the client has, or how many the target
# has
client_sessions() { rnbd list --json | jq '[.[].session_id] | unique | length'; }
target_sessions() { rnbd session list --target --json | jq 'map(select(.state == "live")) | length'; }
# session KEY: print the value KEY of the only live session of the target
session() { rnbd session list --target --json | jq -er "map(select(.state == \"live\")) | if length == 1 then .[0].$1 else empty end"; }
no_session() { [ -z "$(ls $T)" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# sessions_are NUMBER DISKS: fail unless both ends have NUMBER sessions and the client has DISKS
# disks
sessions_are() {
	same "$(rnbd list --json | jq length)" "$2" "disks"
	same "$(client_sessions)" "$1" "sessions of the client"
	wait_for 10 target_has "$1"
}
target_has() { [ "$(target_sessions)" = "$1" ]; }

# load I: start a checker, which writes to disk I, reads and verifies it until it is stopped
load() {
	gencheck run --journal "/dev/shm/journal$1" --writer $(($1 + 1)) --threads 4 --io 1-16 --time 100000 \
		"${dev[$1]}" >"$OUT/gencheck$1" 2>&1 &
	pid[$1]=$!
}

# moves I...: fail unless the checkers of these disks run and requests of each disk complete
moves() {
	local i before
	for i; do
		before=$(completed "${dev[i]}")
		wait_for 20 completed_over "${dev[i]}" $((before + 50))
		kill -0 "${pid[i]}" 2>/dev/null || die "gencheck on ${dev[i]} ended: $(cat "$OUT/gencheck$i")"
	done
}

# stop I...: stop the checkers of these disks; fail if there was an error or if the disks have wrong
# data
stop() {
	local i
	for i; do
		kill "${pid[i]}"
		wait "${pid[i]}" || die "${dev[i]}: $(cat "$OUT/gencheck$i")"
		gencheck verify --journal "/dev/shm/journal$i" "${dev[i]}" >"$OUT/verify$i" ||
			die "${dev[i]}: $(cat "$OUT/verify$i")"
	done
}

# contradicts VALUE OPTION [WANTED]: an attach with this option must be refused in one line that
# names the option and VALUE, the value of the session. "-" as VALUE means that the session does not
# have the option.
contradicts() {
	local text want="${*:2}: the session has $1; omit it, or use --new-session"
	[ "$1" != - ] || want="$2: the session does not have it; omit it, or use --new-session"
	if text=$(rnbd attach "$ADDR" disk4 "${@:2}" 2>&1); then die "attached in spite of ${*:2}: $text"; fi
	echo "  $text"
	same "$(wc -l <<<"$text")" 1 "lines of the error message for ${*:2}"
	[[ $text = *" $want" ]] || die "${*:2}: the error message is not '$want': $text"
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
for i in 0 1 2 3 4; do
	disk=$(null_disk 16) || exit 1
	export_disk "disk$i" "$disk"
done
none=$(rdma_own)
dev=() pid=()

note "four disks with different options share one session, counted at both ends"
options=(--queues 2 --pool 8M --pool-floor fixed --keepalive 1000)
dev[0]=$(attach disk0 "${options[@]}") || exit 1
sessions_are 1 1
one=$(rdma_own)
dev[1]=$(attach disk1 --policy fail) || exit 1
dev[2]=$(attach disk2 --loss-timeout 60 --fast-io-fail 30) || exit 1
# Options that are equal to those of the session are accepted.
dev[3]=$(attach disk3 --name fourth "${options[@]}") || exit 1
sessions_are 1 4
same "$(cat "$HOST/sessions")" 1 "sessions of the host"
for i in 0 1 2 3; do
	same "$(cat "$CFG/exports/disk$i/sessions")" 1 "attachments of disk$i"
	same "$(counter "${dev[i]}" session_id)" "$(counter "${dev[0]}" session_id)" "session of ${dev[i]}"
	need "${dev[i]}" queues -eq 2
	need "${dev[i]}" pool_units -eq 2048
done
same "$(session pool_bytes)" $((8 << 20)) "bytes of the pool"
same "$(counter "${dev[1]}" policy) $(counter "${dev[2]}" policy)" "fail queue" "policies"
same "$(counter "${dev[2]}" loss_timeout) $(counter "${dev[3]}" loss_timeout)" "60 600" "time limits"
# A further disk adds no queue pair, connection id or memory region.
[ "$(rdma_own)" = "$one" ] || wait_for 5 rdma_own_is "$one"

note "verified I/O on all disks concurrently"
for i in 0 1 2 3; do load $i; done
moves 0 1 2 3

note "options that contradict the session are refused, also beside the load"
contradicts 2 --queues 1
contradicts 0 --poll-queues 1
contradicts 128 --queue-depth 64
contradicts 64 --ring-slots 32
contradicts 8K --slot-size 4K
contradicts 8M --pool 4M
contradicts fixed --pool-floor 2M
contradicts 1M --max-io 64K
contradicts 1000 --keepalive 500
contradicts 4K --inline-read 0
contradicts 4K --inline-write 1000
contradicts zero-copy --transfer copy
contradicts - --early-release
sessions_are 1 4
same "$(cat "$CFG/exports/disk4/sessions")" 0 "attachments of disk4"

note "--new-session makes a second one, which no other disk joins"
dev[4]=$(attach disk4 --new-session --queues 1 --pool 4M --pool-floor fixed) || exit 1
sessions_are 2 5
need "${dev[4]}" new_session -eq 1
need "${dev[4]}" queues -eq 1
need "${dev[4]}" pool_units -eq 1024
need "${dev[0]}" new_session -eq 0
load 4
moves 0 1 2 3 4
stop 4
detach "${dev[4]}"
sessions_are 1 4
dev[4]=$(attach disk4) || exit 1
sessions_are 1 5
same "$(counter "${dev[4]}" session_id)" "$(counter "${dev[0]}" session_id)" "session of the fifth disk"

note "a disk is detached, also by force under load: the others continue"
for round in 1 2 3 4; do
	load 4
	moves 4
	if [ $((round % 2)) = 0 ]; then
		rnbd detach "${dev[4]}" --force || die "forced detach failed"
		wait_for 20 ended "${pid[4]}"
		wait "${pid[4]}" && die "the checker saw no error"
		[ ! -e "/sys/block/${dev[4]##*/}" ] || die "${dev[4]} is still there"
	else
		stop 4
		detach "${dev[4]}"
	fi
	moves 0 1 2 3
	sessions_are 1 4
	# The target has possibly executed some of the writes that were in flight at the detach. So
	# the checker takes the blocks that it finds after the next attach as the new state
	# (--adopt).
	dev[4]=$(attach disk4) || exit 1
	gencheck verify --journal /dev/shm/journal4 --adopt "${dev[4]}" >"$OUT/verify4" ||
		die "${dev[4]}: $(cat "$OUT/verify4")"
done
for i in 0 1 2 3; do need "${dev[i]}" connections_lost -eq 0; done
stop 0 1 2 3
for i in 0 1 2; do detach "${dev[i]}"; done
sessions_are 1 2
works "${dev[3]}"

note "the last detach ends the session"
detach "${dev[4]}"
sessions_are 1 1
detach "${dev[3]}"
wait_for 20 no_session
wait_for 20 rdma_own_is "$none"

note "disks that are attached at the same time share one"
pids=()
for i in 0 1 2 3; do
	rnbd attach "$ADDR" "disk$i" >"$OUT/attach$i" 2>&1 &
	pids+=($!)
done
for i in 0 1 2 3; do wait "${pids[i]}" || die "disk$i: $(cat "$OUT/attach$i")"; done
sessions_are 1 4

note "no disk joins the session of a disk with --new-session"
run rnbd detach --all
wait_for 20 no_session
dev[0]=$(attach disk0 --new-session) || exit 1
dev[1]=$(attach disk1) || exit 1
sessions_are 2 2
works "${dev[0]}"
works "${dev[1]}"
detach "${dev[0]}"
detach "${dev[1]}"
wait_for 20 no_session
wait_for 20 rdma_own_is "$none"
configfs_clear
unload
