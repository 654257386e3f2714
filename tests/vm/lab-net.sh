#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --nodes 2 --timeout 120
# short: ping, RDMA, barriers, cut, join, pause, resume, kill and start work between two machines
. ../lib/lab.sh
peer=10.9.0.$((3 - NODE))
answers() { ping -c 1 -W 1 "$peer"; }
silent() { ! answers; }

if [ "$LAB_BOOT" = 2 ]; then
	same "$NODE" 2
	note "second boot"
	barrier second-life
	exit 0
fi

barrier up
wait_for 10 answers
run ping -q -c 3 -i 0.2 -M "do" -s 8900 "$peer"

if [ "$NODE" = 1 ]; then
	rping -s -a 10.9.0.1 -C 10 &
	wait_for 10 sh -c 'rdma resource show cm_id | grep -q LISTEN'
	barrier rping
	wait $! || die "rping server"
	ib_send_bw -d rxe0 -s 65536 -n 500 >"$OUT/bw" &
	wait_for 10 sh -c 'ss -ltn | grep -q :18515'
	barrier bw
	wait $! || die "ib_send_bw"
	note "ib_send_bw: $(awk '$1 == 65536 { print $4 }' "$OUT/bw") MB/s"
else
	barrier rping
	run rping -c -a 10.9.0.1 -C 10
	barrier bw
	run ib_send_bw -d rxe0 -s 65536 -n 500 10.9.0.1 >"$OUT/bw"
fi
barrier rdma

# Leave a value for the other node.
tell "from-$NODE" "hello from n$NODE"
barrier told
same "$(told "from-$((3 - NODE))")" "hello from n$((3 - NODE))"

# The name of a barrier can be used twice. A barrier that the other node does not reach must fail.
barrier again
barrier again
if [ "$NODE" = 1 ]; then
	refused lab barrier alone --timeout 1

	note "cut and join"
	run lab cut 2
	wait_for 10 silent
	run lab join 2
	wait_for 20 answers

	note "pause and resume"
	run lab pause 2
	wait_for 10 silent
	run lab resume 2
	wait_for 20 answers

	note "kill and start"
	run lab kill 2
	wait_for 10 silent
	refused lab barrier with-the-dead
	run lab start 2
	barrier second-life
	wait_for 10 answers
	run lab log "node 1 has passed all steps"
else
	sleep infinity
fi
