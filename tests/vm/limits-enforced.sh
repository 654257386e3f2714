#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 540
# turns: 4
# adapter: also mlx5 irdma bnxt_re ionic
# without: event, because a lost message of the connection manager delays an attach by seconds
# short: each limit of the target refuses what exceeds it, reports it and counts it; a flood of connections keeps no well-behaved client out
. ../lib/lab.sh
. ../lib/rnbd.sh

T=/sys/kernel/rnbd-target
P=/sys/module/rnbd_target/parameters
ME=$(host_id 1)

count() { cat "$T/$1"; }
over() { [ "$(count "$1")" -gt "$2" ]; }
gone() { [ -z "$(ls $T/sessions)" ]; }
param() { echo "$2" >"$P/$1" || die "parameter $1"; }
# Start of the command of a flood, which uses the host id of this machine. The user of $flood
# appends the number of concurrent connections and options.
flood=(rnbd-peer client --host 1 --flood)
host() { echo "$2" >"$CFG/hosts/$ME/$1" || die "host's $1"; }

# hit COUNTER COMMAND...: run the command, which must raise the counter
hit() {
	local before
	before=$(count "$1")
	"${@:2}"
	wait_for 30 over "$1" "$before"
	echo "  $1: $before -> $(count "$1")"
}

# The functions denied and granted attach in a new session each time, because the limits apply to
# sessions.

# denied PATTERN OPTION...: an attach must fail with one line that matches PATTERN
denied() {
	local text
	if text=$(rnbd attach "$ADDR" disk0 --new-session --wait 0 "${@:2}" 2>&1); then die "attached: $text"; fi
	echo "  $text"
	same "$(wc -l <<<"$text")" 1 "lines of the error message"
	grep -q "$1" <<<"$text" || die "unexpected message: $text"
}

# granted NAME VALUE OPTION...: attach the export $granted_of, by default disk0; the counter NAME of
# the disk must be VALUE; detach the disk
granted() {
	local dev
	dev=$(attach "${granted_of-disk0}" --new-session "${@:3}") || exit 1
	need "$dev" "$1" -eq "$2"
	detach "$dev"
}

set_host_id
target_start
export_disk disk0 "$(null_disk 64)"
# rnbd-peer attaches this export in its mode --rogue; this script uses it for further sessions.
export_disk fixed "$(null_disk 64)" 1 2 -- --read-only
small=(--queues 1 --pool 1M)

note "a client that gets BUSY retries"
param login_burst 1
param login_rate 1
granted queues 1 "${small[@]}"
before=$(count limits/logins)
attach disk0 "${small[@]}" >"$OUT/again" &
again=$!
wait_for 30 over limits/logins "$before"
# The first login has used up the limit of one login per minute. This must not delay the next login
# after the limit was raised.
param login_rate 600
wait $again || die "not attached"
param login_burst 1024
param login_rate 240
detach "$(cat "$OUT/again")"
dmesg_has "host $ME logs in too often: its connections are put off" || die "not in the log"

note "a refused connection request costs no session"
# serial: print the serial number of a new session; the target numbers its sessions one after the
# other
serial() {
	local dev
	dev=$(attach disk0 --new-session "${small[@]}") || exit 1
	find $T/sessions -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -n 1
	detach "$dev"
}
first=$(serial) || exit 1
second=$(serial) || exit 1
for i in 1 2 3; do denied 'not allowed' "${small[@]}" --host-id "$(host_id 9)"; done
third=$(serial) || exit 1
same $((third - second)) $((second - first)) "difference of session serials across three refused requests"

note "requests to attach"
param attach_burst 1
param attach_rate 1
granted queues 1 "${small[@]}"
hit limits/attaches denied 'logins or attaches' "${small[@]}"
dmesg_has "host $ME attaches too often: its requests are refused" || die "not in the log"
param attach_rate 6000
param attach_burst 8192
granted queues 1 "${small[@]}"

