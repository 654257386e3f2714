#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure how the target divides storage and pool memory among hosts; runs in a lab machine that
# counts instructions, so that all times are those of the guest:
#
# scripts/lab run --icount --mem 3072 --timeout 5000 --out DIR tests/bench/fairness.sh WHAT SECONDS
#
# WHAT is one of
#   depths     8 hosts that have 1, 2, 4, ... 128 requests in flight, on one storage
#   weights    3 hosts of the weights 1, 2 and 4
#   cgroup     io.max of the cgroup of a host, beside a host without limits
#   neighbour  p99 latency of a host with one request in flight, alone and beside a host with 256
#   greedy     16 hosts with the same mix of requests of 4 KiB and 1 MiB, on a target with memory
#              for the pools of 4 hosts; the adapter is the bottleneck
#   greedy-cpu as greedy, but the processor is the bottleneck
#   newcomer   as greedy-cpu, but the last host starts when the others are busy
# SECONDS is the duration of a measured load.
#
# Client and target are one machine with two modelled adapters. Each host is the client with another
# host id, and has a session with one connection. The storage is a null_blk that takes STORAGE_NS
# for a request and processes STORAGE_AT_ONCE requests concurrently; it is much slower than the
# processor. The window of the export is set for STORAGE_AT_ONCE requests, or is the default window.
# The modes cgroup, greedy, greedy-cpu and newcomer use a null_blk that takes no time. In the mode
# greedy the adapter is SLOW times slower than its profile, so that the processor is not the
# bottleneck: client and target share it, and for 16 connections it needs more time per request than
# for one, even if the target divides the pool memory well. The mode neighbour also measures on a
# scsi_debug that takes a random time of up to RANDOM_NS. On a null_blk, requests that are submitted
# together complete together, so a later request waits for all of them, whatever the target does.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh
# shellcheck source=tests/lib/storage.sh
. ../lib/storage.sh
# shellcheck source=tests/bench/scale.sh
. ./scale.sh

what=$1 seconds=$2
PART=fairness-$what
STORAGE_NS=2000000
STORAGE_AT_ONCE=8
RANDOM_NS=20000000		# upper limit, scsi_debug
GREEDY=16 BUDGET=4 POOL=16	# hosts, hosts for whose pools there is memory, MiB of a pool
NEWCOMER_AFTER=3		# seconds
JAIN=0.95
SLOW=1
[ "$what" != greedy ] || SLOW=20

ADDR=$MDL_TARGET
set_host_id
adapter_load dma=direct timed=Y slowdown=$SLOW round_trip_ns=2500
adapter_up profile=mlx5
modprobe rnbd || die "modprobe rnbd failed"
target_start
# The storage takes few requests, but hosts may have more requests in flight.
parameter rnbd_target storage_inflight 1024
make_hosts 1 $GREEDY
make_port
rm -f "$OUT/results"
uname -r >"$OUT/kernel"

# slow_export NAME, random_export NAME, fast_export NAME: export a new device to hosts 1 to GREEDY;
# set $disk to the device
slow_export() {
	disk=$(null_disk 64 memory_backed=0 discard=0 irqmode=2 completion_nsec=$STORAGE_NS \
		hw_queue_depth=$STORAGE_AT_ONCE max_sectors=256) || exit 1
	export_disk "$1" "$disk"
	allow_hosts "$1" 1 $GREEDY
}
random_export() {
	disk=$(scsi_disk 64 fake_rw=1 random=1 ndelay=$RANDOM_NS max_queue=$STORAGE_AT_ONCE) || exit 1
	echo none >"/sys/block/${disk##*/}/queue/scheduler"
	export_disk "$1" "$disk"
	allow_hosts "$1" 1 $GREEDY
}
fast_export() {
	disk=$(null_disk 64 memory_backed=0 discard=0) || exit 1
	export_disk "$1" "$disk"
	allow_hosts "$1" 1 $GREEDY
}

