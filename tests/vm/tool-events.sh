#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 2
# short: session list, monitor and tracepoints of both ends report the same states: attach, loss of the connection, reconnect, detach
. ../lib/lab.sh
. ../lib/rnbd.sh

TRACING=/sys/kernel/tracing
SEEN=$OUT/monitor
NOTES=$OUT/monitor.err

# monitor_start FAMILY: start rnbd monitor and wait until it receives events of the family
monitor_start() {
	rnbd monitor >>"$SEEN" 2>>"$NOTES" &
	monitor=$!
	heard "$1" 1
}

# heard FAMILY TIMES: wait until the monitor has begun TIMES times to listen to the family
heard() { wait_for 10 sh -c "[ \$(grep -c 'listening to $1\$' $NOTES) = $2 ]"; }

# monitor_end SIGNAL: end the monitor with SIGNAL; its exit status must be 0, and it must have lost
# no event
monitor_end() {
	kill -"$1" "$monitor"
	wait "$monitor" || die "rnbd monitor ended with $? on SIG$1"
	grep -q "events were lost" "$NOTES" && die "events were lost"
	return 0
}

# story KEY...: print "old>new" for each change of state of KEY that the monitor has reported
story() { sed -nE "s/^[^ ]+ $* .* ([a-z]+) -> ([a-z]+)(: .*)?\$/\1>\2/p" "$SEEN" | xargs; }

# story_is KEY STORY: succeed if the monitor has reported exactly the changes STORY; for wait_for
story_is() { [ "$(story "$1")" = "$2" ]; }

# traced EVENT KEY: print the same changes as story, but from the trace buffer
traced() { sed -nE "s/^.* $1: $2 (.* )?([a-z]+) -> ([a-z]+)(: .*)?\$/\2>\3/p" $TRACING/trace | xargs; }

# traced_at TEXT: print the line number of TEXT in the trace buffer
traced_at() { grep -n "$1" $TRACING/trace | cut -d: -f1; }

unprivileged() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all "$@" 2>&1
}

# session FILTER: print the value that the jq filter takes from the only session
session() { rnbd session list --target --json | jq -er "if length == 1 then .[0] | $1 else empty end"; }

# alone SERIAL: succeed if this session is live and there is no other session
alone() { [ "$(session 'select(.state == "live") | .session' 2>/dev/null)" = "$1" ]; }
empty() { [ -z "$(ls "$1")" ]; }
nobody() { rnbd session list --target --json | jq -e 'length == 0'; }

# reason KEY STATE: fail unless the event of the change from live to STATE gives a reason
reason() { grep -E " $1 .* live -> $2: ." "$SEEN" || die "no reason of $1: live -> $2"; }

set_host_id
for command in "session list" monitor; do
	# shellcheck disable=SC2086 # two words
	text=$(timeout 10 rnbd $command 2>&1) && die "rnbd $command works without a module"
	echo "$text" | grep -q 'loaded; run: modprobe' || die "unexpected message: $text"
	same "$(echo "$text" | wc -l)" 1 "lines of: $text"
done

