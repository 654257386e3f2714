# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with the caller
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the benchmarks of scale and fairness: figures, and large numbers of hosts, exports and
# sessions. Sourced after ../lib/lab.sh and ../lib/rnbd.sh.
#
# $PART is the name of the benchmark.

T=/sys/kernel/rnbd-target

# figure WHAT VALUE UNIT [RELATION GOAL]: add a line of JSON to $OUT/results. If $DETAILS is set, a
# JSON object with more data, it becomes part of the line, and $DETAILS is cleared.
figure() {
	jq -nc --arg part "$PART" --arg what "$1" --argjson value "$2" --arg unit "$3" \
		--arg relation "${4-}" --argjson goal "${5:-null}" --argjson details "${DETAILS:-{\}}" '
		{ mode: "scale", $part, $what, $value, $unit } +
		(if $goal == null then {} else
			{ $relation, $goal,
			  met: (if $relation == "<=" then $value <= $goal else $value >= $goal end) }
		end) + { $details }' >>"$OUT/results" || die "$1: $2 is not a number"
	DETAILS=
	lab log "$PART: $(tail -n 1 "$OUT/results" | jq -r '
		"\(.what): \(.value * 1000 | round / 1000) \(.unit)" +
		(if .goal == null then "" else " (\(.relation) \(.goal))" end) +
		(if .met == false then " MISSED" else "" end)')"
}

# parameter MODULE NAME VALUE: set a parameter of a loaded module
parameter() { echo "$3" >"/sys/module/$1/parameters/$2" || die "$1 has no parameter $2"; }

# scale_host I: set $host to the UUID of host I; starts no process
scale_host() { printf -v host '00000000-0000-4000-8000-%012d' $((1000 + $1)); }

# host_dirs FIRST LAST: set the array $dirs to the configfs directories of these hosts
host_dirs() {
	local i host

	dirs=()
	for ((i = $1; i <= $2; i++)); do
		scale_host "$i"
		dirs+=("$CFG/hosts/$host")
	done
}

# make_hosts FIRST LAST: create these hosts at the target
make_hosts() {
	local dirs

	host_dirs "$@"
	mkdir "${dirs[@]}" || die "the target refuses hosts"
}

# allow_hosts EXPORT FIRST LAST: allow these hosts to attach EXPORT
allow_hosts() {
	local dirs

	host_dirs "$2" "$3"
	ln -s -t "$CFG/exports/$1/allowed_hosts" "${dirs[@]}" || die "$1: the target refuses hosts"
}

# make_port: create and enable a port at $ADDR
make_port() {
	mkdir "$CFG/ports/1" || die "no port"
	echo "$ADDR" >"$CFG/ports/1/addr" || die "no port at $ADDR"
	echo 1 >"$CFG/ports/1/enable" || die "the port does not listen"
}

# make_exports FIRST LAST REQUESTS: for each host I create an export eI of its own, on a null_blk
# device that takes REQUESTS requests. The function writes to configfs itself, because the tool and
# null_disk would take minutes for a thousand exports.
make_exports() {
	local i host exports=() disks=() disk

	for ((i = $1; i <= $2; i++)); do
		exports+=("$CFG/exports/e$i")
		disks+=("/sys/kernel/config/nullb/nullb$((1000 + i))")
	done
	modprobe null_blk nr_devices=0 || die "modprobe null_blk failed"
	mkdir "${disks[@]}" "${exports[@]}" || die "mkdir of exports failed"
	for ((i = $1; i <= $2; i++)); do
		disk=nullb$((1000 + i))
		echo 64 >"/sys/kernel/config/nullb/$disk/size"
		echo "$3" >"/sys/kernel/config/nullb/$disk/hw_queue_depth"
		echo 1 >"/sys/kernel/config/nullb/$disk/power" || die "no $disk"
		echo none >"/sys/block/$disk/queue/scheduler"
		scale_host "$i"
		echo "/dev/$disk" >"$CFG/exports/e$i/path" || die "e$i: no path"
		ln -s "$CFG/hosts/$host" "$CFG/exports/e$i/allowed_hosts/$host" || die "e$i: no host"
		echo 1 >"$CFG/exports/e$i/enable" || die "e$i: not enabled"
	done
	ln -s -t "$CFG/ports/1/exports" "${exports[@]}" || die "the port refuses exports"
}

# attach_session I EXPORT OPTION...: attach EXPORT as host I; set ${devs[I]} to the disk
attach_session() {
	local host

	scale_host "$1"
	devs[$1]=$(rnbd attach "$ADDR" "$2" --host-id "$host" --name "s$1" "${@:3}") ||
		die "attach of session $1 failed"
}

# available: set $kib to MemAvailable in KiB; starts no process
available() {
	local name value rest

	while read -r name value rest; do
		[ "$name" != MemAvailable: ] || kib=$value
	done </proc/meminfo
}

# wait_slowly SECONDS COMMAND...: as wait_for, but run COMMAND only twice per second, and wait
# without starting a process: on a machine that counts instructions, the start of a process takes
# milliseconds of guest time
wait_slowly() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) tick

	exec {tick}<> <(:)
	until "${@:2}"; do
		[ "${EPOCHREALTIME/[.,]/}" -lt $end ] || die "not within $1 s: ${*:2}"
		read -rt 0.5 -u "$tick"
	done
	exec {tick}>&-
}

sessions_of_target() { find "$T/sessions" -mindepth 1 -maxdepth 1 | wc -l; }
sessions_are() { [ "$(sessions_of_target)" = "$1" ]; }

# detach_all: detach all disks and wait until the target has no session
detach_all() {
	rnbd detach --all --wait 10 || die "detach --all failed"
	wait_for 120 sessions_are 0
}

# measured SKIP IOS FIO-OPTION...: run fio on all disks. After the first SKIP I/Os, counted over all
# disks, the module rdma-model and the plugin of QEMU measure the next IOS I/Os. Set $ns to the time
# of these I/Os, and write to $OUT/one the output of breakdown() in tests/bench/attribute.sh, with
# the member host_instructions: instructions per I/O, except those of the model, of user space and
# of null_blk. The disks can use soft-RoCE or modelled adapters. The machine must count
# instructions.
counted=0
# fio is one process in which each thread opens a disk: raise the limit of open files.
ulimit -n 65536
measured() {
	local fio ios=$2 own

	echo "rnbd rw $1 $ios" >"$MDL_DEBUG/window" || die "the model does not measure"
	# Without disk_util=0 fio searches sysfs for each disk, which takes seconds per disk if the
	# machine has hundreds of disks.
	fio --thread --direct=1 --ioengine=libaio --bs=4k --norandommap --size=60m --time_based \
	    --disk_util=0 --runtime=3600 --group_reporting --minimal --alloc-size=262144 "${@:3}" \
	    >"$OUT/fio" 2>&1 &
	fio=$!
	timeout 1200 cat "$MDL_DEBUG/window" >"$OUT/window" ||
		die "no end after twenty minutes: $(head -n 3 "$OUT/fio")"
	kill $fio
	wait $fio
	counted=$((counted + 1))
	wait_for 60 test -s "$OUT/count.$counted"
	ns=$(awk '$1 == "time_ns" { print $2 }' "$OUT/window")
	own=$(awk '$1 == "own_ns" { print $2 }' "$OUT/window")
	attribute "$OUT/count.$counted" "$ios" | breakdown "$ios" '{}' |
		jq -c --argjson own "$own" '.host_instructions = .insns - $own / .ios -
			(.modules.user // 0) - (.modules.null_blk // 0)' >"$OUT/one" || die "jq failed"
	rm "$OUT/count.$counted"
}
