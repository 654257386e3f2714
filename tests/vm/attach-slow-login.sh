#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 1 --mem 1024 --timeout 300
# turns: 3
# beside: it waits for most of its time
# short: an attach waits for a target that answers the login late, and fails if the target is silent or never answers
. ../lib/lab.sh
. ../lib/rnbd.sh

# Delays of a login in ms. SLOW is longer than 15 s, the time after which an end closes the
# connection to a silent peer if the keep-alive interval is the default. FOREVER is longer than the
# 50 s for which the client waits for the reply to its login.
SLOW=17000
FOREVER=1000000

# held: succeed if the target has begun to delay a login since $before was set
held() { [ "$(hits rnbd-target delay_login)" -gt "$before" ]; }

# closed REASON: succeed if the target has closed a session for this reason
closed() { dmesg | grep -q "rnbd-target: session .* on port 1: $1"; }

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	before=0
	strike rnbd-target delay_login 1 $SLOW
	barrier exported
	wait_for 20 held
	barrier held
	barrier attached 120
	same "$(hits rnbd-target delay_login)" 1 "delayed logins"

	for way in silent endless; do
		before=$(hits rnbd-target delay_login)
		strike rnbd-target delay_login 1 $FOREVER
		barrier "armed-$way"
		wait_for 20 held
		barrier "held-$way"
		# In the case "silent" the client has cut its link. The target must close the
		# session because it gets no keep-alives, and not because the delayed login ends.
		[ $way != silent ] || wait_for 30 closed "no keep-alive from the peer"
		barrier "given-up-$way" 150
		strike rnbd-target delay_login 0
		wait_for 30 sh -c "! ls /sys/kernel/rnbd-target/sessions | grep -q ."
		barrier "gone-$way"
	done
	barrier end
	configfs_clear
	unload
	exit 0
fi

# begin_attach WAY: start an attach and wait until the target holds its login
begin_attach() {
	barrier "armed-$1"
	began=$(now_ms)
	rnbd attach "$ADDR" disk0 --pool 4M >"$OUT/attach" 2>&1 &
	attach=$!
	barrier "held-$1"
}

# given_up SECONDS PATTERN: the attach that begin_attach has started must fail with a message that
# matches PATTERN, at least SECONDS after its start, and leave no RDMA objects
given_up() {
	wait $attach && die "attached to a target that does not reply: $(cat "$OUT/attach")"
	cat "$OUT/attach"
	grep -q "$2" "$OUT/attach" || die "unexpected message"
	[ $(($(now_ms) - began)) -ge $(($1 * 1000)) ] || die "gave up too early"
	wait_for 20 rdma_own_is "$before"
}

modprobe rnbd
before=$(rdma_own)
barrier exported

began=$(now_ms)
rnbd attach "$ADDR" disk0 --queues 2 --pool 4M --keepalive $((500 * ${LAB_SLOW:-1})) >"$OUT/attach" 2>&1 &
attach=$!
barrier held
# An attach that is stopped and continued (Ctrl-Z and fg in a shell) must still succeed.
kill -STOP $attach
kill -CONT $attach
wait $attach || die "attach failed: $(cat "$OUT/attach")"
dev=$(cat "$OUT/attach")
took=$(($(now_ms) - began))
note "attached after $took ms"
[ $took -ge $SLOW ] || die "the login was not delayed"
verify "$dev" --rw=randwrite --bs=4k --iodepth=8 --size=1m
need "$dev" reconnects -eq 0
detach "$dev"
barrier attached

begin_attach silent
lab cut 2
given_up 14 "no keep-alive from the peer"
barrier given-up-silent
lab join 2
barrier gone-silent

begin_attach endless
given_up 50 "the target does not answer the login"
barrier given-up-endless
barrier gone-endless

note "an attach afterwards works"
dev=$(attach disk0) || exit 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=8 --size=1m
detach "$dev"
unload
barrier end
