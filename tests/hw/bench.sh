# shellcheck shell=bash disable=SC2154 # variables are shared with tests/hw/run
# SPDX-License-Identifier: GPL-2.0-only
# The benchmark of a hardware check: sourced by tests/hw/run.
#
# In each round all systems are measured one after the other, so that a change of the machines
# during the run affects all systems alike. results/bench.jsonl has a line of JSON for each system,
# job and round; results/bench.json and bench.txt have, for each system and job, the round with the
# median IOPS.

SYSTEM_NAMES="rnbd rnbd+poll nvme-rdma-best nvme-rdma-poll"

# bench_jobs: print the jobs of fio, one per line: RW BS DEPTH NUMJOBS BATCH
bench_jobs() {
	local rw n

	if [ -n "$QUICK" ]; then
		printf '%s\n' "randread 4k 1 1 1" "randread 4k 32 1 1" "randwrite 4k 32 1 1" \
			"read 128k 16 1 1" "write 128k 16 1 1"
		return
	fi
	for rw in randread randwrite; do
		for n in 1 8 32 128; do echo "$rw 4k $n 1 1"; done
		echo "$rw 4k 32 1 8"
	done
	for rw in read write; do
		echo "$rw 64k 16 1 1"
		echo "$rw 128k 16 1 1"
		echo "$rw 1m 4 1 1"
	done
	for n in 2 4 8; do
		[ "$n" -le "$(facts client cpus)" ] || continue
		for rw in randread randwrite; do echo "$rw 4k 32 $n 1"; done
	done
}

# job SYSTEM ROUND RW BS DEPTH NUMJOBS BATCH: run one job and record its results
job() {
	local sys=$1 round=$2 theirs after
	shift 2

	theirs=$(at target busy) || return
	at client bench_fio "$@" "$BENCH_SECONDS" "$bench_mib" >"$WORK/fio" || return
	after=$(at target busy) || return
	tail -n +2 "$WORK/fio" | jq -c --arg system "$sys" --argjson round "$round" --arg rw "$1" --arg bs "$2" \
		--argjson depth "$3" --argjson jobs "$4" --argjson batch "$5" \
		--arg target "$theirs $after" --arg client "$(head -n 1 "$WORK/fio")" '
		def bytes: if endswith("k") then .[:-1] | tonumber * 1024
			   elif endswith("m") then .[:-1] | tonumber * 1048576
			   else tonumber end;
		def spent($i): split(" ") | map(tonumber) | .[$i + 3] - .[$i];
		.jobs[0] |
		(.read.total_ios + .write.total_ios) as $ios |
		(if .read.total_ios > 0 then .read else .write end) as $side |
		{
			mode: "hardware", system: $system, rw: $rw, bs: ($bs | bytes), depth: $depth,
			jobs: $jobs, batch: $batch, round: $round, ios: $ios, iops: $side.iops,
			mbps: ($side.bw_bytes / 1000000), lat_us: ($side.lat_ns.mean / 1000),
			p50_us: ($side.lat_ns.percentile["50.000000"] / 1000),
			p99_us: ($side.lat_ns.percentile["99.000000"] / 1000),
			p999_us: ($side.lat_ns.percentile["99.900000"] / 1000),
			client_cpu_us: (($client | spent(0)) * 10000 / $ios),
			target_cpu_us: (($target | spent(0)) * 10000 / $ios),
			client_interrupts: (($client | spent(1)) / $ios),
			target_interrupts: (($target | spent(1)) / $ios),
			client_switches: (($client | spent(2)) / $ios),
			target_switches: (($target | spent(2)) / $ios)
		}' >>"$DIR/results/bench.jsonl" || die "$sys: no figures"
}

# one_system SYSTEM ROUND: run all jobs; for each job the system has as many queues as the job has
# threads
one_system() {
	local sys=$1 round=$2 queues rw bs depth numjobs batch

	at target bench_export "$sys" "$bench_mib" || return
	while read -ru 4 queues; do
		at client bench_attach "$sys" "$queues" || return
		while read -ru 5 rw bs depth numjobs batch; do
			[ "$numjobs" = "$queues" ] || continue
			job "$sys" "$round" "$rw" "$bs" "$depth" "$numjobs" "$batch" || return
			say "bench: round $round of $rounds: $sys $rw $bs depth $depth jobs $numjobs batch $batch:" \
				"$(tail -n 1 "$DIR/results/bench.jsonl" |
				   jq -r '"\(.iops | round) IOPS, p50 \(.p50_us | round) us"')"
		done 5< <(bench_jobs)
		at client bench_detach "$sys" || return
	done 4< <(bench_jobs | awk '{ print $4 }' | sort -nu)
	at target bench_unexport "$sys"
}

