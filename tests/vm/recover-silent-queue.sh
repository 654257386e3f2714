#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 3
# kernel: stock
# short: a connection whose request is older than a keep-alive interval is probed: slow storage answers, and a silent connection is given up
. ../lib/lab.sh
. ../lib/rnbd.sh

# Rule R16. Keep-alives travel on the first connection. On the second one nothing is expected
# while it is idle, so only a probe finds out that it is silent. The packets with
# SENDs of the target to that queue pair are dropped; all others arrive, acknowledgments too, so
# the device of the client reports no error.
KEEPALIVE=500			# so short that the device of the target still repeats its SENDs
HELD=$((8 * KEEPALIVE))		# longer than the limit for a silent peer, 3 intervals

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	arm rnbd-target
	export_disk disk0 "$(null_disk 64)" 2
	barrier exported
	barrier hold 150
	strike rnbd-target delay_bio 1 $HELD
	barrier armed
	barrier end 200
	configfs_clear
	unload
	exit 0
fi

barrier exported
dev=$(attach disk0 --queues 2 --keepalive $KEEPALIVE) || exit 1
disk=${dev##*/}
connections_are() { [ "$(counter "$dev" connections)" = "$1" ]; }
wait_for 20 connections_are 2
IFS=', -' read -r cpu _ <"/sys/block/$disk/mq/1/cpu_list"
[ -n "$cpu" ] || die "no processor has the second hardware queue"
works "$dev"

# The two queue pairs of the session, and the packets that arrive for each
mapfile -t pairs < <(rdma resource show qp | sed -n 's/.* lqpn \([0-9]*\) .*type RC.*/\1/p')
same "${#pairs[@]}" 2 "queue pairs of the client"
nft -f - <<-EOF
	table ip silent {
		chain input {
			type filter hook input priority 0;
			udp dport 4791 @th,104,24 ${pairs[0]} counter comment "0"
			udp dport 4791 @th,104,24 ${pairs[1]} counter comment "1"
		}
	}
EOF
packets() {
	nft list table ip silent | awk -v kind="\"$1\"" '
		$NF == kind { for (i = 1; i < NF; i++) if ($i == "packets") print $(i + 1) }'
}
# While the disk is idle only the first connection has keep-alives.
heard() { [ $(($(packets 0) + $(packets 1))) -ge 20 ]; }
wait_for 60 heard
second=1
[ "$(packets 0)" -gt "$(packets 1)" ] || second=0
note "packets while the disk was idle: $(packets 0) and $(packets 1)"
before=$(packets $second)
[ $((before * 2)) -lt "$(packets $((1 - second)))" ] || die "which one has the keep-alives?"

# on_second COMMAND...: its requests take the second connection
on_second() { taskset -c "$cpu" "$@"; }
on_second dd if="$dev" of=/dev/null bs=4k count=50 iflag=direct status=none || die "dd failed"
[ "$(packets $second)" -ge $((before + 50)) ] || die "the requests of CPU $cpu have taken the other connection"

note "a request is in slow storage for longer than a peer may be silent: the probe is answered"
barrier hold
barrier armed
before=$(packets $second)
began=$(now_ms)
on_second dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct status=none || die "the write failed"
took=$(($(now_ms) - began))
need_counter $took -ge $((HELD * 3 / 4)) "ms of the write"
# the acknowledgment of the request and its reply, and at least one answer
need_counter $(($(packets $second) - before)) -ge 4 "packets of the connection during the write"
need "$dev" lost -eq 0

note "nothing that the target sends arrives: the probe is not answered, and the connection is given up"
nft add rule ip silent input udp dport 4791 @th,64,8 0x00-0x05 @th,104,24 "${pairs[second]}" counter drop comment '"dropped"' ||
	die "no rule"
began=$(now_ms)
on_second dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct status=none 2>"$OUT/dd" &
reader=$!
wait_for 20 counter_over "$dev" lost 0
took=$(($(now_ms) - began))
need_counter "$(packets dropped)" -gt 0 "packets that were dropped"
nft delete table ip silent || die "the rules stay"
note "given up after $took ms"
need_counter $took -ge $KEEPALIVE "ms until the connection was given up"
# Without the probe it would be the limit of a request, which is 30 s.
need_counter $took -lt $((8 * KEEPALIVE + 4000)) "ms until the connection was given up"
dmesg_has 'no sign of life from the peer' || die "the log does not say why"
live() { [ "$(counter "$dev" state)" = live ]; }
wait_for 60 live
wait $reader || die "the read failed: $(cat "$OUT/dd")"
wait_for 20 connections_are 2
need "$dev" lost -eq 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=4m
detach "$dev"
barrier end
unload
