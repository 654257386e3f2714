#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# turns: 2
# short: a flood of half-open connections from forged addresses, under the ids of many hosts, prevents neither a first login nor a reconnect
. ../lib/lab.sh
. ../lib/rnbd.sh

T=/sys/kernel/rnbd-target
P=/sys/module/rnbd_target/parameters
HOSTS="1 2 3 4 5 6"

count() { cat "$T/limits/$1"; }
over() { [ "$(count "$1")" -gt "$2" ]; }
param() { echo "$2" >"$P/$1" || die "parameter $1"; }
sessions() { find $T/sessions -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

set_host_id
target_start
# shellcheck disable=SC2086 # a list
export_disk disk0 "$(null_disk 64)" $HOSTS
# With these values no connection of the flood is evicted because of its age or closed by the login
# time-out during the test.
param half_open_grace_ms 60000
param login_timeout_ms 600000
# scaled NUMBER: NUMBER divided by LAB_SLOW, as the flood is, but at least 8
scaled() { echo $(($1 / ${LAB_SLOW:-1} > 8 ? $1 / ${LAB_SLOW:-1} : 8)); }
param half_open_max "$(scaled 128)"
param half_open_host_max "$(scaled 32)"

# The flood does not use the address of the client under test, so the target has never seen a
# host log in from these addresses.
sources=
for i in $(seq 20 200); do
	ip addr add "10.9.0.$i/24" dev eth0 || die "address"
	sources+=${sources:+,}10.9.0.$i
done
pids=()
for host in $HOSTS; do
	rnbd-peer client --flood $((50 / ${LAB_SLOW:-1})) --host "$host" --slots 64 --sources "$sources" \
		--seconds 600 >"$OUT/flood$host" 2>&1 &
	pids+=($!)
done
# Wait until the target has refused connections because of the limit for all hosts. No half-open
# connection is old enough to be evicted because of its age.
wait_for 60 over half_open $((20 / ${LAB_SLOW:-1}))

# resent: print how many messages the connection manager has retransmitted
resent() { awk '{ n += $1 } END { print n }' /sys/class/infiniband/rxe0/ports/1/cm_tx_retries/*; }

# attach_and_reconnect OPTION...: attach a disk, lose the connection, reconnect and detach
attach_and_reconnect() {
	local began before lost tries
	before=$(count half_open)
	began=${EPOCHREALTIME/[.,]/}
	modprobe rnbd || die "modprobe rnbd failed"
	# A machine that is too slow for the flood loses messages of the connection manager. If an
	# attach fails, the test repeats it only if messages were retransmitted during the attach.
	for ((tries = $((4 + ${LAB_SLOW:-1})); ; tries--)); do
		lost=$(resent)
		dev=$(rnbd attach "$ADDR" disk0 --queues 1 --pool 1M "$@") && break
		if [ $tries = 1 ] || [ "$(resent)" = "$lost" ]; then
			die "the client cannot log in: $(grep . $T/limits/*)"
		fi
		note "messages resent during the attempt: $(($(resent) - lost))"
	done
	note "first login after $(((${EPOCHREALTIME/[.,]/} - began) / 1000)) ms"
	works "$dev"
	# The flood must continue: the target has refused more connections than before the login.
	wait_for 30 over half_open "$before"
	began=${EPOCHREALTIME/[.,]/}
	strike rnbd kill_queue 1
	wait_for 30 counter_over "$dev" reconnects 0
	note "reconnected after $(((${EPOCHREALTIME/[.,]/} - began) / 1000)) ms"
	works "$dev"
	detach "$dev"
}

note "a host without a secret"
attach_and_reconnect
note "a host with a secret: earlier logins under its host id do not count"
rnbd secret generate "$OUT/secret" || die "secret"
rnbd host secret "$(host_id 1)" --secret-file "$OUT/secret" || die "host secret"
attach_and_reconnect --secret-file "$OUT/secret"

# In each of two classes (known and new addresses) there can be 256 sessions that are half-open or
# in teardown, at most 128 of them half-open. The flood, whose addresses are all new, can have left
# at most 4096 sessions of which only the connection id exists.
need_counter "$(sessions)" -le $((4 * 128 + 4096)) "sessions at most"
kill "${pids[@]}"
wait "${pids[@]}"
cat "$OUT"/flood*
param login_timeout_ms 100
configfs_clear
unload