note "sessions"
first=$(attach fixed "${small[@]}") || exit 1
host max_sessions 1
hit limits/host_sessions denied 'limit on sessions' "${small[@]}"
rnbd discover "$ADDR" >/dev/null || die "discovery fails for a host at its limit of sessions"
host max_sessions 0
param max_host_sessions 1
hit refused/limit denied 'limit on sessions' "${small[@]}"
host max_sessions 2
granted pool_units 256 "${small[@]}"
host max_sessions 0
param max_host_sessions 256
param max_sessions 1
hit limits/sessions denied 'limit on sessions' "${small[@]}"
param max_sessions 4096
granted pool_units 256 "${small[@]}"

note "queues, and their memory"
param max_queues 1
hit limits/session_queues granted queues 1 --queues 2 --pool 1M
param max_queues 0
granted queues 2 --queues 2 --pool 1M
note "keep-alives"
granted keepalive_ms 250 "${small[@]}" --keepalive 250
hit limits/keepalive granted keepalive_ms 250 "${small[@]}" --keepalive 100
param keepalive_min_ms 2000
hit limits/keepalive granted keepalive_ms 2000 "${small[@]}" --keepalive 500
param keepalive_min_ms 250

# A queue with these options begins with nine slots of 64 KiB. One host may use seven eighths of the
# limit of 1 MiB, that is 896 KiB, and two such queues need more than that.
large=("${small[@]}" --slot-size 65536)
param queue_limit_mb 1
held=$(attach disk0 --new-session "${large[@]}") || exit 1
hit limits/host_queue_memory denied 'limit on sessions, queues' "${large[@]}"
param queue_limit_mb 0
detach "$held"
granted queues 1 "${large[@]}"

note "pools: limits of a session, of a host, and in total"
fixed=(--queues 1 --pool 4M --pool-floor fixed)
param session_pool_limit_mb 1
hit limits/session_pool granted pool_units 256 "${fixed[@]}"
host max_session_pool_bytes 2097152
hit limits/session_pool granted pool_units 512 "${fixed[@]}"
host max_session_pool_bytes 0
param session_pool_limit_mb 1024
param host_pool_limit_mb 2
hit limits/host_pool granted pool_units 256 "${fixed[@]}"
host max_pool_bytes 4194304
hit limits/host_pool granted pool_units 768 "${fixed[@]}"
param host_pool_limit_mb 1
host max_pool_bytes 0
hit refused/pool_full denied pool "${fixed[@]}"
param host_pool_limit_mb 0
param pool_limit_mb 4
hit limits/host_pool granted pool_units 640 "${fixed[@]}"
host max_pool_bytes 16777216
hit limits/pool granted pool_units 768 "${fixed[@]}"
param pool_limit_mb 1
hit limits/pool denied pool "${fixed[@]}"
param pool_limit_mb 0
host max_pool_bytes 0
granted pool_units 1024 "${fixed[@]}"
# If a limit reduces the floor of a pool that can grow, the target grants the floor in multiples of
# 256 KiB; if less than 256 KiB is left of the limit, it grants all that is left.
host max_pool_bytes $(((1 << 20) + 65536))
granted pool_floor_units 16 --queues 1 --max-io 64K
host max_pool_bytes $(((1 << 20) + 393216))
granted pool_floor_units 64 --queues 1 --max-io 64K
host max_pool_bytes 0
granted pool_floor_units 256 --queues 1
detach "$first"

