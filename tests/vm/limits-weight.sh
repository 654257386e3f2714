#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# adapter: only
# turns: 3
# without: event, because a lost connection makes a gap in a rate that is measured
# short: hosts with weights 100 and 300 share slow storage 1 to 3, with equal weights 1 to 1; a host that is alone gets all of it
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# Requests beyond the window of a storage wait in the target, which then serves the hosts in
# proportion to their weights. Here the storage executes AT_ONCE requests concurrently,
# and the window admits no more. A request takes much longer in the storage than on the processor,
# so the order in which the target submits requests decides the rates. Host 2 is the same machine
# with another host id.
AT_ONCE=4
STORAGE_NS=$((20000000 * ${LAB_SLOW:-1}))
SECONDS_OF_RATE=12
TOLERANCE=20	# per cent

set_host_id
target_start
# Let hosts have more requests in flight than the storage executes concurrently.
param rnbd_target storage_inflight 1024
disk=$(null_disk 64 irqmode=2 completion_nsec=$STORAGE_NS submit_queues=1 hw_queue_depth=$AT_ONCE) || exit 1
export_disk disk0 "$disk" 1 2
echo $AT_ONCE >"$CFG/exports/disk0/window" || die "no window"

one=$(attach disk0 --queues 2) || exit 1
two=$(attach disk0 --queues 2 --host-id "$(host_id 2)" --new-session) || exit 1

load_both() {
	steadily one "$one" --rw="$1" --bs=4k --iodepth=64 --size=32m
	steadily two "$two" --rw="$1" --bs=4k --iodepth=64 --size=32m
}
end_both() {
	steadily_end one
	steadily_end two
}
# bytes DEV: print the bytes read and written since the disk was attached
bytes() {
	local f
	read -ra f <"/sys/block/${1##*/}/stat" && echo $(((f[2] + f[6]) * 512))
}
# measure: set $a and $b to the bytes that hosts 1 and 2 transfer in SECONDS_OF_RATE
measure() {
	a=$(bytes "$one") b=$(bytes "$two")
	sleep $SECONDS_OF_RATE
	a=$(($(bytes "$one") - a)) b=$(($(bytes "$two") - b))
}
# shares PERCENT: check that host 2 got PERCENT % of the bytes of host 1, within TOLERANCE
shares() {
	local percent

	[ "$a" -gt 0 ] || die "host 1 completed no requests"
	percent=$((b * 100 / a))
	note "host 1: $a bytes, host 2: $b bytes, $percent % of that; wanted $1 %"
	if [ "$percent" -lt $(($1 * (100 - TOLERANCE) / 100)) ] || [ "$percent" -gt $(($1 * (100 + TOLERANCE) / 100)) ]; then
		die "host 2 got $percent % of what host 1 got instead of $1 %"
	fi
}
queued() { [ "$(cat "$CFG/hosts/$(host_id "$1")/queued_requests")" -gt 0 ]; }

note "equal weights"
load_both randread
wait_for 20 queued 1
wait_for 20 queued 2
measure
shares 100
all=$((a + b))

note "weights 100 and 300, while both are busy"
run rnbd host weight "$(host_id 1)" 100
run rnbd host weight "$(host_id 2)" 300
# Wait until the requests that were submitted with the old weights have completed.
sleep 1
measure
shares 300
[ $((a + b)) -ge $((all * 8 / 10)) ] || die "both got $((a + b)) bytes, and $all with equal weights"
end_both

note "writes"
load_both randwrite
wait_for 20 queued 1
wait_for 20 queued 2
measure
shares 300

note "the weight of a host limits nothing while no other host is busy"
steadily_end two
sleep 1
measure
[ "$a" -ge $((all * 8 / 10)) ] || die "host 1 alone got $a bytes, both together $all"
steadily_end one

run rnbd host weight "$(host_id 2)" 100
need "$one" connections_lost -eq 0
need "$two" connections_lost -eq 0
verify "$one" --rw=randwrite --bs=4k --iodepth=16 --size=1m
detach "$one"
detach "$two"
configfs_clear
unload
