#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# adapter: only
# turns: 3
# without: event, because a lost connection makes a gap in a latency that is measured
# short: while io.cost or io.latency throttles one host, the p99 latency of another host with one request in flight stays low
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# io.cost and io.latency put the task to sleep that submits a bio. So a task that can sleep during a
# submission must serve only one session and one export. If it served several hosts, each
# request of another host could wait as long as a request of the throttled host: 1 s / COST_IOPS.
# Here one machine attaches the same export under several host ids. The kernel of Debian has no
# io.latency; the debug kernel has io.cost and io.latency.
CG=/sys/fs/cgroup
SLICE=$CG/rnbd.slice
STORAGE_NS=$((2000000 * ${LAB_SLOW:-1}))
COST_IOPS=$((10 / ${LAB_SLOW:-1}))	# requests per second that io.cost allows host 1
[ $COST_IOPS -gt 0 ] || COST_IOPS=1
FACTOR=4	# limit for p99 of host 2 beside host 1, relative to p99 alone
SECONDS_OF_LOAD=8
# Milliseconds. A busy machine alone can cause a p99 up to this value, without a wait for a cgroup.
NOISE=$((20 * ${LAB_SLOW:-1}))

cgroup() { echo "$2" >"$1" || die "$1: $2"; }
mountpoint -q $CG || mount -t cgroup2 none $CG || die "no cgroup2"
cgroup $CG/cgroup.subtree_control +io
run mkdir $SLICE
cgroup $SLICE/cgroup.subtree_control +io
run mkdir $SLICE/rnbd-held.slice $SLICE/rnbd-guarded.slice
has_cost() { [ -e $CG/io.cost.qos ]; }
has_latency() { [ -e $SLICE/io.latency ]; }
if ! has_cost && ! has_latency; then
	echo "skip: the kernel has neither io.cost nor io.latency"
	rmdir $SLICE/rnbd-held.slice $SLICE/rnbd-guarded.slice $SLICE
	exit 77
fi

set_host_id
target_start
disk=$(null_disk 64 irqmode=2 completion_nsec=$STORAGE_NS) || exit 1
export_disk disk0 "$disk" 1 2 3
MAJMIN=$(cat "/sys/block/${disk##*/}/dev")

devs=()
for i in 1 2 3; do
	devs[i]=$(attach disk0 --queues 2 --host-id "$(host_id $i)" --new-session) || exit 1
done
for ((i = 1; i <= 3; i++)); do
	verify "${devs[i]}" --rw=randwrite --bs=4k --iodepth=16 --size=1m
done

# measure: set p99 to the 99th percentile of the latency of reads of host 2 in us; one read is in
# flight at a time
measure() {
	fio --name=p99 --filename="${devs[2]}" --direct=1 --ioengine=libaio --rw=randread --bs=4k \
	    --iodepth=1 --size=32m --ramp_time=1 --time_based --runtime=$SECONDS_OF_LOAD \
	    --percentile_list=99 --output-format=json --output="$OUT/p99.json" 2>"$OUT/p99.err" ||
		die "fio: $(cat "$OUT/p99.err")"
	sed -i '/^{/,$!d' "$OUT/p99.json"
	p99=$(jq '.jobs[0].read.clat_ns.percentile["99.000000"] / 1000 | floor' "$OUT/p99.json")
	[ "${p99:-0}" -gt 0 ] || die "no p99"
}
# stays WHAT: p99 of host 2 must be at most FACTOR times its p99 alone or NOISE ms, whichever is
# larger
stays() {
	local most=$((alone * FACTOR))

	[ $most -ge $((NOISE * 1000)) ] || most=$((NOISE * 1000))
	measure
	note "$1: p99 of host 2 is $p99 us, alone $alone us; at most $most"
	[ "$p99" -le $most ] || die "$1: p99 of host 2 is $p99 us, alone $alone us"
}
# rate DEV: print the requests per second over 3 s
rate() {
	local from

	from=$(completed "$1")
	sleep 3
	echo $((($(completed "$1") - from) / 3))
}
# below IOPS: succeed if host 1 has at most IOPS requests per second; for wait_for
below() { [ "$(rate "${devs[1]}")" -le "$1" ]; }

note "host 2 alone, and beside an unlimited host"
measure
alone=$p99
steadily one "${devs[1]}" --rw=randread --bs=4k --iodepth=64 --size=32m
wait_for 20 counter_over "${devs[1]}" requests 500
free=$(rate "${devs[1]}")
measure
note "p99 of host 2: $alone us alone, $p99 us beside $free requests per second of host 1"
[ "$free" -gt $((COST_IOPS * 8)) ] || die "host 1 has only $free requests per second"

if has_cost; then
	note "io.cost limits host 1"
	run rnbd host cgroup "$(host_id 1)" rnbd.slice/rnbd-held.slice
	# A cost model with a fixed rate: each request costs the same, and bytes hardly count.
	cgroup $CG/io.cost.model "$MAJMIN ctrl=user model=linear rbps=1073741824 rseqiops=$COST_IOPS rrandiops=$COST_IOPS wbps=1073741824 wseqiops=$COST_IOPS wrandiops=$COST_IOPS"
	cgroup $CG/io.cost.qos "$MAJMIN enable=1 ctrl=user rpct=0 rlat=1000000 wpct=0 wlat=1000000 min=100.00 max=100.00"
	wait_for 30 below $((COST_IOPS * 4))
	stays "io.cost"
	below $((COST_IOPS * 4)) || die "io.cost no longer limits host 1: this test proves nothing"
	cgroup $CG/io.cost.qos "$MAJMIN enable=0"
	run rnbd host cgroup "$(host_id 1)" none
	recovered() { ! below $((free / 4)); }
	wait_for 30 recovered
else
	note "no io.cost"
fi

if has_latency; then
	note "io.latency limits host 1 in favour of host 3"
	run rnbd host cgroup "$(host_id 1)" rnbd.slice/rnbd-held.slice
	run rnbd host cgroup "$(host_id 3)" rnbd.slice/rnbd-guarded.slice
	# No request is as fast as this latency target of 1 us, so io.latency throttles the other
	# cgroup, that of host 1.
	cgroup $SLICE/rnbd-guarded.slice/io.latency "$MAJMIN target=1"
	steadily three "${devs[3]}" --rw=randread --bs=4k --iodepth=4 --size=32m
	wait_for 60 below $((free / 2))
	note "host 1 has $(rate "${devs[1]}") requests per second, $free before"
	stays "io.latency"
	below $((free / 2)) || die "io.latency no longer limits host 1: this test proves nothing"
	steadily_end three
	cgroup $SLICE/rnbd-guarded.slice/io.latency "$MAJMIN target=0"
	run rnbd host cgroup "$(host_id 1)" none
	run rnbd host cgroup "$(host_id 3)" none
else
	note "no io.latency"
fi

steadily_end one
for i in 1 2 3; do
	need "${devs[i]}" connections_lost -eq 0
	detach "${devs[i]}"
done
configfs_clear
run rmdir $SLICE/rnbd-held.slice $SLICE/rnbd-guarded.slice $SLICE
unload
