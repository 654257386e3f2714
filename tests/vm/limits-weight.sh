#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# adapter: only
# turns: 3
# without: event, because a lost connection makes a gap in a rate that is measured
# short: two hosts with the weights 100 and 300 share slow storage 1 to 3; with equal weights 1 to 1; a host alone has all of it
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# Rule R14. The storage works on AT_ONCE requests, each takes much longer than the processor
# needs for it, and the window of the export holds no more. So the order in which the target
# hands requests to the storage decides. Host 2 is the same machine with another id.
AT_ONCE=4
STORAGE_NS=$((20000000 * ${LAB_SLOW:-1}))
SECONDS_OF_RATE=12
TOLERANCE=20	# per cent

set_host_id
target_start
# Hosts may have more in flight than the storage works on.
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
# bytes DEV: read and written
bytes() {
	local f
	read -ra f <"/sys/block/${1##*/}/stat" && echo $(((f[2] + f[6]) * 512))
}
# measure: what both have moved in some seconds in $a and $b
measure() {
	a=$(bytes "$one") b=$(bytes "$two")
	sleep $SECONDS_OF_RATE
	a=$(($(bytes "$one") - a)) b=$(($(bytes "$two") - b))
}
# shares WEIGHT: of host 1 as per cent of that of host 2
shares() {
	local percent

	[ "$a" -gt 0 ] || die "host 1 got nothing"
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
# requests in flight pass
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
need "$one" lost -eq 0
need "$two" lost -eq 0
verify "$one" --rw=randwrite --bs=4k --iodepth=16 --size=1m
detach "$one"
detach "$two"
configfs_clear
unload
