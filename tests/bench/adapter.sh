#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure systems on two modelled adapters that take time for their work; runs in a lab machine that
# counts instructions (--icount --plugin):
#
#   adapter.sh PROFILE JOBS ROUND-TRIP-NS[xSLOWDOWN] SYSTEM...
#
# JOBS is a file in the directory of results that all machines share, with lines
#   RW BS DEPTH NUMJOBS BATCH IOS [NOTE]
# as for measure.sh, but IOS is the number of measured I/Os. NOTE is
#   disks=N     N disks, with one job for each
#   beside      4 KiB random writes concurrently with reads of 1 MiB; only the writes are measured
#
# The module rdma-model measures (tests/adapter/window.c) with a clock that stops while the model
# works. The emulated processor executes one instruction per nanosecond, a real one about two.
# Therefore all times of the adapter are multiplied by SLOWDOWN, 2 by default, and the measured
# times are divided by it. If SLOWDOWN is given (1000, mode "ceiling"), the time of the processor is
# negligible and doorbells take no processor time, so that the adapters limit the throughput. Each
# job adds a line of JSON to $OUT/results and one with the instructions of kernel functions to
# $OUT/breakdown.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh
# shellcheck source=tests/bench/peers.sh
. ./peers.sh
# shellcheck source=tests/bench/disks.sh
. ./disks.sh
# shellcheck source=tests/bench/attribute.sh
. ./attribute.sh

profile=$1 jobs_file=../../build/bench/$2
IFS=x read -r round_trip SLOWDOWN <<<"$3"
shift 3
[ -r "$jobs_file" ] || die "no jobs: $jobs_file"
mode=${SLOWDOWN:+ceiling}
: "${mode:=adapter}" "${SLOWDOWN:=2}"
WINDOW=$MDL_DEBUG/window
TARGET=$MDL_TARGET
# shellcheck disable=SC2034 # of rnbd.sh
ADDR=$MDL_TARGET
set_host_id

doorbells=Y
[ "$mode" = adapter ] || doorbells=N
adapter_load dma=direct timed=Y "slowdown=$SLOWDOWN" "round_trip_ns=$round_trip" "doorbells=$doorbells"
adapter_up "profile=$profile"
[ "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" = tsc ] ||
	die "the clock does not count instructions"

# backends NUMBER: set BACKENDS to this number of devices for the target
all=()
backends() {
	while [ ${#all[@]} -lt "$1" ]; do
		all+=("$(null_disk 64 memory_backed=0 discard=0)")
	done
	BACKENDS=("${all[@]:0:$1}")
	# shellcheck disable=SC2034 # of peers.sh
	backend=${BACKENDS[0]}
}

# request_disk: print the prefix of the names of the disks that execute the requests of $dev; if
# $dev is a disk of nvme's native multipath, its path disks execute them
request_disk() {
	case $dev in
	/dev/nvme*) echo nvme ;;
	*) echo rnbd ;;
	esac
}

# per_io DEVICE: print the operations of the adapter DEVICE per I/O, as a JSON object
per_io() {
	awk -v dev="$1" '
		$1 == "ios" { ios = $2 }
		index($1, dev "_") == 1 { v[substr($1, length(dev) + 2)] = $2 }
		END {
			n = v["sends"] + v["sends_with_invalidate"] + v["writes"] + v["reads"] + \
				v["writes_with_immediate"] + v["registrations"] + v["local_invalidates"]
			printf "{\"work_requests\": %.3f, \"receives\": %.3f, ", n / ios, v["receives"] / ios
			printf "\"doorbells\": %.3f, ", v["post_send_calls"] / ios
			printf "\"blocks\": %.3f, ", v["work_request_blocks"] / ios
			printf "\"completions\": %.3f, ", v["completions"] / ios
			printf "\"interrupts\": %.3f, ", v["interrupts"] / ios
			printf "\"registrations\": %.3f, ", v["registrations"] / ios
			printf "\"rnr\": %d}", v["receiver_not_ready"]
		}' "$OUT/window"
}

# value NAME: print a value of the measurement
value() { awk -v name="$1" '$1 == name { print $2 }' "$OUT/window"; }

# whole_ios BS: set "ios" in $OUT/window, a number of requests, to the number of I/Os of fio; the
# block layer can have split each I/O into several requests
whole_ios() {
	local bytes

	bytes=$(numfmt --from=iec "${1^^}") || die "no block size: $1"
	sed -i "s/^ios .*/ios $(awk -v bs="$bytes" '$1 == "bytes" { print $2 / bs }' "$OUT/window")/" "$OUT/window"
}

fio_options=(--direct=1 --norandommap --size=60m --randseed=7 --time_based --runtime=600
	--group_reporting --minimal)

# load RW BS DEPTH NUMJOBS BATCH NOTE: start fio in the background; set $fio to its process id
load() {
	local rw=$1 bs=$2 depth=$3 numjobs=$4 batch=$5 jobs=() disk
	local opts=("${engine[@]}" "${fio_options[@]}" --rw="$rw" --bs="$bs" --iodepth="$depth")

	[ "$batch" = 1 ] || opts+=(--iodepth_batch_submit="$batch" --iodepth_batch_complete_min=1
		--iodepth_batch_complete_max="$depth")
	case $6 in
	disks=*) for disk in "${disks[@]}"; do jobs+=(--name="${disk##*/}" --filename="$disk"); done ;;
	beside)
		jobs=(--name=small --filename="$dev")
		# Options in front of the first job name apply to all jobs.
		jobs+=(--name=bulk --filename="$dev" --rw=read --bs=1m --iodepth=4)
		;;
	*) jobs=(--name=bench --filename="$dev" --numjobs="$numjobs") ;;
	esac
	fio --thread "${opts[@]}" "${jobs[@]}" >"$OUT/fio" 2>&1 &
	fio=$!
}

