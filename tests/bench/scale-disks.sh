#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Compare many disks of one session, each with one request in flight, to one disk with as many
# requests in flight as there are disks; runs in a lab machine that counts instructions:
#
#   scripts/lab run --icount --plugin build/bench-tools/plugin.so --mem 2048 --timeout 3600 \
#       --out DIR tests/bench/scale-disks.sh rxe|PROFILE [IOS [RUNS [DISKS]]]
#
# Client and target are one machine. The wire is soft-RoCE, or two modelled adapters of a profile.
# The threads of fio need processor time as well. So one disk is also measured with as many threads
# as there are disks, and all disks also with one thread. With either wire, the module rdma-model
# measures the IOPS of random 4 KiB requests, and the instructions (tests/adapter/window.c). The
# median of RUNS runs counts.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh
# shellcheck source=tests/bench/attribute.sh
. ./attribute.sh
# shellcheck source=tests/bench/scale.sh
. ./scale.sh

wire=$1 ios=${2:-8000} runs=${3:-3} number=${4:-32}
PART=disks-$wire
SLOWDOWN=1
[ "$wire" = rxe ] || SLOWDOWN=2		# as in adapter.sh
set_host_id
adapter_load dma=direct timed=Y slowdown=$SLOWDOWN round_trip_ns=2500
if [ "$wire" != rxe ]; then
	ADDR=$MDL_TARGET
	adapter_up "profile=$wire"
fi
target_start
for ((i = 0; i < number; i++)); do
	disk=$(null_disk 64 memory_backed=0 discard=0) || exit 1
	export_disk "bench$i" "$disk"
done

# attach_one EXPORT OPTION...: attach a disk and add it to the array devs
attach_one() {
	local dev

	dev=$(attach "$@") || exit 1
	echo none >"/sys/block/${dev##*/}/queue/scheduler"
	devs+=("$dev")
}

# one RW DEPTH [THREADS]: measure all disks, each with THREADS threads that have DEPTH requests in
# flight. With THREADS "all" one thread has DEPTH requests in flight, to the disks in turn. The IOPS
# of each run go to a file.
one() {
	local rw=$1 depth=$2 threads=${3:-1} n=${#devs[@]} run jobs=() dev insns

	if [ "$threads" = all ]; then
		jobs=(--name=all --filename="$(IFS=: && echo "${devs[*]}")"
			--file_service_type=roundrobin)
	else
		for dev in "${devs[@]}"; do
			jobs+=(--name="${dev##*/}" --filename="$dev" --numjobs="$threads")
		done
	fi
	for ((run = 1; run <= runs; run++)); do
		measured $((ios / 4)) "$ios" --rw="$rw" --iodepth="$depth" --randseed=$((7 * run)) "${jobs[@]}"
		insns=$(jq '.insns * .ios | round' "$OUT/one")
		# On soft-RoCE the processor does all the work, so it must never be idle. The clock
		# of this machine jumps while the processor is idle.
		[ "$wire" != rxe ] || [ "$ns" -le $((insns + insns / 20)) ] ||
			die "the clock jumped: $ns ns for $insns instructions"
		jq --argjson ns "$ns" --argjson slow $SLOWDOWN '.ios * 1e9 * $slow / $ns' "$OUT/one" \
			>>"$OUT/iops.$rw.$n.$threads"
	done
	DETAILS=$(jq -c --argjson disks "$n" --argjson depth "$depth" --arg threads "$threads" \
		--arg rw "$rw" '{ $disks, $threads, $depth, $rw, ios, host_instructions }' "$OUT/one")
	figure "$rw 4k, disks: $n, threads of each: $threads, depth $depth" \
		"$(median "$rw" "$n" "$threads")" IOPS
}
median() { jq -s 'sort | .[length / 2 | floor]' "$OUT/iops.$1.$2.$3"; }

rm -f "$OUT/results" "$OUT"/iops.*
uname -r >"$OUT/kernel"
devs=()
attach_one bench0 --queues 1
for rw in randread randwrite; do
	one $rw "$number"
	one $rw 1 "$number"
done
for ((i = 1; i < number; i++)); do attach_one "bench$i"; done
same "$(sessions_of_target)" 1 sessions
for rw in randread randwrite; do
	one $rw 1
	one $rw "$number" all
	figure "$rw 4k, $number disks at depth 1 against one at depth $number" \
		"$(jq -n "$(median $rw "$number" 1) / $(median $rw 1 1)")" times ">=" 0.85
	figure "$rw 4k, $number disks at depth 1 against $number threads of one disk" \
		"$(jq -n "$(median $rw "$number" 1) / $(median $rw 1 "$number")")" times
	figure "$rw 4k, one thread at depth $number: $number disks in turn against one disk" \
		"$(jq -n "$(median $rw "$number" all) / $(median $rw 1 1)")" times
done
need "${devs[0]}" connections_lost -eq 0
detach_all
[ "$wire" = rxe ] || no_violations
