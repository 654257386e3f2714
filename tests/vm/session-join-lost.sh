#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# adapter: only
# turns: 3
# without: event, because a lost message costs a retry time-out that is longer than the keep-alive
# short: an attach waits for a session that has lost its connection: it fails in time, and succeeds if the last disk of the session detaches
. ../lib/lab.sh
. ../lib/rnbd.sh

state_is() { [ "$(counter "$1" state)" = "$2" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
# joins: succeed if an attach waits for the session of another disk; for wait_for
joins() { grep -qs rnbdc_session_get /proc/[0-9]*/stack; }

set_host_id
target_start
for i in 0 1; do export_disk "disk$i" "$(null_disk 16)"; done
modprobe rnbd
common=(--queues 2 --pool 4M --keepalive $((500 * ${LAB_SLOW:-1})))
dev=$(attach disk0 "${common[@]}" --loss-timeout 0) || exit 1

note "the target is gone: an attach beside the disk that reconnects fails soon"
ip link set d0 carrier off
wait_for $((20 * ${LAB_SLOW:-1})) state_is "$dev" reconnecting
began=$(now_ms)
said=$(timeout $((60 * ${LAB_SLOW:-1})) rnbd attach "$ADDR" disk1 2>&1) && die "disk1 is attached"
took=$(($(now_ms) - began))
note "$took ms: $said"
[[ $said = *"has no connection"* ]] || die "the error message lacks the reason"
[ $took -lt $((30000 * ${LAB_SLOW:-1})) ] || die "the attach took too long"

note "the disk is detached while another one waits for its session, and the link returns"
rnbd attach "$ADDR" disk1 "${common[@]}" --wait 120 >"$OUT/attach" 2>&1 &
attach=$!
wait_for $((20 * ${LAB_SLOW:-1})) joins
run rnbd detach "$dev" --force
began=$(now_ms)
ip link set d0 carrier on
wait_for $((60 * ${LAB_SLOW:-1})) ended $attach
wait $attach || die "not attached: $(cat "$OUT/attach")"
took=$(($(now_ms) - began))
note "attached after $took ms"
[ $took -lt $((30000 * ${LAB_SLOW:-1})) ] || die "the attach took too long"
dev=$(cat "$OUT/attach")
works "$dev"
detach "$dev"
configfs_clear
unload
