#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A thousand sessions lose all connections at once and reconnect; runs in a lab machine that counts
# instructions, so that all times are the guest's:
#
#   scripts/lab run --icount --possible-cpus 8 --append log_buf_len=16M --mem 8192 --timeout 10000 \
#       --out DIR tests/bench/scale-reconnect.sh SESSIONS [CONNECTIONS [WAY,...]]
#
# Client and target are one machine with two modelled adapters; each session is that of another
# host and has one disk, all of the same export. If the memory does not suffice for SESSIONS, there
# are fewer: the results say how many, and the goal is missed with fewer than 1,000. A session has one
# queue per possible processor, at most.
#
# WAY is how connections are lost and may return:
#   port      the port of the target is disabled and enabled again
#   unload    the configuration is saved, the target's module is unloaded and loaded, and the
#             configuration is restored
# The target stays away until each client has tried to reconnect three times. Then the time begins
# at which the port listens, as the kernel's log has it. $OUT/list.WAY has all disks at the end.
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
DEADLINE=600		# seconds for all sessions to return, beyond the goal
# Small, because both ends of all sessions are in one machine.
options=(--queues "$connections" --queue-depth 16 --ring-slots 8 --pool 1M --max-io 64K --loss-timeout 0)

ADDR=$MDL_TARGET
set_host_id
# The console takes time of the processor; the log has everything.
dmesg -n 4
adapter_load dma=direct timed=Y round_trip_ns=2500
adapter_up profile=mlx5
modprobe rnbd || die "modprobe rnbd failed"
exec {tick}<> <(:)

# load_target: with limits that memory alone sets
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
		lab log "reconnect: no more than $number sessions: $kib KiB are available"
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
# further connections may be made after an attach
while [ "$pairs" != "$last" ]; do
	last=$pairs
	sleep 2
	pairs=$(queue_pairs)
done
DETAILS=$(jq -nc --argjson wanted "$wanted" --argjson connections "$granted" --argjson pairs "$pairs" \
	--argjson mib "$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)" \
	'{ $wanted, $connections, queue_pairs: $pairs, machine_mib: $mib }')
figure "sessions that were made" $number sessions ">=" 1000

# each FILE RELATION VALUE: does that hold for a file of each disk from ${devs[next]} on; no
# process is started
each() {
	local value

	while [ $next -le $number ]; do
		read -r value <"/sys/block/${devs[next]##*/}/rnbd/$1" && test "$value" "$2" "$3" || return 1
		next=$((next + 1))
	done
}

# until_each SECONDS FILE RELATION VALUE
until_each() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) next=1

	until each "${@:2}"; do
		[ ${EPOCHREALTIME/[.,]/} -lt $end ] ||
			die "not within $1 s: $2 of ${devs[next]}: $(counter "${devs[next]}" "$2"), $(counter "${devs[next]}" last_error)"
		read -rt 0.2 -u "$tick"
	done
}

# until_all_queue_pairs SECONDS
until_all_queue_pairs() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))

	until [ "$(queue_pairs)" = "$pairs" ]; do
		[ ${EPOCHREALTIME/[.,]/} -lt $end ] || die "not within $1 s: $(queue_pairs) of $pairs queue pairs"
		read -rt 0.5 -u "$tick"
	done
}

refused() { grep -H . $T/refused/* | awk -F '[/:]' '{ printf "{\"%s\":%d}\n", $(NF - 1), $NF }' | jq -sc add; }

lose_port() { echo 0 >"$port/enable" || die "the port stays"; }
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

# logins FILE: of a kernel log, from when the port listens: their number, and the most in a second
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

# one WAY
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
	# what is made after the first connection of a session
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

	# The list was made before its line in the log: no time is too short.
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
