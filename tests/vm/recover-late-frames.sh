#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 200
# short: frames of an old connection that arrive seconds after the new connection is live change no data
. ../lib/lab.sh
. ../lib/rnbd.sh

DELAY=6			# s by which frames are delayed; longer than a reconnect
[ -z "$LAB_SLOW" ] || DELAY=30
BLOCKS="3 4 5 6 7 8"

# netem delays some packets that the client sends, and later packets overtake them. The client loses
# its queue pair and reconnects before the old frames and their data arrive at the target. A packet
# counter of nft shows that the old packets arrive after that.

if [ "$NODE" = 1 ]; then
	set_host_id
	target_start
	disk=$(null_disk 64) || exit 1
	export_disk disk0 "$disk"
	barrier exported
	barrier attached
	# The queue pairs of the type RC are those of the session; the connection manager has
	# another type.
	old=$(rdma resource show qp | sed -n 's/.* lqpn \([0-9]*\) .*type RC.*/\1/p')
	note "old queue pairs: $(echo "$old" | xargs)"
	[ -n "$old" ] || die "no queue pair"
	nft -f - <<-E2 || die "nft failed"
	table ip late {
		set old { typeof @th,104,24; elements = { $(echo "$old" | xargs | tr ' ' ,) } }
		chain input {
			type filter hook input priority 0;
			udp dport 4791 @th,104,24 @old counter
		}
	}
	E2
	late() { nft list table ip late | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p'; }
	barrier counting
	barrier again 120
	before=$(late)
	barrier written
	barrier arrived 120
	after=$(late)
	note "packets for the old connection: $before before the new one was live, $((after - before)) after that"
	[ $((after - before)) -ge 6 ] || die "no packet was late"
	for b in $BLOCKS; do
		same "$(dd if="$disk" bs=4k skip="$b" count=1 iflag=direct status=none | head -c 4)" \
		     0003 "block $b"
	done
	echo "stale requests dropped by the target: $(cat "$CFG/exports/disk0/stale_requests")," \
		"frames: $(cat "$CFG/hosts/$(host_id 2)/stale_frames")"
	barrier end
	configfs_clear
	unload
	exit 0
fi

set_host_id
netem_ready
barrier exported
dev=$(attach disk0 --queues 1 --keepalive 30000) || exit 1

# put GENERATION BLOCK: write the block
put() {
	printf '%04d%4092s' "$1" '' |
		dd of="$dev" bs=4k seek="$2" count=1 iflag=fullblock oflag=direct status=none
}

for b in $BLOCKS; do put 1 "$b" || die "write failed"; done
barrier attached
barrier counting

netem delay ${DELAY}s
pids=()
for b in $BLOCKS; do
	put 2 "$b" &
	pids+=($!)
done
# The six writes need a data packet each and at least one packet with a request frame.
backlog() { tc -s qdisc show dev eth0 | sed -n 's/.*backlog [^ ]* \([0-9]*\)p.*/\1/p'; }
held() { [ "$(backlog)" -ge "$1" ]; }
wait_for 10 held 7
netem delay 0
# kill_queue would wait for the next keep-alive, which is too late. fail_post acts at the next post.
strike rnbd fail_post 1
put 2 1 &
pids+=($!)
wait_for 20 counter_over "$dev" reconnects 0
[ "$(backlog)" -ge 7 ] || die "the delayed packets have arrived already"
barrier again 120
for p in "${pids[@]}"; do wait "$p" || die "I/O error in spite of the policy"; done
for b in $BLOCKS; do put 3 "$b" || die "write failed"; done
[ "$(backlog)" -ge 7 ] || die "the delayed packets have arrived before the newer writes"
note "newer writes are complete, $(backlog) packets are still delayed"
barrier written
empty() { [ "$(backlog)" = 0 ]; }
wait_for 40 empty
barrier arrived 120
for b in $BLOCKS; do
	same "$(dd if="$dev" bs=4k skip="$b" count=1 iflag=direct status=none | head -c 4)" 0003 "block $b"
done
detach "$dev"
barrier end
unload
