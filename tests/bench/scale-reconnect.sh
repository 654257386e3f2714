#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure how a thousand sessions reconnect after all of them have lost all connections at the same
# time. The script runs in a lab machine that counts instructions: all times are of the guest clock.
#
#   scripts/lab run --icount --possible-cpus 8 --append log_buf_len=16M --mem 8192 --timeout 10000 \
#       --out DIR tests/bench/scale-reconnect.sh SESSIONS [CONNECTIONS [WAY,...]]
#
# Client and target are one machine with two modelled adapters. Each session belongs to a host of
# its own and has one disk; all disks use the same export. If the memory does not suffice for
# SESSIONS sessions, the script makes fewer: the results contain their number, and fewer than 1,000
# miss the goal. A session has at most as many queues as the machine has possible processors.
#
# WAY says how the connections are lost and how the target becomes reachable again:
#   port      the port of the target is disabled and enabled again
#   unload    the configuration is saved, the module of the target is unloaded and loaded, and
#             the configuration is restored
# The target stays unreachable until each client has tried to reconnect at least three times. All
# times count from the line of the kernel log which says that the port listens. $OUT/list.WAY is the
# output of rnbd list --json after all sessions have reconnected.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh
# shellcheck source=tests/bench/scale.sh
. ./scale.sh

PART=reconnect
wanted=$1 connections=${2:-8}
IFS=, read -ra ways <<<"${3:-port,unload}"
RESERVE=$((512 << 10))	# KiB that must be available for another session
DEADLINE=600		# seconds; time limit of each wait, longer than the goal
# Small sessions, because both ends of all sessions are in one machine.
options=(--queues "$connections" --queue-depth 16 --ring-slots 8 --pool 1M --max-io 64K --loss-timeout 0)

ADDR=$MDL_TARGET
set_host_id
# Messages on the console take processor time, and the kernel log has them, too.
dmesg -n 4
adapter_load dma=direct timed=Y round_trip_ns=2500
adapter_up profile=mlx5
modprobe rnbd || die "modprobe rnbd failed"
exec {tick}<> <(:)

# load_target: load the target module with limits so high that only the memory of the machine limits
# the number of sessions
load_target() {
	target_start
	parameter rnbd_target pool_limit_mb 1048576
	parameter rnbd_target queue_limit_mb 1048576
	parameter rnbd_target max_sessions 65536
	parameter rnbd_target max_queues "$connections"
}
load_target
disk=$(null_disk 64 memory_backed=0 discard=0) || exit 1
export_disk shared "$disk"
make_hosts 1 "$wanted"
allow_hosts shared 1 "$wanted"

rm -f "$OUT/results"
uname -r >"$OUT/kernel"
devs=() number=0
while [ $number -lt "$wanted" ]; do
	available
	if [ "$kib" -lt $RESERVE ]; then
		lab log "reconnect: limited to $number sessions: $kib KiB are available"
		break
	fi
	number=$((number + 1))
	attach_session $number shared "${options[@]}"
done
granted=$(counter "${devs[1]}" queues)
[ "$granted" = "$connections" ] ||
	die "only $granted connections per session; are there $connections possible processors?"

queue_pairs() {
	rdma resource show | awk '{ for (i = 1; i < NF; i++) if ($i == "qp") n += $(i + 1) } END { print n + 0 }'
}
pairs=0 last=-1
# The client can make further connections of a session after the attach has returned: wait until the
# number of queue pairs no longer changes.
while [ "$pairs" != "$last" ]; do
	last=$pairs
	sleep 2
	pairs=$(queue_pairs)
done
DETAILS=$(jq -nc --argjson wanted "$wanted" --argjson connections "$granted" --argjson pairs "$pairs" \
	--argjson mib "$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)" \
	'{ $wanted, $connections, queue_pairs: $pairs, machine_mib: $mib }')
figure "sessions that were made" $number sessions ">=" 1000

# each FILE RELATION VALUE: check the sysfs attribute FILE of the disks from ${devs[next]} on; fail
# at the first disk for which the relation does not hold, with the index of this disk in $next. The
# function starts no process.
each() {
	local value

	while [ $next -le $number ]; do
		read -r value <"/sys/block/${devs[next]##*/}/rnbd/$1" && test "$value" "$2" "$3" || return 1
		next=$((next + 1))
	done
}

# until_each SECONDS FILE RELATION VALUE: wait until each disk has met the condition once
until_each() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) next=1

	until each "${@:2}"; do
		[ ${EPOCHREALTIME/[.,]/} -lt $end ] ||
			die "not within $1 s: $2 of ${devs[next]}: $(counter "${devs[next]}" "$2"), $(counter "${devs[next]}" last_error)"
		read -rt 0.2 -u "$tick"
	done
}