note "logins wait for memory that is being freed: none is refused or granted less"
# after_close: attach an export while delay_close delays the end of an earlier session of the host.
# The target must answer the login with BUSY until that session has ended, and must not refuse the
# login permanently.
after_close() {
	local dev attach before start try

	for try in 1 2 3 4 5; do
		wait_for 60 gone
		strike rnbd-target delay_close 1 1000000
		dev=$(attach fixed "${small[@]}") || exit 1
		start=$EPOCHSECONDS
		detach "$dev"
		wait_for 20 grep -q closing $T/sessions/*/state
		before=$(count refused/busy)
		attach disk0 "${small[@]}" >"$OUT/after" &
		attach=$!
		wait_for 20 over refused/busy "$before"
		strike rnbd-target delay_close 0
		if wait $attach; then
			dev=$(cat "$OUT/after")
			need "$dev" pool_units -eq 256
			detach "$dev"
			return
		fi
		# The target answers the login with BUSY only in the first 10 s after the earlier
		# session began to close. On a slow machine this script can take longer, and the
		# target then refuses the login permanently: repeat the attempt.
		[ $((EPOCHSECONDS - start)) -ge 10 ] || die "not attached"
		note "attempt $try took $((EPOCHSECONDS - start)) s"
		refused=$(count refused/limit)
	done
	die "no attempt took less than 10 s"
}
refused=$(count refused/limit)
host max_sessions 1
after_close
host max_sessions 0
host max_pool_bytes 1048576
after_close
host max_pool_bytes 0
same "$(count refused/limit)" "$refused" "logins that were refused permanently"

note "sessions that are not closed within 10 s count"
wait_for 60 gone
host max_sessions 1
strike rnbd-target delay_close 1 1000000
dev=$(attach fixed "${small[@]}") || exit 1
detach "$dev"
wait_for 20 grep -q closing $T/sessions/*/state
hit limits/host_sessions denied 'limit on sessions' "${small[@]}"
strike rnbd-target delay_close 0
host max_sessions 0

note "a disk whose export was replaced reconnects with growing intervals"
swapped=$(null_disk 64) || exit 1
export_disk swapped "$swapped"
dev=$(attach swapped "${small[@]}") || exit 1
rnbd export remove swapped || die "export remove"
export_disk swapped "$swapped"
wait_for 30 sh -c "rnbd show $dev | grep -q 'another export has this name now'"
wait_for 60 counter_over "$dev" attempt 4
took=${EPOCHREALTIME/[.,]/}
wait_for 90 counter_over "$dev" attempt $(($(counter "$dev" attempt) + 1))
took=$(((${EPOCHREALTIME/[.,]/} - took) / 1000))
need_counter $took -ge 6000 "ms for two attempts"
detach "$dev"
rnbd export remove swapped || die "export remove"

if [ -n "${LAB_ADAPTER-}" ]; then
	note "the modelled adapter has no user-space verbs for the floods of rnbd-peer"
	configfs_clear
	unload
	exit 0
fi

note "connections that do not log in, send frames before the login, or exceed the rate limit"
param login_timeout_ms 300
hit limits/login_time "${flood[@]}" 1 --seconds 2
param login_timeout_ms 10000
# The peer has slots and credits for more than 8 frames, so it exceeds the rate limit of 8 frames
# per second before it lacks credits.
param login_frames 8
hit violations/rate "${flood[@]}" 1 --frames 40 --seconds 30
dmesg_has 'protocol error on queue 0: frames exceed the rate limit' || die "not in the log"
param login_frames 10000
hit violations/credits "${flood[@]}" 1 --slots 4 --frames 60 --seconds 30
param login_frames 20
wait_for 60 gone

note "a rogue that logs in, violates the protocol, and reconnects at once"
param login_burst 2
param login_rate 6
secs=$((8 * ${LAB_SLOW:-1}))
# rogue: run the rogue for $secs seconds; set logins to the number of its logins that the target
# granted
rogue() {
	rnbd-peer client --rogue logins --seconds $secs >"$OUT/rogue" || die "rogue: $(cat "$OUT/rogue")"
	cat "$OUT/rogue"
	logins=$(sed -n 's/.* logins \([0-9]*\),.*/\1/p' "$OUT/rogue")
}
busy=$(count refused/busy)
hit limits/logins rogue
over refused/busy "$busy" || die "no login was refused as busy"
most=$((2 + secs / 10 + 1))
need_counter "$logins" -le $most "logins with a limit"
param login_rate 0
rogue
need_counter "$logins" -gt $most "logins without a limit"
param login_burst 1024
param login_rate 240
wait_for 60 gone

note "a rogue whose sessions repeatedly detach what is not attached"
many() { [ "$(rnbd session list --target --json | jq length)" -ge 16 ]; }
rnbd-peer client --rogue detaches --seconds $((30 * ${LAB_SLOW:-1})) >"$OUT/detaches" &
pid=$!
wait_for 60 many
for i in 1 2 3; do
	began=${EPOCHREALTIME/[.,]/}
	granted queues 1 "${small[@]}"
	took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
	need_counter $took -le $((10000 * ${LAB_SLOW:-1})) "ms to attach and detach beside the rogue"
done
many || die "the rogue has ended too early"
wait $pid || die "rogue: $(cat "$OUT/detaches")"
rogue=$(sed -n 's/.* detaches \([0-9]*\)$/\1/p' "$OUT/detaches")
need_counter "${rogue:-0}" -ge 10000 "requests to detach that got a reply"
wait_for 60 gone

note "a rogue whose sessions repeatedly attach and detach"
for ((i = 0; i < 8; i++)); do export_disk "rogue$i" "$(null_disk 16)" 2; done
dev=$(attach disk0 "${small[@]}") || exit 1
while [ ! -e "$OUT/quiet" ]; do
	verify "$dev" --rw=randrw --bs=4k --iodepth=2 --size=256k --rate_iops=50
done &
worker=$!
rogue_has_sessions() { [ "$(rnbd session list --target --json | jq length)" -ge 4 ]; }
# attaches RATE: run the rogue while the target allows RATE attaches per minute, and attach and
# detach a disk of this host concurrently; set attached, limited and detached to the counts of the
# rogue
attaches() {
	local pid began took=0 ms
	param attach_rate "$1"
	rnbd-peer client --rogue attaches --seconds $((20 * ${LAB_SLOW:-1})) >"$OUT/attaches" &
	pid=$!
	wait_for 60 rogue_has_sessions
	for ((i = 0; i < 3; i++)); do
		began=${EPOCHREALTIME/[.,]/}
		granted_of=fixed granted queues 1 "${small[@]}"
		ms=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
		[ $ms -le $took ] || took=$ms
	done
	need_counter $took -le $((10000 * ${LAB_SLOW:-1})) "ms to attach and detach beside the rogue"
	kill -0 $pid || die "the rogue has ended too early"
	wait $pid || die "rogue: $(cat "$OUT/attaches")"
	cat "$OUT/attaches"
	attached=$(sed -n 's/.* attaches \([0-9]*\),.*/\1/p' "$OUT/attaches")
	limited=$(sed -n 's/.* limited \([0-9]*\),.*/\1/p' "$OUT/attaches")
	detached=$(sed -n 's/.* detaches \([0-9]*\)$/\1/p' "$OUT/attaches")
	# When the rogue ends, up to eight of its attachments are not detached yet.
	need_counter "$detached" -ge $((attached - 8)) "requests to detach that got a reply"
}
param attach_burst 16
hit limits/attaches attaches 300
most=$((16 + 20 * ${LAB_SLOW:-1} * 300 / 60 + 1))
need_counter "$attached" -le $most "attachments at most"
need_counter "$attached" -ge 16 "attachments at least"
need_counter "$limited" -gt 0 "requests to attach that were refused"
attaches 0
need_counter "$attached" -gt $((2 * most)) "attachments without a limit"
same "$limited" 0 "requests that were refused without a limit"
param attach_rate 6000
param attach_burst 8192
: >"$OUT/quiet"
wait $worker || die "the client beside the rogue has wrong data"
same "$(counter "$dev" connections_lost)" 0 "connections that the client beside the rogue lost"
detach "$dev"
for ((i = 0; i < 8; i++)); do rnbd export remove "rogue$i" || die "export remove"; done
wait_for 60 gone

note "half-open connections of one host"
sessions() { find $T/sessions -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
# flooded COUNTER TIMES OPTION...: start a flood and wait until it has raised COUNTER by TIMES
flooded() {
	local before
	before=$(count "$1")
	"${flood[@]}" "${flood_of:-20}" "${@:3}" --seconds 600 &
	pid=$!
	wait_for 120 over "$1" $((before + $2 - 1))
	echo "  $1: $before -> $(count "$1")"
}
flood_ends() {
	kill $pid
	wait $pid
	wait_for 180 gone
}
param half_open_host_max 8
param half_open_grace_ms 60000
flooded limits/half_open_host 1
flood_ends
param half_open_grace_ms 500
flooded limits/half_open_evicted 1
flood_ends

ip addr add 10.9.0.101/24 dev eth0 || die "address"
param half_open_host_max 32
# A debug kernel is too slow to get so many connections in the time of the test.
if [ -z "${LAB_SLOW-}" ]; then
	note "connections of one host that were ended and do not close"
	param login_timeout_ms 300
	# This limit exceeds the 100 connections that the flood holds. So the only limit that the
	# flood reaches is that of 256 closed connections whose connection ids still exist.
	param half_open_host_max 128
	strike rnbd-target delay_linger 10000 1000000
	flood_of=100 flooded limits/half_open_host 20 --sources 10.9.0.101
	param login_timeout_ms 10000
	# Connections from an address from which the host has logged in must still be accepted.
	granted queues 1 "${small[@]}"
	lingering=$(sessions)
	strike rnbd-target delay_linger 0
	param half_open_host_max 32
	need_counter "$lingering" -ge 256 "sessions at least"
	need_counter "$lingering" -le 388 "sessions at most"
	flood_ends
fi
param half_open_grace_ms $((2000 * ${LAB_SLOW:-1}))
# A debug kernel also needs longer for a login.
param login_timeout_ms $((10000 * ${LAB_SLOW:-1}))
half_open_max=$((128 / (LAB_SLOW ? 8 : 1)))
param half_open_max $half_open_max
# All connections use the id of one host. The limit of this host is reached only if it is lower than
# the limit for all hosts.
param half_open_host_max $((32 / (LAB_SLOW ? 4 : 1)))

# attach_small: attach a disk, and set $dev. wait_for repeats the attach, which can fail while the
# flood keeps the machine busy.
attach_small() { dev=$(rnbd attach "$ADDR" disk0 "${small[@]}" 2>>"$OUT/tries"); }

note "a flood from many addresses, including that of a well-behaved client"
sources=$ADDR,10.9.0.101
for i in $(seq 102 120); do
	ip addr add "10.9.0.$i/24" dev eth0 || die "address"
	sources+=,10.9.0.$i
done
"${flood[@]}" 500 --sources "$sources" --seconds $((450 * ${LAB_SLOW:-1})) >"$OUT/flood" 2>&1 &
pid=$!
wait_for 60 over limits/half_open_host 100
wait_for 60 over limits/half_open_evicted 10
most=0
for i in 1 2; do
	began=${EPOCHREALTIME/[.,]/}
	wait_for 100 attach_small
	note "attached after $(((${EPOCHREALTIME/[.,]/} - began) / 1000)) ms"
	verify "$dev" --rw=randwrite --bs=4k --iodepth=8 --size=1m
	need "$dev" reconnects -eq 0
	detach "$dev"
	now=$(sessions)
	[ "$now" -le "$most" ] || most=$now
done
# In each of two classes (known and new addresses) the host can have 64 sessions that are half-open
# or in teardown, at most 32 of them half-open, and 256 of which only the connection id is left. In
# addition there are two sessions with a login.
need_counter "$most" -le $((4 * 32 + 2 * 256 + 2)) "sessions at most"
kill $pid
wait $pid
cat "$OUT/flood"
need_counter "$(sed -n 's/.* accepted \([0-9]*\) .*/\1/p' "$OUT/flood")" -gt $half_open_max "connections of the flood that were accepted"
[ ! -s "$OUT/tries" ] || sort "$OUT/tries" | uniq -c
wait_for 180 gone
configfs_clear
unload