# one SYSTEM RW BS DEPTH NUMJOBS BATCH IOS [NOTE]: measure one job
counted=0
one() {
	local sys=$1 rw=$2 bs=$3 depth=$4 numjobs=$5 batch=$6 ios=$7 note=${8-} op=rw skip more
	[ "$note" != beside ] || op=w
	skip=$((ios / 4 > 2 * depth * numjobs ? ios / 4 : 2 * depth * numjobs))
	echo "$(request_disk) $op $skip $ios" >"$WINDOW" || die "the model does not measure"
	load "$rw" "$bs" "$depth" "$numjobs" "$batch" "$note"
	timeout 120 cat "$WINDOW" >"$OUT/window" || die "$sys $rw $bs: no end after two minutes: $(cat "$OUT/fio")"
	[ "$note" = beside ] || whole_ios "$bs"
	kill $fio
	wait $fio
	counted=$((counted + 1))
	wait_for 20 test -s "$OUT/count.$counted"
	more=$(jq -nc --arg mode "$mode" --arg system "$sys" --arg profile "$profile" --arg rw "$rw" --arg bs "$bs" \
		--argjson depth "$depth" --argjson jobs "$numjobs" --argjson batch "$batch" \
		--arg note "$note" --argjson round_trip "$round_trip" --argjson slow "$SLOWDOWN" \
		--argjson ios "$(value ios)" --argjson ns "$(value time_ns)" \
		--argjson mean "$(value latency_mean_ns)" --argjson p50 "$(value latency_p50_ns)" \
		--argjson p99 "$(value latency_p99_ns)" --argjson own "$(value own_ns)" \
		--argjson stale "$(value stale_interrupts)" \
		--argjson client "$(per_io mdl0)" --argjson target "$(per_io mdl1)" '
		def bytes: if endswith("k") then .[:-1] | tonumber * 1024
			   elif endswith("m") then .[:-1] | tonumber * 1048576
			   else tonumber end;
		($ios * 1e9 * $slow / $ns) as $iops | {
			$mode, $profile, round_trip_us: ($round_trip / 1000),
			$system, $rw, bs: ($bs | bytes), $depth, $jobs, $batch, $note, run: 1,
			$ios, $iops, mbps: ($iops * ($bs | bytes) / 1e6),
			lat_us: ($mean / $slow / 1000), p50_us: ($p50 / $slow / 1000),
			p99_us: ($p99 / $slow / 1000), model: ($own / $ios),
			stale_interrupts: ($stale / $ios), $client, $target
		}') || die "jq failed: $(cat "$OUT/window")"
	attribute "$OUT/count.$counted" "$(value ios)" |
		breakdown "$(value ios)" "$more" >"$OUT/one" || die "jq failed"
	rm "$OUT/count.$counted"
	jq -c '{mode, system, profile, round_trip_us, rw, bs, depth, jobs, batch, note, ios, insns, modules,
		functions}' "$OUT/one" >>"$OUT/breakdown"
	jq -c '.host_instructions = .insns - .model - (.modules.user // 0) - (.modules.null_blk // 0) |
		.host_instructions_fio = .insns - .model |
		del(.functions, .modules, .insns)' "$OUT/one" >>"$OUT/results"
	lab log "$sys $rw $bs depth $depth jobs $numjobs batch $batch $note:" \
		"$(tail -n 1 "$OUT/results" | jq -r '"\(.iops | round) IOPS, \(.lat_us * 10 | round / 10) us, " +
		"\(.host_instructions | round) instructions"')"
}

rm -f "$OUT/results" "$OUT/breakdown"
uname -r >"$OUT/kernel"

# jobs_with NUMJOBS DISKS SYSTEM: measure the jobs of the file that use NUMJOBS queues and DISKS
# disks
jobs_with() {
	local rw bs depth numjobs batch ios note
	while read -ru 3 rw bs depth numjobs batch ios note; do
		[ "$numjobs" = "$1" ] || continue
		case $note in
		disks=*) [ "${note#disks=}" = "$2" ] || continue ;;
		*) [ "$2" = 1 ] || continue ;;
		esac
		one "$3" "$rw" "$bs" "$depth" "$numjobs" "$batch" "$ios" "$note"
	done 3<"$jobs_file"
}

# setups: print a line "QUEUES DISKS" for each pair of these numbers that the jobs use
setups() { awk '{ n = 1; if ($7 ~ /^disks=/) n = substr($7, 7); print $4, n }' "$jobs_file" |
	sort -k1,1n -k2,2n | uniq; }

for sys in "$@"; do
	while read -ru 4 queues number; do
		backends "$number"
		disks_export "$sys"
		disks_attach "$sys" "$queues"
		jobs_with "$queues" "$number" "$sys"
		disks_detach "$sys"
		disks_unexport "$sys"
	done 4< <(setups)
done
mdl_need mdl0 violations -eq 0
mdl_need mdl1 violations -eq 0
