#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# adapter: also
# turns: 3
# short: while a session waits for a slow login, a disk is detached and another fails by loss_timeout, both in time; the third returns
. ../lib/lab.sh
. ../lib/rnbd.sh

# Detach and the time limits of a disk do not wait for the login of the session.

# ms by which the target delays the login; the client waits for at most 50 s
HOLD=40000
LIMIT=$((5 * ${LAB_SLOW:-1}))

state_is() { [ "$(counter "$1" state)" = "$2" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }

set_host_id
target_start
for export in gone brief stay; do export_disk $export "$(null_disk 16)"; done
modprobe rnbd
common=(--queues 2 --pool 4M --keepalive $((500 * ${LAB_SLOW:-1})))
gone=$(attach gone "${common[@]}" --loss-timeout 0) || exit 1
brief=$(attach brief "${common[@]}" --loss-timeout $LIMIT) || exit 1
stay=$(attach stay "${common[@]}") || exit 1
same "$(find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l)" 1 sessions
arm rnbd-target
arm rnbd

note "the connection is lost, and the target delays the next login"
strike rnbd-target delay_login 1 $HOLD
strike rnbd kill_queue 1
dd if="$stay" of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null &
reader=$!
wait_for 20 hit delay_login
for dev in "$gone" "$brief" "$stay"; do
	state_is "$dev" reconnecting || die "$dev is $(counter "$dev" state)"
done
dd if="$gone" of=/dev/null bs=4k count=1 iflag=direct status=none 2>"$OUT/dd" &
waits=$!

note "a detach does not wait for the login"
began=$(now_ms)
run timeout $((20 * ${LAB_SLOW:-1})) rnbd detach "$gone" --force
note "$(($(now_ms) - began)) ms"
wait_for 5 ended $waits
wait $waits && die "the read has succeeded"
state_is "$stay" reconnecting || die "the login was not delayed for long enough"

note "loss_timeout does not wait for the login"
wait_for $((LIMIT + 10 * ${LAB_SLOW:-1})) state_is "$brief" failed
state_is "$stay" reconnecting || die "the login was not delayed for long enough"

note "the other disk returns"
wait_for 100 state_is "$stay" live
wait $reader || die "the read that waited has failed"
works "$stay"
need "$stay" connections_lost -eq 1
detach "$brief"
detach "$stay"
configfs_clear
unload
