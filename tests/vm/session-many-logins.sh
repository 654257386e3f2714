#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 3072 --timeout 400
# adapter: only
# turns: 4
# without: event, because a lost message costs a retry time-out, and so many sessions meet many of them
# short: 200 sessions of one host log in at once, lose all connections at once, and are all live again within a minute
. ../lib/lab.sh
. ../lib/rnbd.sh

# Each disk has a session of its own, with one connection and a small pool. The target has its
# default limits. It answers logins beyond the rate limit, and connections beyond the limits on
# half-open connections, with BUSY, and the client retries.
SESSIONS=200
[ -z "${LAB_SLOW-}" ] || SESSIONS=50
# Concurrent attaches; fewer than half_open_host_max
ATTACHES=24
# Seconds from the loss of the last connection until all sessions must be live
BACK_MAX=60

set_host_id
modprobe dm-mod 2>/dev/null
target_start
# Each export is a part of 16 MiB of one device, which stores nothing.
store=$(null_disk $((SESSIONS * 16)) memory_backed=0) || exit 1
for ((i = 0; i < SESSIONS; i++)); do
	echo "0 32768 linear $store $((i * 32768))" | dmsetup create "part$i" || die "dmsetup"
	export_disk "disk$i" "/dev/mapper/part$i"
done
modprobe rnbd
options=(--new-session --queues 1 --queue-depth 16 --ring-slots 16 --pool 1M --loss-timeout 0)

sessions() { find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l; }
sessions_are() { [ "$(sessions)" = "$1" ]; }

# at_once MAX COMMAND...: run the command for each disk, at most MAX concurrently, with the number
# of the disk in place of %d
at_once() {
	local max=$1 i running=0
	shift
	rm -f "$OUT"/at_once.*
	for ((i = 0; i < SESSIONS; i++)); do
		if [ $running -ge "$max" ]; then
			wait -n
			running=$((running - 1))
		fi
		{ "${@//%d/$i}" || echo "$i" >>"$OUT/at_once.failed"; } >"$OUT/at_once.$i" 2>&1 &
		running=$((running + 1))
	done
	wait
	[ ! -e "$OUT/at_once.failed" ] || die "$(cd "$OUT" &&
		while read -r i; do echo "disk $i: $(cat "at_once.$i")"; done <at_once.failed)"
}

# took WHAT COMMAND...: run the command and log how long WHAT took; there is no limit
took() {
	local began
	began=$(now_ms)
	"${@:2}" || die "failed: ${*:2}"
	note "$1: $(($(now_ms) - began)) ms"
}

# each COUNTER RELATION VALUE: succeed if the relation holds for the counter of each disk; for
# wait_for
each() {
	local dev
	for dev in "${devs[@]}"; do test "$(counter "$dev" "$1")" "$2" "$3" || return 1; done
}
reads_one() { dd if="${devs[$1]}" of=/dev/null bs=64k count=1 iflag=direct status=none; }
refusals() { cat /sys/kernel/rnbd-target/refused/busy; }

took "$SESSIONS sessions log in, $ATTACHES concurrently" \
	at_once $ATTACHES rnbd attach "$ADDR" disk%d "${options[@]}"
devs=()
for ((i = 0; i < SESSIONS; i++)); do devs[i]=$(head -1 "$OUT/at_once.$i"); done
same "$(sessions)" $SESSIONS sessions
each state = live || die "a disk is not live"
at_once $ATTACHES reads_one %d
same "$(rnbd session list --target --json | jq length)" $SESSIONS "sessions of the tool"
took "rnbd session list" rnbd session list >"$OUT/sessions"
took "rnbd export list" rnbd export list >"$OUT/exports"
took "rnbd host list" rnbd host list >"$OUT/hosts"
cat "$OUT"/{sessions,exports,hosts} | grep '^#'

note "all connections are killed"
before=$(refusals)
began=$(now_ms)
# kill_queue ends the connection of each session at its next keep-alive. Some sessions reconnect
# before other sessions lose their connection.
strike rnbd kill_queue 1000000
wait_for 30 each connections_lost -ge 1
hits=$(hits rnbd kill_queue)
strike rnbd kill_queue 0
[ "$hits" -ge $SESSIONS ] || die "only $hits connections were killed"
note "$hits connections killed within $(($(now_ms) - began)) ms"
began=$(now_ms)
wait_for $BACK_MAX each state = live
note "all sessions are live again within $(($(now_ms) - began)) ms, the target has refused $(($(refusals) - before)) times"
wait_for 30 sessions_are $SESSIONS
at_once $ATTACHES reads_one %d
each violations -eq 0 || die "a protocol error"
dmesg | grep "protocol error" && die "a protocol error"

note "all detach"
detach_it() { rnbd detach "${devs[$1]}" --wait $((10 * ${LAB_SLOW:-1})); }
took "$SESSIONS detach, $ATTACHES concurrently" at_once $ATTACHES detach_it %d
wait_for 30 sessions_are 0
took "all exports are removed" configfs_clear
removed() { dmsetup remove "part$1" 2>/dev/null; }
for ((i = 0; i < SESSIONS; i++)); do wait_for 10 removed "$i"; done
unload
