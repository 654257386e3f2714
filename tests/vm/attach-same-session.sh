#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 200
# adapter: only
# without: event, because a lost message costs more time than the keep-alive allows
# short: two clients use the same session id: only the one with the newer epoch keeps the session; logins with an older epoch are refused
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	lab barrier exported
	# The export must never be attached by more than one session at a time.
	sessions=$CFG/exports/disk0/sessions
	most=0
	while [ ! -e "$SHARED/end" ]; do
		# "read" starts no process, so the loop leaves processor time to the target.
		read -r now <"$sessions"
		[ "$now" -le "$most" ] || most=$now
		sleep 0.02
	done
	echo "concurrent sessions at most: $most"
	[ "$most" = 1 ] || die "$most concurrent sessions"
	lab barrier ended
	wait_for 10 grep -qx 0 "$sessions"
	configfs_clear
	unload
	exit 0
fi

lab barrier exported
modprobe rnbd

# twin EPOCH: attach the export once more, in another session with the same session id; store the
# device in $twin. The first login has the epoch EPOCH. If the target answers BUSY, the tool retries
# with epoch 1, and the target refuses the login with this old epoch.
twin() {
	strike rnbd fixed_session 1000
	strike rnbd set_epoch 1 "$1"
	twin=$(rnbd attach "$ADDR" disk0 --new-session --queues 2 2>"$OUT/error")
}

# twin_soon EPOCH: call twin with EPOCH, EPOCH + 1 and so on until an attach succeeds. The target
# refuses the attach until it has closed the former session.
twin_soon() {
	local e

	for ((e = $1; e < $1 + 100; e++)); do
		twin "$e" && return
		sleep 0.1
	done
	die "refused: $(cat "$OUT/error")"
}

strike rnbd fixed_session 1
dev=$(attach disk0 --queues 2 --keepalive $((500 * ${LAB_SLOW:-1}))) || exit 1
note "session $(counter "$dev" session_id), epoch $(counter "$dev" epoch)"

note "a twin with the same or an older epoch is refused, and the session continues"
strike rnbd kill_queue 1
wait_for 20 counter_over "$dev" reconnects 0
epoch=$(counter "$dev" epoch)
for e in $((epoch)) 1; do
	twin "$e" && die "attached with epoch $e beside epoch $epoch"
	cat "$OUT/error"
	grep -q "a newer login of this session exists" "$OUT/error" || die "the twin was not refused for its epoch"
	[ "$(hits rnbd set_epoch)" -gt 0 ] || die "the epoch was not set"
done
works "$dev"
need "$dev" reconnects -eq 1

note "a twin with a newer epoch ends the first session, which cannot reconnect"
twin_soon 100000
same "$(counter "$twin" session_id)" "$(counter "$dev" session_id)" "session"
note "epoch $(counter "$twin" epoch)"
works "$twin"
wait_for 20 grep -q reconnecting "/sys/block/$(basename "$dev")/rnbd/state"
seen=$(counter "$dev" attempt)
wait_for 20 counter_over "$dev" attempt $((seen + 2))
note "the first session: $(counter "$dev" last_error)"
counter "$dev" last_error | grep -q "a newer login of this session exists" || die "the twin was not refused for its epoch"
works "$twin"
need "$twin" reconnects -eq 0
rnbd detach "$dev" --force || die "detach failed"
works "$twin"
need "$twin" reconnects -eq 0

note "the epoch is remembered after the session has ended"
epoch=$(counter "$twin" epoch)
detach "$twin"
twin "$epoch" && die "attached with the epoch of an ended session"
cat "$OUT/error"
twin_soon $((epoch + 1))
works "$twin"
detach "$twin"
: >"$SHARED/end"
lab barrier ended
unload
