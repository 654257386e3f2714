#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure the throughput of the first burst of an idle session for each 10 ms; runs in a lab machine
# that counts instructions, so that all times are those of the guest:
#
#   scripts/lab run --icount --mem 2048 --timeout 3600 --out DIR tests/bench/scale-burst.sh [ROUNDS]
#
# Client and target are one machine with two modelled adapters. Before each burst the pool of the
# session must shrink to its floor. Then fio reads or writes 128 KiB at depth 32 for 2.5 seconds and
# logs each request. A window is an interval of 10 ms. The bytes of each window of the first 200 ms
# are divided by the mean of the windows from 1 s to 2 s, which is the steady state. A pool that
# does not shrink is measured for comparison. $OUT/windows has all windows of the first 200 ms.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh
# shellcheck source=tests/bench/scale.sh
. ./scale.sh

PART=burst
rounds=${1:-5}
FLOOR=1M
POOL=64M
IDLE=600		# time limit for the pool to shrink to its floor, seconds

ADDR=$MDL_TARGET
set_host_id
adapter_load dma=direct timed=Y round_trip_ns=2500
adapter_up profile=mlx5
target_start
disk=$(null_disk 64 memory_backed=0 discard=0) || exit 1
export_disk bench "$disk"
rm -f "$OUT/results" "$OUT/windows"
uname -r >"$OUT/kernel"

# target ATTRIBUTE: print an attribute of the only session of the target
target() {
	local value

	read -r value <"$session/$1" && echo "$value"
}
shrunk() {
	local size floor

	read -r size <"$session/pool_size" && read -r floor <"$session/pool_floor" && [ "$size" = "$floor" ]
}

# windows FILE: convert a log of fio to a JSON object. "windows", "later" (the mean from 50 to 200
# ms) and "lowest" (the minimum from 50 to 200 ms) are fractions of the steady state. "first_ms" is
# the time of the first window with at least 0.8 of the steady state.
windows() {
	awk -F ', *' -v width=10 '
		NR == 1 || $1 < first { first = $1 }
		{ at[NR] = $1; bytes[NR] = $4 }
		END {
			for (i = 1; i <= NR; i++)
				n[int((at[i] - first) / width)] += bytes[i]
			for (i = 100; i < 200; i++)
				steady += n[i] / 100
			for (i = 0; i < 20; i++)
				printf "%s%.4f", i ? "," : "[", n[i] / steady
			printf "]\n%.0f\n", steady
		}' "$1" | jq -sc '{
			windows: .[0], steady_mbps: (.[1] / 10000),
			later: (.[0][5:] | add / length), lowest: (.[0][5:] | min),
			first_ms: ((.[0] | map(. >= 0.8) | index(true)) // 20 | . * 10)
		}'
}

# burst POOL RW ROUND: run fio and add a line to $OUT/windows, which also has the registrations of
# the target during the burst and in the steady state
burst() {
	local pool=$1 rw=$2 held before middle after adapter fio seen

	[ "$pool" = whole ] || wait_slowly $IDLE shrunk
	held=$(target pool_size) before=$(target pool_registrations)
	seen=$(completed "$dev")
	rm -f /dev/shm/burst_bw.*
	fio --name=burst --filename="$dev" --direct=1 --ioengine=libaio --rw="$rw" --bs=128k --iodepth=32 \
	    --size=60m --randseed=$((7 * $3)) --time_based --runtime=2500ms --thread \
	    --write_bw_log=/dev/shm/burst --norandommap --minimal >"$OUT/fio" 2>&1 &
	fio=$!
	# fio needs some time to start, and reads a few blocks before the load. So the load begins
	# at about the 50th request, and the steady state one second later.
	wait_for 20 completed_over "$dev" $((seen + 50))
	sleep 1
	middle=$(target pool_registrations) adapter=$(mdl_stat mdl1 registrations)
	sleep 1
	after=$(target pool_registrations) adapter=$(($(mdl_stat mdl1 registrations) - adapter))
	kill -0 $fio || die "fio has ended too early: $(cat "$OUT/fio")"
	wait $fio || die "fio: $(cat "$OUT/fio")"
	windows /dev/shm/burst_bw.1.log | jq -c --arg pool "$pool" --arg rw "$rw" --argjson round "$3" \
		--argjson held "$held" --argjson grown "$(target pool_size)" \
		--argjson burst $((middle - before)) --argjson steady $((after - middle)) \
		--argjson adapter "$adapter" '
		{ $pool, $rw, $round, held_kib: ($held / 1024), grown_kib: ($grown / 1024),
		  registrations_burst: $burst, registrations_steady: $steady,
		  registrations_steady_adapter: $adapter } + .' >>"$OUT/windows" || die "jq failed"
}

# attach_one POOL: attach a disk with a pool that is whole (does not shrink) or elastic
attach_one() {
	local floor=$FLOOR

	[ "$1" = elastic ] || floor=fixed
	dev=$(attach bench --queues 1 --pool $POOL --pool-floor $floor) || exit 1
	echo none >"/sys/block/${dev##*/}/queue/scheduler"
	wait_for 20 sessions_are 1
	session=$(echo "$T"/sessions/*)
	[ -e "$session/pool_registrations" ] || die "the target does not count registrations"
}

for pool in whole elastic; do
	attach_one $pool
	for rw in randread randwrite; do
		for ((round = 1; round <= rounds; round++)); do burst $pool $rw "$round"; done
	done
	need "$dev" connections_lost -eq 0
	detach_all
done

# worst EXPRESSION: apply the jq expression, such as min or max, to the rounds of $pool and $rw
worst() { jq -s --arg pool $pool --arg rw $rw "map(select(.pool == \$pool and .rw == \$rw)) | $1" "$OUT/windows"; }
for rw in randread randwrite; do
	pool=whole
	figure "$rw, pool that does not shrink: lowest of 50 to 200 ms" "$(worst 'map(.later) | min')" "of steady"
	pool=elastic
	DETAILS=$(worst 'min_by(.later)' | jq -c .)
	figure "$rw: lowest of 50 to 200 ms" "$(worst 'map(.later) | min')" "of steady" ">=" 0.8
	figure "$rw: lowest window of 10 ms from 50 to 200 ms" "$(worst 'map(.lowest) | min')" "of steady"
	figure "$rw: first window at 0.8 of steady" "$(worst 'map(.first_ms) | max')" ms
	figure "$rw: steady state" "$(worst 'map(.steady_mbps) | sort | .[length / 2 | floor]')" MB/s
	figure "$rw: registrations of a burst" "$(worst 'map(.registrations_burst) | max')" registrations
	figure "$rw: registrations of the steady second" \
		"$(worst 'map([.registrations_steady, .registrations_steady_adapter] | max) | max')" \
		registrations "<=" 0
done
no_violations