# bench_tables: print tables with a row per job and a column per system
bench_tables() {
	local field

	for field in "iops:IOPS" "mbps:MB per second" "p50_us:median latency, us" "p99_us:99th percentile, us" \
		"p999_us:99.9th percentile, us" "client_cpu_us:CPU time of the client per I/O, us" \
		"target_cpu_us:CPU time of the target per I/O, us" "client_interrupts:interrupts of the client per I/O" \
		"target_interrupts:interrupts of the target per I/O"; do
		echo
		echo "${field#*:}"
		jq -r --arg field "${field%%:*}" --arg systems "$SYSTEM_NAMES" '
			def size: if . >= 1048576 then "\(. / 1048576)m" else "\(. / 1024)k" end;
			def short: if . == null then "-" elif . >= 100 then round
				   elif . >= 1 then . * 10 | round / 10 else . * 1000 | round / 1000 end | tostring;
			. as $all | ([$systems | split(" ")[] | select(IN($all[].system))]) as $cols |
			(["job"] + $cols | join("|")),
			(group_by([.bs, .rw, .jobs, .batch, .depth])[] | . as $row | .[0] |
				["\(.rw) \(.bs | size) depth \(.depth)" +
				 (if .jobs > 1 then " jobs \(.jobs)" else "" end) +
				 (if .batch > 1 then " batch \(.batch)" else "" end)] +
				[$cols[] as $c | [$row[] | select(.system == $c) | .[$field]][0] | short] |
				join("|"))' "$DIR/results/bench.json" |
			awk -F '|' '{ printf "%-34s", $1; for (i = 2; i <= NF; i++) printf "%18s", $i; print "" }'
	done
}

# bench_skip SYSTEM: print why a system cannot be measured on these machines
bench_skip() {
	case $1 in
	*poll)
		if lacks client io_uring; then
			echo "io_uring is disabled on the client"
			return
		fi
		;;&
	nvme-rdma*)
		if lacks client nvme; then
			echo "no nvme-cli on the client"
		elif lacks client "module nvme-rdma" || lacks target "module nvmet-rdma"; then
			echo "no module nvme-rdma on the client or nvmet-rdma on the target"
		fi
		;;
	esac
}

part_bench() {
	local round rounds=${ROUNDS:-3} sys why failed='' list=() bench_mib=1024

	if lacks client fio; then
		echo "skip: no fio on the client"
		return 77
	fi
	if [ -n "$QUICK" ]; then
		rounds=${ROUNDS:-1} bench_mib=64
		: "${BENCH_SECONDS:=2}"
	fi
	: "${BENCH_SECONDS:=10}"
	for sys in ${SYSTEMS:-$SYSTEM_NAMES}; do
		why=$(bench_skip "$sys")
		if [ -n "$why" ]; then
			say "bench: $sys: skipped: $why"
		else
			list+=("$sys")
		fi
	done
	for ((round = 1; round <= rounds; round++)); do
		for sys in "${list[@]}"; do
			[[ $failed != *" $sys "* ]] && { one_system "$sys" "$round" || failed+=" $sys "; }
			[[ $failed != *" $sys "* ]] || reset_sides
		done
	done
	[ -s "$DIR/results/bench.jsonl" ] || die "nothing was measured"
	jq -s 'group_by([.system, .rw, .bs, .depth, .jobs, .batch]) |
		map(sort_by(.iops) | .[length / 2 | floor] +
		    { rounds: length, iops_min: .[0].iops, iops_max: .[-1].iops } | del(.round))' \
		"$DIR/results/bench.jsonl" >"$DIR/results/bench.json" || return
	{
		echo "Median of $rounds rounds of $BENCH_SECONDS s, one system after the other in each round."
		echo "Storage: ${BACKEND:-null_blk, which holds no data}"
		bench_tables
	} >"$DIR/results/bench.txt"
	[ -z "$failed" ] || die "failed: ${failed//  / }"
}
