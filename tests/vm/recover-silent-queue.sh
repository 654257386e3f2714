#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 3
# kernel: stock
# short: a connection with a request older than a keep-alive interval is probed: slow storage answers, a silent connection is closed
. ../lib/lab.sh
. ../lib/rnbd.sh

# The client probes a connection that has an unanswered request older than one keep-alive interval.
# Keep-alives use only the first connection, so only the probe can detect that the target has become
# silent on the second connection. nft drops the packets with SENDs of the target to the queue pair
# of the second connection. All other packets arrive, including acknowledgments, so the device of
# the client reports no error.
KEEPALIVE=500			# ms; short: the probe fails while the target still resends SENDs
HELD=$((8 * KEEPALIVE))		# ms; longer than the limit for a silent peer, 3 intervals

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

# Count the packets that arrive for each of the two queue pairs of the session.
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
# While the disk is idle, more packets arrive on the first connection, because it has the
# keep-alives.
heard() { [ $(($(packets 0) + $(packets 1))) -ge 20 ]; }
wait_for 60 heard
second=1
[ "$(packets 0)" -gt "$(packets 1)" ] || second=0
note "packets while the disk was idle: $(packets 0) and $(packets 1)"
before=$(packets $second)
[ $((before * 2)) -lt "$(packets $((1 - second)))" ] || die "the connection with the keep-alives cannot be determined"

# on_second COMMAND...: run it on a CPU whose requests use the second connection
on_second() { taskset -c "$cpu" "$@"; }
on_second dd if="$dev" of=/dev/null bs=4k count=50 iflag=direct status=none || die "dd failed"
[ "$(packets $second)" -ge $((before + 50)) ] || die "the requests of CPU $cpu used the other connection"

note "a request is in slow storage for longer than the keep-alive timeout: the probe gets a reply"
barrier hold
barrier armed
before=$(packets $second)
began=$(now_ms)
on_second dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct status=none || die "the write failed"
took=$(($(now_ms) - began))
need_counter $took -ge $((HELD * 3 / 4)) "ms of the write"
# At least the acknowledgments of the request and of a probe, the reply, and an answer to a probe
# arrive.
need_counter $(($(packets $second) - before)) -ge 4 "packets of the connection during the write"
need "$dev" connections_lost -eq 0

note "packets of the target are dropped: the probe gets no reply, and the connection is closed"
nft add rule ip silent input udp dport 4791 @th,64,8 0x00-0x05 @th,104,24 "${pairs[second]}" counter drop comment '"dropped"' ||
	die "no rule"
began=$(now_ms)
on_second dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct status=none 2>"$OUT/dd" &
reader=$!
# Further requests let the target hear the client, so that the target, whose time limit for a silent
# peer is the same, does not close the connection first.
for at in 1 2; do
	sleep 0.4
	on_second dd if="$dev" of=/dev/null bs=4k count=1 skip=$at iflag=direct status=none 2>"$OUT/dd-$at" &
	readers[at]=$!
done
wait_for 20 counter_over "$dev" connections_lost 0
took=$(($(now_ms) - began))
need_counter "$(packets dropped)" -gt 0 "packets that were dropped"
nft delete table ip silent || die "the rules cannot be deleted"
note "closed after $took ms"
need_counter $took -ge $KEEPALIVE "ms until the connection was closed"
# Without the probe only the time limit of the request, 30 s, would apply.
need_counter $took -lt $((8 * KEEPALIVE + 4000)) "ms until the connection was closed"
dmesg_has 'no keep-alive from the peer' || die "the log lacks the reason"
live() { [ "$(counter "$dev" state)" = live ]; }
wait_for 60 live
wait $reader || die "the read failed: $(cat "$OUT/dd")"
wait "${readers[@]}" || die "a further read failed: $(cat "$OUT"/dd-*)"
wait_for 20 connections_are 2
need "$dev" connections_lost -eq 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=4m
detach "$dev"
barrier end
unload