# fit_window EXPORT BYTES: set the window of EXPORT so that the storage gets STORAGE_AT_ONCE
# requests of BYTES at a time; set $window to this window
fit_window() {
	# The unit of a window is the cost of a request of 4 KiB. A request costs 16 KiB plus its
	# length, and goes to the storage if the cost in flight is below the window. So set the
	# window to a little more than the cost of STORAGE_AT_ONCE - 1 requests of BYTES.
	window=$((((STORAGE_AT_ONCE - 1) * (16384 + $2) + 16384 + 4096) / (16384 + 4096)))
	echo $window >"$CFG/exports/$1/window" || die "no window"
}
default_window() { window=0 && echo 0 >"$CFG/exports/$1/window"; }

# attach_hosts NUMBER EXPORT OPTION...: attach EXPORT for each of the hosts 1 to NUMBER
attach_hosts() {
	local i

	for ((i = 1; i <= $1; i++)); do
		attach_session "$i" "$2" --queues 1 "${@:3}"
		echo none >"/sys/block/${devs[i]##*/}/queue/scheduler"
	done
}

# contest OPTION...: run fio on all disks concurrently, with ${depths[I]} requests in flight on the
# disk of host I; $OUT/fio.json has the jobs in the order of the hosts. $more are options of the
# last job.
contest() {
	local i jobs=()

	for i in "${!depths[@]}"; do jobs+=(--name="h$i" --filename="${devs[i]}" --iodepth="${depths[i]}"); done
	fio --thread --direct=1 --ioengine=libaio --norandommap --size=60m --randseed=7 --time_based \
	    --lat_percentiles=1 --clat_percentiles=0 --percentile_list=50:99 --output-format=json \
	    --output="$OUT/fio.json" "$@" "${jobs[@]}" "${more[@]}" 2>"$OUT/fio.err" ||
		die "fio: $(head -n 3 "$OUT/fio.err")"
	# fio can print notes before the JSON.
	sed -i '/^{/,$!d' "$OUT/fio.json"
	jq -c '[.jobs[] | .read.bw_bytes + .write.bw_bytes]' "$OUT/fio.json" >"$OUT/rates" || die "jq failed"
}
devs=() depths=() more=()

sum() { jq add "$OUT/rates"; }
# jain [N]: print Jain's index without the first N hosts
jain() { jq --argjson from "${1:-0}" '.[$from:] | (add * add) / (length * (map(. * .) | add))' "$OUT/rates"; }

# judged FIGURE-ARGUMENT...: record a figure. After default_window the goal is left out, because the
# default window is meant for storage that processes more requests concurrently.
judged() {
	if [ "$window" = 0 ]; then
		figure "$1, default window" "${@:2:2}"
	else
		figure "$@"
	fi
}

measure_depths() {
	local bs kind

	slow_export disk
	attach_hosts 8 disk
	for ((i = 0; i < 8; i++)); do depths[i + 1]=$((1 << i)); done
	for bs in 4k 128k; do
		for kind in fit default; do
			"${kind}_window" disk $((${bs%k} * 1024))
			contest --rw=randread --bs=$bs --ramp_time=1 --runtime="$seconds"
			DETAILS=$(jq -c '{ depths: [1, 2, 4, 8, 16, 32, 64, 128], bytes_per_s: . }' "$OUT/rates")
			judged "$bs: Jain's index of 8 hosts with depth 1 to 128" "$(jain)" index
			# A host with few requests in flight cannot use its share: when the storage
			# could begin a request, often none of this host waits.
			judged "$bs: Jain's index of 5 hosts with depth 8 to 128" "$(jain 3)" index ">=" $JAIN
			figure "$bs, window $window: all of them" "$(jq -n "$(sum) / $((${bs%k} * 1024))")" IOPS
		done
	done
}

measure_weights() {
	local bs i weights=(100 200 400)

	slow_export disk
	attach_hosts 3 disk
	for i in 1 2 3; do
		scale_host $i
		run rnbd host weight "$host" "${weights[i - 1]}"
		depths[i]=64
	done
	for bs in 4k 128k; do
		fit_window disk $((${bs%k} * 1024))
		contest --rw=randread --bs=$bs --ramp_time=1 --runtime="$seconds"
		DETAILS=$(jq -c '{ weights: [1, 2, 4], bytes_per_s: . }' "$OUT/rates")
		figure "$bs: largest error of a share, weights 1, 2, 4" "$(jq 'add as $all |
			[., [1, 2, 4]] | transpose | map(.[0] / $all / (.[1] / 7) - 1 | fabs) | max' \
			"$OUT/rates")" "of the share" "<=" 0.1
	done
}

