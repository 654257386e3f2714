#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure systems with a list of fio jobs; runs in a lab machine:
#
#   measure.sh JOBS RUNS SYSTEM...
#
# JOBS is a file in this directory, or in the directory of results that all machines share, with
# lines
#   RW BS DEPTH NUMJOBS BATCH IOS
# BATCH is the number of requests that fio submits at once. IOS is the number of I/Os, or with a
# trailing s the duration in seconds. Each run of a job adds a line of JSON to $OUT/results.
#
# On one machine client and target use the loopback of soft-RoCE. On two machines node 1 is the
# target and node 2 measures.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/bench/peers.sh
. ./peers.sh

TARGET=$ADDR
jobs_file=$1 runs=$2
shift 2
COUNTERS="requests frames_sent entries_sent frames_received frames_unsignaled credit_frames_sent
	rdma_writes rdma_reads coalesced gathered inline_reads inline_writes send_fences read_guards
	credit_stalls sq_stalls pool_stalls"

set_host_id
# The backend (of the target, or of the client for the system "local") is a null_blk without memory:
# the results then show the costs of everything in front of the backend.
medium=(memory_backed=0 discard=0)
case $1 in
# About as fast as the emulated wire: 64 KiB in 1.6 ms, one request at a time
rnbd+chunk-*) medium+=(irqmode=2 completion_nsec=1600000 max_sectors=128 hw_queue_depth=1) ;;
esac
backend=$(null_disk 64 "${medium[@]}") || exit 1

# busy: print the time in 1/100 s for which the processors of this machine were not idle, summed up
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

# check_clock MS-OF-FIO BUSY WHAT: fail if the clock jumped during the job. On one machine, whose
# processor counts instructions, client and target do all the work of a job, so the processor is
# busy at least as long as fio runs. The clock of such a machine jumps while its processor is idle,
# for example while fio waits for the root disk, whose I/O takes time of the real machine.
check_clock() {
	[ "$1" -le $(($2 * 10)) ] ||
		die "$3: the clock jumped: fio ran for $1 ms, the processor was busy for $(($2 * 10)) ms"
}

# mark NAME: with two machines, wait at the barrier NAME for the other machine; the target measures
# its processor time between the barriers "begin" and "end" of a job
n=0
mark() {
	[ "$NODES" = 1 ] || lab barrier "$1-$n" --timeout 300 || die "barrier $1-$n"
}

# barrier_name SYSTEM: print the name of SYSTEM in a form that barriers accept
barrier_name() { echo "${1//[^a-z0-9-]/-}"; }

# bytes SIZE: convert 4k, 1m, ... to bytes
bytes() { numfmt --from=iec "${1^^}"; }

# verbs WAY RW BS DEPTH IOS [TARGET]: run perftest, as the server if TARGET is missing
verbs() {
	local way=$1 rw=$2 size run=()
	size=$(bytes "$3")
	case $way in
	idle) run=(chrt --idle 0) ;;
	esac
	run+=("ib_${rw#rand}_bw" -d rxe0 -F -s "$size" -t "$4")
	case $5 in
	*s) run+=(-D "${5%s}") ;;
	*) run+=(-n "$5") ;;
	esac
	[ "$way" != sleep ] || run+=(-e)
	"${run[@]}" "${@:6}"
}

# verbs_ways RW: print the ways to run perftest. By default perftest polls in a loop (spin). With
# one processor for both ends, it polls only while no other process can run (idle), or waits for
# events (sleep), which works for reads only. The better result of the ways counts.
verbs_ways() {
	if [ "$NODES" -gt 1 ]; then
		echo spin
	elif [[ $1 = *read ]]; then
		echo idle sleep
	else
		echo idle
	fi
}

# verbs_best RW BS DEPTH IOS: set $iops to the result of the best way, on the machine that measures
verbs_best() {
	local way mib
	iops=0
	for way in $(verbs_ways "$1"); do
		n=$((n + 1))
		if [ "$NODE" = 1 ]; then
			verbs "$way" "$@" >"$OUT/verbs-server" 2>&1 &
			wait_for 20 sh -c "ss -ltn | grep -q :18515"
		fi
		mark serving
		if [ "$NODES" = 1 ] || [ "$NODE" = 2 ]; then
			verbs "$way" "$@" "$TARGET" >"$OUT/verbs" 2>&1 ||
				die "perftest: $(tail -3 "$OUT/verbs")"
			mib=$(awk '$1 ~ /^[0-9]+$/ && NF >= 5 { print $4 }' "$OUT/verbs" | tail -n 1)
			iops=$(jq -n --argjson mib "$mib" --argjson best "$iops" \
				--argjson bs "$(bytes "$2")" \
				'[$best, $mib * 1048576 / $bs] | max') || die "perftest reported $mib"
		fi
		[ "$NODE" = 2 ] || wait
		mark served
	done
}