# until_all_queue_pairs SECONDS: wait until there are as many queue pairs as before the loss
until_all_queue_pairs() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))

	until [ "$(queue_pairs)" = "$pairs" ]; do
		[ ${EPOCHREALTIME/[.,]/} -lt $end ] || die "not within $1 s: $(queue_pairs) of $pairs queue pairs"
		read -rt 0.5 -u "$tick"
	done
}

refused() { grep -H . $T/refused/* | awk -F '[/:]' '{ printf "{\"%s\":%d}\n", $(NF - 1), $NF }' | jq -sc add; }

lose_port() { echo 0 >"$port/enable" || die "the port cannot be disabled"; }
return_port() { echo 1 >"$port/enable" || die "the port does not listen"; }

lose_unload() {
	run rnbd save "$OUT/target.json"
	run rnbd clear --force
	wait_for 300 rmmod rnbd_target
}
return_unload() {
	load_target
	run rnbd restore "$OUT/target.json"
}

# logins FILE: print the number of logins that a kernel log has after the port listens, and the
# largest number of logins within one second
logins() {
	tr -d '[]' <"$1" | awk '
		/rnbd-target: port .*: listening on / { n = 0; first = 1; most = 0 }
		/rnbd-target: session .* logged in on port / {
			at[++n] = $1
			while (at[n] - at[first] >= 1) first++
			if (n - first + 1 > most) most = n - first + 1
		}
		END { print n + 0, most + 0 }'
}

# one WAY: let all sessions lose their connections in this way, and measure how they reconnect
losses=0
one() {
	local way=$1 before port since total peak summary extra

	port=$(dirname "$(grep -lx "$ADDR" "$CFG"/ports/*/addr)")
	before=$(refused)
	lose_"$way"
	until_each 120 state != live
	until_each 120 attempt -ge 3
	return_"$way"
	[ "$way" != unload ] || before='{}'
	until_each $DEADLINE state = live
	# A disk is live with the first connection of its session: also wait for the further ones.
	until_all_queue_pairs $DEADLINE
	echo "scale: all connections" >/dev/kmsg
	rnbd list --json >"$OUT/list.$way" || die "rnbd list failed"
	echo "scale: listed" >/dev/kmsg
	losses=$((losses + 1))
	dmesg >"$OUT/log.$way"
	since=$(tr -d '[]' <"$OUT/log.$way" | awk '
		/rnbd-target: port .*: listening on / { from = $1 }
		/scale: all connections/ { all = $1 }
		/scale: listed/ { to = $1 }
		END { if (from) printf "%.3f %.3f", to - from, all - from }')
	[ -n "$since" ] || die "the kernel log is too short: log_buf_len=16M"
	read -r total peak < <(logins "$OUT/log.$way")
	[ "$total" -ge $number ] || die "the kernel log has only $total logins: log_buf_len=16M"

	# The mark "listed" is written after the list was made, so the computed times can be too
	# long but not too short.
	summary=$(jq -c --argjson since "${since% *}" --argjson logins "$total" '
		(map($since - .state_ms / 1000) | sort) as $times | length as $n | {
			sessions: $n, logins: $logins,
			median: $times[$n / 2 | floor], p99: $times[$n - 1 - ($n / 100 | floor)],
			last: $times[-1],
			attempts: (map(.attempt) | add), most_attempts: (map(.attempt) | max)
		}' "$OUT/list.$way")
	extra=$(jq "(map(.reconnects) | add) - $number * $losses" "$OUT/list.$way")
	DETAILS=$(jq -c --argjson before "$before" --argjson after "$(refused)" \
		'.refused = ($after | with_entries(.value -= ($before[.key] // 0) | select(.value > 0)))' <<<"$summary")
	figure "$way, $number sessions: the last is live after" "$(jq .last <<<"$summary")" s "<=" 30
	figure "$way: half of them are live after" "$(jq .median <<<"$summary")" s
	figure "$way: all connections are there after" "${since#* }" s "<=" 30
	figure "$way: attempts of all clients" "$(jq .attempts <<<"$summary")" attempts
	figure "$way: most attempts of a client" "$(jq .most_attempts <<<"$summary")" attempts
	figure "$way: logins of the target, most in a second" "$peak" logins
	figure "$way: sessions that were lost once more" "$extra" times
	for dev in "${devs[1]}" "${devs[number / 2 + 1]}" "${devs[number]}"; do works "$dev"; done
}

for way in "${ways[@]}"; do one "$way"; done
for i in "${!devs[@]}"; do
	same "$(counter "${devs[i]}" violations)" 0 "violations that session $i has seen"
done
detach_all
no_violations