if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 64) || exit 1
	export_disk disk0 "$disk" 2
	monitor_start rnbd-target
	echo 1 >$TRACING/events/rnbd_target/enable
	nobody >/dev/null || die "a session before the first attach"
	barrier exported

	barrier written
	rnbd session list --target
	first=$(session .session) || die "not one session"
	same "$(session .host_id)" "$(host_id 2)" host
	same "$(session .address)" 10.9.0.2 address
	same "$(session .export)" disk0 export
	same "$(session .state)" live state
	same "$(session .reason)" '' reason
	same "$(session .epoch)" 1 epoch
	same "$(session .queues)" 2 queues
	# A queue has an eighth more tags than the queue depth of the disk (16), so that a disk that
	# is alone can reach its queue depth.
	same "$(session .depth)" 18 depth
	same "$(session .pool_bytes)" 4194304 pool
	same "$(session .session_id)" "$(told session_id)" "id of the attachment"
	need_counter "$(session .write_bytes)" -ge 1048576 "bytes written"
	need_counter "$(session .read_bytes)" -ge 1048576 "bytes read"
	need_counter "$(session .requests)" -ge 2 "requests"
	rnbd session list --target | grep -q "^$first *$(host_id 2) *10.9.0.2 *disk0 *live *20" ||
		die "the table differs from JSON"
	wait_for 10 test -d "/sys/kernel/rnbd-target/sessions/$first"
	for key in state reason host_id session_id export port address epoch queues depth \
		pool_bytes requests read_bytes write_bytes; do
		same "$(cat "/sys/kernel/rnbd-target/sessions/$first/$key")" \
			"$(session ".$key")" "$key in sysfs"
	done
	# A user who knows these ids could pretend to be the client.
	for key in host_id session_id; do
		unprivileged cat "/sys/kernel/rnbd-target/sessions/$first/$key" &&
			die "any user can read $key in sysfs"
	done
	unprivileged rnbd session list --target && die "any user can list sessions"
	unprivileged timeout 5 rnbd monitor >"$OUT/denied"
	grep -q 'not permitted; run it as root' "$OUT/denied" || die "any user can receive events"
	# The client uses this block for one write only.
	grep -E "rnbdt_(request|reply): session=$first .* write offset=12288 length=4096" \
		$TRACING/trace >"$OUT/write"
	cat "$OUT/write"
	same "$(grep -c 'rnbdt_request: ' "$OUT/write")" 1 "requests traced"
	same "$(grep -c 'rnbdt_reply: .* status=0$' "$OUT/write")" 1 "replies traced"
	barrier looked

	barrier again
	second=$(session .session) || die "not one session"
	[ "$second" -gt "$first" ] || die "session $second is not newer than $first"
	alone "$second" || die "session $second is not live"
	same "$(session .session_id)" "$(told session_id)" "id of the attachment"
	same "$(session .epoch)" "$(told epoch)" epoch
	wait_for 10 story_is "session $first" "connecting>login login>live live>closing closing>dead"
	wait_for 10 story_is "session $second" "connecting>login login>live"
	reason "session $first" closing
	barrier looked-again

	barrier detached
	wait_for 10 nobody
	wait_for 10 empty /sys/kernel/rnbd-target/sessions
	wait_for 10 story_is "session $second" "connecting>login login>live live>closing closing>dead"
	for i in "$first" "$second"; do
		same "$(traced rnbdt_state "session=$i")" "$(story "session $i")" "trace of session $i"
	done
	# The first session must be in the state closing before the second session logs in. The
	# first session can become dead later, because requests in the storage delay that.
	[ "$(traced_at "session=$first .* -> closing")" -lt "$(traced_at "session=$second .* -> login")" ] ||
		die "session $second logged in while session $first was live"
	cat "$SEEN"

	echo "the module is unloaded and loaded again while the monitor listens"
	configfs_clear
	unload
	wait_for 10 grep -q 'rnbd-target was unloaded' "$NOTES"
	target_start
	heard rnbd-target 2
	modprobe rnbd
	heard rnbd 1
	rnbd monitor --json >"$OUT/json" 2>"$OUT/json.err" &
	json=$!
	wait_for 10 grep -q 'listening to rnbd-target' "$OUT/json.err"
	export_disk disk0 "$disk" 2
	barrier reloaded
	barrier end
	wait_for 10 sh -c "[ \$(grep -c 'closing -> dead' $SEEN) = 3 ]"
	wait_for 10 grep -q '"state":"dead"' "$OUT/json"
	same "$(jq -r 'select(.family == "rnbd-target") | "\(.old_state)>\(.state)"' "$OUT/json" | xargs)" \
		"connecting>login login>live live>closing closing>dead" "events as JSON"
	kill "$json"
	wait "$json" || die "rnbd monitor --json ended with $?"
	kill -0 "$monitor" || die "rnbd monitor has ended"
	configfs_clear
	unload
	monitor_end TERM
	exit 0
fi

modprobe rnbd
monitor_start rnbd
echo 1 >$TRACING/events/rnbd/rnbdc_state/enable
barrier exported
dev=$(attach disk0 --queues 2 --queue-depth 16 --pool 4M --pool-floor fixed --keepalive 500) || exit 1
name=$(basename "$dev")
tell session_id "$(counter "$dev" session_id)"
dd if=/dev/zero of="$dev" bs=1M count=1 seek=1 oflag=direct status=none || die "write failed"
dd if="$dev" of=/dev/null bs=1M count=1 skip=1 iflag=direct status=none || die "read failed"
dd if=/dev/zero of="$dev" bs=4k count=1 seek=3 oflag=direct status=none || die "write failed"
rnbd list --json | jq -e ".[0].session_id == \"$(counter "$dev" session_id)\"" ||
	die "rnbd list does not show the id of the session"
same "$(unprivileged rnbd list --json | jq -r '.[0] | "\(.disk) \(.session_id) \(.host_id)"')" \
	"$name null null" "ids of the session shown to an unprivileged user"
unprivileged cat "/sys/block/$name/rnbd/session_id" && die "any user can read session_id in sysfs"
unprivileged timeout 5 rnbd monitor >"$OUT/denied"
grep -q 'not permitted; run it as root' "$OUT/denied" || die "any user can receive events"
barrier written
barrier looked

strike rnbd kill_queue 1
wait_for 40 counter_over "$dev" reconnects 0
wait_for 20 grep -q live "/sys/block/$name/rnbd/state"
same "$(hits rnbd kill_queue)" 1 "queues killed"
tell epoch "$(counter "$dev" epoch)"
wait_for 10 story_is "disk $name" "connecting>live live>reconnecting reconnecting>live"
reason "disk $name" reconnecting
barrier again
barrier looked-again

detach "$dev"
all="connecting>live live>reconnecting reconnecting>live live>closing"
wait_for 10 story_is "disk $name" "$all"
same "$(traced rnbdc_state "disk=${name#rnbd}")" "$all" "trace of $name"
barrier detached
cat "$SEEN"

unload
wait_for 10 grep -q 'rnbd was unloaded' "$NOTES"
modprobe rnbd
heard rnbd 2
barrier reloaded
dev=$(attach disk0) || exit 1
echo "the module detaches when it is unloaded, and reports it"
# Retry, because udev can keep the disk open for a moment.
wait_for 10 rmmod rnbd
wait_for 10 story_is "disk $name" "$all connecting>live live>closing"
barrier end
unload
monitor_end INT