# verbs_jobs: measure the throughput of the wire for a program that only moves memory (perftest)
verbs_jobs() {
	local rw bs depth numjobs batch ios run iops
	while read -ru 3 rw bs depth numjobs batch ios; do
		if [ "$rw" = randrw ] || [ "$numjobs" != 1 ] || [ "$batch" != 1 ]; then continue; fi
		for run in $(seq "$runs"); do
			verbs_best "$rw" "$bs" "$depth" "$ios"
			if [ "$NODES" -gt 1 ] && [ "$NODE" = 1 ]; then continue; fi
			# With a duration instead of a number, perftest sometimes reports 0.
			[ "$iops" != 0 ] || continue
			jq -nc --arg rw "$rw" --argjson bs "$(bytes "$bs")" \
				--argjson depth "$depth" --argjson run "$run" --argjson nodes "$NODES" \
				--argjson iops "$iops" '{
					mode: (if $nodes == 1 then "icount" else "smp" end),
					system: "verbs", $rw, $bs, $depth, jobs: 1, batch: 1, $run,
					$iops, mbps: ($iops * $bs / 1000000),
					lat_us: ($depth * 1000000 / $iops), p50_us: null, p99_us: null
				}' >>"$OUT/results" || die "verbs: no figures"
			lab log "verbs $rw $bs depth $depth: $(tail -n 1 "$OUT/results" |
				jq -r '"\(.iops | round) per second, \(.mbps | round) MB/s"')"
		done
	done 3<"$jobs_file"
}

serve_target() {
	local sys before
	for sys; do
		if [ "$sys" = verbs ]; then
			verbs_jobs
			continue
		fi
		peer_export "$sys"
		lab barrier "exported-$(barrier_name "$sys")" || exit 1
		for _ in $(seq $((jobs_of * runs))); do
			n=$((n + 1))
			mark begin
			before=$(busy)
			mark end
			echo $(($(busy) - before)) >"$SHARED/busy-$n"
			mark told
		done
		lab barrier "done-$(barrier_name "$sys")" --timeout 300 || exit 1
		peer_unexport "$sys"
	done
}

ours() { [[ $1 = rnbd || $1 = rnbd+* || $1 = rnbd-copy ]]; }

counters() {
	local name
	ours "$1" || return 0
	for name in $COUNTERS; do echo "$name $(counter "$dev" "$name")"; done
}