# measure_cgroup: for exports without page cache. With page cache the kernel writes later, and
# charges the writes to another cgroup than that of the host.
measure_cgroup() {
	local cg=/sys/fs/cgroup slice=/sys/fs/cgroup/rnbd.slice limit=$((4 << 20)) rw

	mountpoint -q $cg || mount -t cgroup2 none $cg || die "no cgroup2"
	{ echo +io >$cg/cgroup.subtree_control && mkdir $slice; } || die "no io controller"
	fast_export disk
	echo "$(cat "/sys/block/${disk##*/}/dev") rbps=$limit wbps=$limit" >$slice/io.max || die "no io.max"
	attach_hosts 2 disk
	scale_host 1
	run rnbd host cgroup "$host" rnbd.slice
	same "$(rnbd host cgroup "$host")" /rnbd.slice "the cgroup of the host"
	depths=([1]=16 [2]=1)
	for rw in randread randwrite; do
		contest --rw=$rw --bs=16k --ramp_time=2 --runtime="$seconds"
		DETAILS=$(jq -c --argjson limit $limit '{ limit: $limit, bytes_per_s: .[0], beside: .[1] }' "$OUT/rates")
		figure "$rw, direct: error of io.max over $seconds s" \
			"$(jq --argjson limit $limit '.[0] / $limit - 1 | fabs' "$OUT/rates")" \
			"of the limit" "<=" 0.03
		[ "$(jq ".[1] > 2 * $limit" "$OUT/rates")" = true ] ||
			die "the host without limits got $(jq '.[1]' "$OUT/rates") bytes/s"
	done
}

# p99: print the p99 latency of the first job in us
p99() { jq '.jobs[0].read.lat_ns.percentile["99.000000"] / 1000' "$OUT/fio.json"; }

measure_neighbour() {
	local storage kind

	for storage in slow random; do
		"${storage}_export" "$storage"
		attach_hosts 2 $storage --queue-depth 256
		for kind in fit default; do
			beside_neighbour $storage
		done
		detach_all
		devs=()
	done
}

# beside_neighbour STORAGE: measure a host with depth 1, alone and beside a host with depth 256
beside_neighbour() {
	# A host with one request in flight completes few requests per second. Measure three times
	# as long, so that the p99 is that of more than 1,000 requests.
	local bs alone goal=() long=$((3 * seconds))

	# On a null_blk the device alone determines how long a request waits, so there is no goal.
	[ "$1" != random ] || goal=("<=" 1.5)
	"${kind}_window" "$1" 4096
	depths=([1]=1) more=()
	contest --rw=randread --bs=4k --ramp_time=1 --runtime="$long"
	alone=$(p99)
	judged "$1 storage: p99 of depth 1, alone" "$alone" us
	depths=([1]=1 [2]=256)
	for bs in 4k 128k; do
		"${kind}_window" "$1" $((${bs%k} * 1024))
		more=("--bs=$bs")
		contest --rw=randread --bs=4k --ramp_time=1 --runtime="$long"
		DETAILS=$(jq -nc --argjson alone "$alone" --argjson beside "$(p99)" --arg bs $bs \
			'{ bs_of_neighbour: $bs, alone_us: $alone, beside_us: $beside }')
		judged "$1 storage: p99 of depth 1 beside depth 256 of $bs, against alone" \
			"$(jq -n "$(p99) / $alone")" times "${goal[@]}"
	done
}

mix=(--bssplit=4k/50:1m/50)

# greedy_hosts: attach GREEDY hosts, each with a pool of POOL MiB that can shrink to 1 MiB
greedy_hosts() {
	parameter rnbd_target pool_limit_mb $((BUDGET * POOL))
	fast_export disk
	attach_hosts $GREEDY disk --pool ${POOL}M --pool-floor 1M
}

measure_greedy() {
	local rw alone i goal=()

	[ "$what" != greedy ] || goal=(">=" 0.95)
	greedy_hosts
	for rw in randread randwrite; do
		depths=([1]=32)
		contest --rw=$rw "${mix[@]}" --ramp_time=2 --runtime="$seconds"
		alone=$(sum)
		figure "$rw: one host alone" "$(jq -n "$alone / 1e6")" MB/s
		for ((i = 1; i <= GREEDY; i++)); do depths[i]=32; done
		contest --rw=$rw "${mix[@]}" --ramp_time=2 --runtime="$seconds"
		DETAILS=$(jq -c '{ bytes_per_s: . }' "$OUT/rates")
		figure "$rw: Jain's index of $GREEDY hosts, memory for $BUDGET" "$(jain)" index ">=" $JAIN
		figure "$rw: all of them, against one alone" "$(jq -n "$(sum) / $alone")" times "${goal[@]}"
	done
}

# bytes_in FILE FROM TO: print the bytes in a log of fio between two times in ms
bytes_in() { awk -F ', *' -v from="$2" -v to="$3" '$1 >= from && $1 < to { n += $4 } END { printf "%.0f", n }' "$1"; }

# watch_pool SESSION FILE: add a line "MS BYTES" to FILE 50 times per second: the time in ms, and
# the size of the pool
watch_pool() {
	local size tick

	exec {tick}<> <(:)
	while read -r size <"$1/pool_size"; do
		echo "$((${EPOCHREALTIME/[.,]/} / 1000)) $size"
		read -rt 0.02 -u "$tick"
	done >"$2" 2>/dev/null
}

shrunk() {
	local size floor

	read -r size <"$session/pool_size" && read -r floor <"$session/pool_floor" && [ "$size" = "$floor" ]
}

measure_newcomer() {
	local rw log=/dev/shm/newcomer i session last=$GREEDY begun others mine held

	greedy_hosts
	for ((i = 1; i <= GREEDY; i++)); do depths[i]=32; done
	scale_host $GREEDY
	session=$(dirname "$(grep -lx "$host" $T/sessions/*/host_id)")
	for rw in randread randwrite; do
		wait_slowly 600 shrunk
		rm -f $log*
		watch_pool "$session" "$OUT/held.$rw" &
		more=("--startdelay=$NEWCOMER_AFTER" "--runtime=$seconds")
		contest --rw=$rw "${mix[@]}" --runtime=$((seconds + NEWCOMER_AFTER)) \
			--write_bw_log=$log --log_unix_epoch=1
		kill $!
		begun=$(awk -F, 'NR == 1 || $1 < first { first = $1 } END { printf "%.0f", first }' ${log}_bw.$last.log)
		mine=$(bytes_in ${log}_bw.$last.log $((begun + 200)) $((begun + 1200)))
		others=0
		for ((i = 1; i < last; i++)); do
			others=$((others + $(bytes_in ${log}_bw.$i.log $((begun + 200)) $((begun + 1200)))))
		done
		held=$(awk -v from="$begun" -v want=$((BUDGET * POOL * 3 * 1048576 / (GREEDY * 4))) '
			$1 >= from && $2 >= want && !at { at = $1 - from + 1 }
			END { print at ? at - 1 : "null" }' "$OUT/held.$rw")
		DETAILS=$(jq -nc --argjson mine "$mine" --argjson others "$others" --argjson ms "$held" '
			{ bytes: $mine, bytes_of_others: $others, ms_to_three_quarters_of_its_pool: $ms }')
		figure "$rw: a newcomer from 200 to 1200 ms, against the mean of the others" \
			"$(jq -n "$mine / ($others / ($GREEDY - 1))")" times ">=" 0.9
		rm -f $log*
	done
}

case $what in
greedy-cpu) measure_greedy ;;
depths | weights | cgroup | neighbour | greedy | newcomer) "measure_$what" ;;
*) die "unknown part: $what" ;;
esac
for i in "${!devs[@]}"; do
	same "$(counter "${devs[i]}" connections_lost)" 0 "connections that host $i has lost"
done
detach_all
no_violations
