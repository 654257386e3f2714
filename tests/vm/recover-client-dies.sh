#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 3
# short: the machine of the client dies under load and restarts: the target ends its old session first, and no generation is lost
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 16)"
	# The host may have only one session, so the target must end the session of the dead machine
	# before it grants the new one.
	echo 1 >"$CFG/hosts/$(host_id 2)/max_sessions" || die "max_sessions"
	barrier exported
	for boot in 1 2; do
		wait_for 120 test -e "$SHARED/writes$boot"
		dmesg -C
		# Kill the client under load. The restart takes less time than the target waits for
		# a missing keep-alive.
		lab kill 2
		same "$(cat "$CFG/exports/disk0/sessions")" 1 "sessions of a machine that was just killed"
		lab start 2
		wait_for 120 test -e "$SHARED/attached$((boot + 1))"
		same "$(cat "$CFG/exports/disk0/sessions")" 1 sessions
		dmesg | grep "rnbd-target: session" >"$OUT/ended$boot"
	done
	# After the first restart the new connection has the same numbers as the old one, so the
	# connection manager detects that the old connection is stale. After the second restart the
	# target detects the new boot id.
	grep -q 'the client disconnected' "$OUT/ended1" || die "the first session did not end by a disconnect"
	grep -q 'the client has restarted' "$OUT/ended2" || die "the second session did not end because of a new boot id"
	barrier end 120
	configfs_clear
	unload
	exit 0
fi

ops=500
[ -z "$LAB_SLOW" ] || ops=100

# until_killed: write until the machine dies
until_killed() {
	# $OUT is on the lab host, so the journal survives the death of this machine.
	gencheck run --journal "$OUT/journal" --journal-io pwrite --threads 4 --io 1-8 --time 1000 "$dev" &
	wait_for 30 counter_over "$dev" requests 300
	: >"$SHARED/writes$LAB_BOOT"
	wait
	die "gencheck ended"
}

if [ "$LAB_BOOT" = 1 ]; then
	barrier exported
	dev=$(attach disk0 --queues 2 --keepalive 60000) || exit 1
	until_killed
fi

start=${EPOCHREALTIME/[.,]/}
dev=$(attach disk0 --queues 2 --keepalive 60000) || exit 1
echo "attached again after $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) ms"
: >"$SHARED/attached$LAB_BOOT"
# With a journal in memory the verification takes a tenth of the time.
cp "$OUT/journal" /dev/shm/journal
run gencheck verify --journal /dev/shm/journal --adopt "$dev"
if [ "$LAB_BOOT" = 2 ]; then
	cp /dev/shm/journal "$OUT/journal"
	until_killed
fi
run gencheck run --journal /dev/shm/journal --threads 4 --ops $ops "$dev"
run gencheck verify --journal /dev/shm/journal "$dev"
detach "$dev"
barrier end
unload