# one SYSTEM RUN RW BS DEPTH NUMJOBS BATCH IOS: run one job and record its results
one() {
	local sys=$1 run=$2 rw=$3 bs=$4 depth=$5 numjobs=$6 batch=$7 ios=$8
	local opts=() before after theirs=0 failed=

	case $ios in
	*s) opts+=(--time_based --runtime="${ios%s}") ;;
	*) opts+=(--io_size=$((ios * $(bytes "$bs") / numjobs))) ;;
	esac
	[ "$batch" = 1 ] || opts+=(--iodepth_batch_submit="$batch" --iodepth_batch_complete_min=1
		--iodepth_batch_complete_max="$depth")
	[ "$rw" != randrw ] || opts+=(--rwmixread=70)
	n=$((n + 1))
	mark begin
	counters "$sys" >/tmp/before
	before=$(busy)
	fio --name=bench --filename="$dev" --direct=1 "${engine[@]}" --rw="$rw" --bs="$bs" \
	    --iodepth="$depth" --numjobs="$numjobs" --group_reporting --norandommap --size=60m \
	    --randseed=$((run * 7)) --lat_percentiles=1 --clat_percentiles=0 \
	    --percentile_list=50:99 --output-format=json "${opts[@]}" \
	    >"$OUT/fio.json" 2>"$OUT/fio.err" || failed=1
	after=$(busy)
	counters "$sys" >/tmp/after
	mark end
	mark told
	if [ -n "$failed" ]; then
		# A failed job of another system does not end the comparison.
		ours "$sys" && die "$sys: fio: $(head -n 3 "$OUT/fio.err")"
		lab log "$sys failed: $(head -n 1 "$OUT/fio.err")"
		return 1
	fi
	if [ "$NODES" = 1 ]; then
		check_clock "$(jq '.jobs[0].job_runtime' "$OUT/fio.json")" $((after - before)) "$sys $rw $bs"
	else
		theirs=$(cat "$SHARED/busy-$n")
	fi
	paste -d ' ' /tmp/before /tmp/after |
		jq -Rn '[inputs | split(" ") | {key: .[0], value: ((.[3] | tonumber) - (.[1] | tonumber))}] | from_entries' \
		>/tmp/counters
	jq -c --arg system "$sys" --arg rw "$rw" --arg bs "$bs" --argjson depth "$depth" \
		--argjson jobs "$numjobs" --argjson batch "$batch" --argjson run "$run" \
		--argjson ours $((after - before)) --argjson theirs "$theirs" \
		--argjson nodes "$NODES" --slurpfile counters /tmp/counters '
		def bytes: if endswith("k") then .[:-1] | tonumber * 1024
			   elif endswith("m") then .[:-1] | tonumber * 1048576
			   else tonumber end;
		.jobs[0] |
		(.read.total_ios + .write.total_ios) as $ios |
		[.read, .write | select(.total_ios > 0)] as $sides |
		def weighed(f): ([$sides[] | f * .total_ios] | add) / $ios / 1000;
		{
			mode: (if $nodes == 1 then "icount" else "smp" end),
			system: $system, rw: $rw, bs: ($bs | bytes), depth: $depth,
			jobs: $jobs, batch: $batch, run: $run, ios: $ios,
			iops: ([$sides[].iops] | add),
			mbps: (([$sides[].bw_bytes] | add) / 1000000),
			lat_us: weighed(.lat_ns.mean),
			p50_us: weighed(.lat_ns.percentile["50.000000"]),
			p99_us: ([$sides[].lat_ns.percentile["99.000000"]] | max / 1000)
		} + (if $nodes == 1 then {} else {
			client_cpu_us: ($ours * 10000 / $ios), target_cpu_us: ($theirs * 10000 / $ios)
		} end) + (if ($counters[0] | length) > 0 then {
			counters: ($counters[0] | .requests as $requests |
				map_values(if $requests > 0 then . / $requests else 0 end) |
				.requests = $requests)
		} else {} end)' "$OUT/fio.json" >>"$OUT/results" || die "jq failed"
}

[ -r "$jobs_file" ] || die "no jobs: $jobs_file"
jobs_of=$(grep -c . "$jobs_file")
if [ "$NODES" -gt 1 ] && [ "$NODE" = 1 ]; then
	serve_target "$@"
	exit 0
fi

rm -f "$OUT/results"
uname -r >"$OUT/kernel"

# jobs_with QUEUES SYSTEM: run the jobs whose NUMJOBS is QUEUES
jobs_with() {
	local rw bs depth numjobs batch ios run any
	while read -ru 3 rw bs depth numjobs batch ios; do
		[ "$numjobs" = "$1" ] || continue
		any=
		for run in $(seq "$runs"); do
			one "$2" "$run" "$rw" "$bs" "$depth" "$numjobs" "$batch" "$ios" && any=1
		done
		[ -n "$any" ] || continue
		lab log "$2 $rw $bs depth $depth jobs $numjobs batch $batch:" \
			"$(tail -n 1 "$OUT/results" | jq -r '"\(.iops | round) IOPS, \(.mbps | round) MB/s, \(.lat_us | round) us"')"
	done 3<"$jobs_file"
}

for sys in "$@"; do
	if [ "$sys" = verbs ]; then
		verbs_jobs
		continue
	fi
	if [ "$NODES" = 1 ]; then
		peer_export "$sys"
	else
		lab barrier "exported-$(barrier_name "$sys")" --timeout 120 || exit 1
	fi
	while read -ru 4 queues; do
		peer_attach "$sys" "$queues"
		jobs_with "$queues" "$sys"
		peer_detach "$sys"
	done 4< <(awk '{ print $4 }' "$jobs_file" | sort -nu)
	if [ "$NODES" = 1 ]; then
		peer_unexport "$sys"
	else
		lab barrier "done-$(barrier_name "$sys")" || exit 1
	fi
done
if [ "$NODES" = 1 ]; then
	lab log "while the machine waited for its root disk, $(awk '/^cpu / { print $6 / 100 }' /proc/stat) s of its time passed"
fi
