#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure the memory of idle sessions and of further disks by the change of the used memory of two
# machines; runs on two lab machines over soft-RoCE, node 1 is the target:
#
#   scripts/lab run --nodes 2 --possible-cpus 8 --mem 6144 --timeout 10000 --out DIR \
#       tests/bench/scale-memory.sh COUNT,...[,max] [DISKS [CONNECTIONS [SETTLE]]]
#
# COUNT is a number of sessions, each of a host of its own and with one disk. At "max", sessions are
# added until a machine has used up its memory or the target refuses a session. After that DISKS
# further disks of one session are measured with two queue depths. A figure is the difference of the
# used memory between two states, divided by the number of added objects. Before a reading caches
# are dropped, and the used memory must not have fallen for SETTLE seconds, because an idle session
# returns memory only after half a minute. A session has at most one queue per possible processor of
# the client.
#
# $OUT/results of node 2 has all figures, $OUT/memory all states of both machines.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/bench/scale.sh
. ./scale.sh

PART=memory
IFS=, read -ra counts <<<"$1"
number=${2:-64} connections=${3:-8} SETTLE=${4:-45}
HOSTS=4096		# hosts that may attach: upper limit of "max"
RESERVE=$((384 << 10))	# KiB that must be available for another session
SETTLE_MAX=600		# seconds
AT_ONCE=4		# sessions that attach at the same time
DEPTHS=(32 128)

# memory: print the memory in KiB as a JSON object. "used" excludes free memory, page cache and
# memory of processes; "pages" is the part of "used" that no other counter accounts for.
memory() {
	local f

	sync
	echo 3 >/proc/sys/vm/drop_caches
	# Free pages and objects in per-cpu lists count as used until they are drained.
	echo 1 >/proc/sys/vm/compact_memory
	for f in /sys/kernel/slab/*/shrink; do echo 1 >"$f"; done
	awk -v sessions="$(find "$T/sessions" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" '
		{ v[$1] = $2 }
		END {
			used = v["MemTotal:"] - v["MemFree:"] - v["Buffers:"] - v["Cached:"] - v["SwapCached:"] \
				- v["AnonPages:"] - v["PageTables:"] - v["SecPageTables:"]
			pages = used - v["Slab:"] - v["KernelStack:"] - v["Percpu:"] - v["VmallocUsed:"]
			printf "{\"total\":%d,\"available\":%d,\"used\":%d,\"slab\":%d,\"stack\":%d,\"percpu\":%d," \
				"\"vmalloc\":%d,\"pages\":%d,\"sessions\":%d}\n", v["MemTotal:"], \
				v["MemAvailable:"], used, v["Slab:"], v["KernelStack:"], v["Percpu:"], \
				v["VmallocUsed:"], pages, sessions
		}' /proc/meminfo
}

# memory_settled SECONDS: print the memory once "used" has not fallen by 128 KiB for SECONDS, or
# after SETTLE_MAX seconds
memory_settled() {
	local now used least end last=$((SECONDS + SETTLE_MAX))

	now=$(memory)
	least=$(jq .used <<<"$now") end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ] && [ $SECONDS -lt $last ]; do
		sleep 5
		now=$(memory)
		used=$(jq .used <<<"$now")
		[ "$used" -lt $((least - 128)) ] || continue
		least=$used end=$((SECONDS + $1))
	done
	[ $SECONDS -lt $last ] || note "the memory has not settled: $now" >&2
	echo "$now"
}

# The target measures when node 2 measures, and reports when memory is short.
if [ "$NODE" = 1 ]; then
	set_host_id
	target_start
	for limit in pool_limit_mb queue_limit_mb; do parameter rnbd_target $limit 1048576; done
	parameter rnbd_target max_sessions 65536
	parameter rnbd_target max_queues "$connections"
	# The target keeps a reserve of zeroed memory for pools that grow, independent of the number
	# of sessions. The reserve would change between two readings: disable it, and account for
	# its size where the number of sessions that fit 8 GiB is computed.
	reserve=$(</sys/module/rnbd_target/parameters/pool_reserve_mb) || die "no reserve"
	nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' | wc -l)
	tell reserve $((reserve * 1024 * (nodes ? nodes : 1)))
	parameter rnbd_target pool_reserve_mb 0
	for ((i = 0; i <= number; i++)); do
		disk=$(null_disk 16 memory_backed=0 discard=0) || exit 1
		export_disk "disk$i" "$disk" 2
	done
	disk=$(null_disk 16 memory_backed=0 discard=0) || exit 1
	export_disk shared "$disk" 2
	before=$(memory_settled 10)
	make_hosts 1 $HOSTS
	allow_hosts shared 1 $HOSTS
	tell hosts "$(jq -n --argjson before "$before" --argjson after "$(memory_settled 10)" \
		--argjson n $HOSTS '($after.used - $before.used) / $n')"
	while :; do
		available
		[ "$kib" -gt $RESERVE ] || : >"$SHARED/full"
		sleep 1
	done &
	watch=$!
	barrier ready 3000
	while :; do
		barrier step 10000
		read -r step seconds < <(told step)
		[ "$step" != end ] || break
		told_now=$(memory_settled "$seconds")
		tell memory "$told_now"
		jq -nc --arg step "$step" --argjson memory "$told_now" '{ $step, $memory }' >>"$OUT/memory"
		barrier stepped 2000
	done
	kill $watch
	exit 0
fi

set_host_id
rm -f "$OUT/results" "$OUT/memory"
uname -r >"$OUT/kernel"
# Each connection uses one of these port numbers of the client.
echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range
modprobe rnbd || die "modprobe rnbd failed"
floor=1024	# KiB, the default
options=(--queues "$connections" --keepalive 60000 --wait 60)

# measure STEP SECONDS: set $ours and $theirs to the memory of the client and of the target
measure() {
	tell step "$1" "$2"
	barrier step 10000
	ours=$(memory_settled "$2")
	barrier stepped 2000
	theirs=$(told memory)
	jq -nc --arg step "$1" --argjson memory "$ours" '{ $step, $memory }' >>"$OUT/memory"
	lab log "memory: $1: client $(jq .used <<<"$ours") KiB, target $(jq .used <<<"$theirs") KiB"
}

# per NUMBER BEFORE AFTER: print the KiB per added object
per() { jq -n --argjson n "$1" --argjson a "$2" --argjson b "$3" '($b.used - $a.used) / $n'; }
# parts NUMBER BEFORE AFTER: print as JSON how much memory of each kind an added object takes, and
# by how much it lowers MemAvailable, in KiB
parts() {
	jq -nc --argjson n "$1" --argjson a "$2" --argjson b "$3" '
		["slab", "stack", "percpu", "vmalloc", "pages"] |
		map({ key: ., value: (($b[.] - $a[.]) / $n) }) | from_entries |
		.available = ($a.available - $b.available) / $n'
}
# details NAME=JSON...: print a JSON object with these members, for $DETAILS
details() {
	local pair

	for pair; do echo "{\"${pair%%=*}\":${pair#*=}}"; done | jq -sc add
}

sessions=0 stopped=''
room() {
	available
	[ "$kib" -gt $RESERVE ] || stopped="the client has $kib KiB"
	[ ! -e "$SHARED/full" ] || stopped="the target has no memory"
	[ -z "$stopped" ]
}

# attach_to COUNT: attach sessions until there are COUNT, or set $stopped to the reason why not
attach_to() {
	local i k host pids

	while [ $sessions -lt "$1" ] && room; do
		pids=()
		for ((k = 0; k < AT_ONCE && sessions + k < $1; k++)); do
			i=$((sessions + k + 1))
			scale_host $i
			rnbd attach "$ADDR" shared --host-id "$host" --name "s$i" "${options[@]}" \
				>"/tmp/attach.$k" 2>&1 &
			pids+=($!)
		done
		for k in "${!pids[@]}"; do
			if wait "${pids[k]}"; then
				sessions=$((sessions + 1))
			else
				stopped=$(head -n 1 "/tmp/attach.$k")
			fi
		done
	done
	[ -z "$stopped" ] || lab log "memory: limited to $sessions sessions: $stopped"
}

# sessions_step COUNT: attach sessions until there are COUNT, and record the mean memory of the
# added sessions
sessions_step() {
	local n

	attach_to "$1"
	n=$((sessions - had))
	[ $n -gt 0 ] || return 0
	measure "sessions-$sessions" "$SETTLE"
	same "$(jq .sessions <<<"$theirs")" $sessions "sessions of the target"
	DETAILS=$(details sessions=$sessions connections="$granted" floor_kib=$floor \
		parts="$(parts $n "$had_theirs" "$theirs")")
	figure "target, per idle session, from $had to $sessions" "$(per $n "$had_theirs" "$theirs")" KiB
	DETAILS=$(details sessions=$sessions connections="$granted" \
		parts="$(parts $n "$had_ours" "$ours")")
	figure "client, per idle session, from $had to $sessions" "$(per $n "$had_ours" "$ours")" KiB
	had=$sessions had_ours=$ours had_theirs=$theirs
}

# all_sessions: record the mean memory of all sessions except the first one, whose memory includes
# the objects that all sessions share
all_sessions() {
	local n=$((had - 1)) slope

	[ $n -gt 0 ] || die "one session has no slope"
	DETAILS=$(details sessions=$had connections="$granted" floor_kib=$floor \
		parts="$(parts $n "$one_theirs" "$had_theirs")")
	slope=$(per $n "$one_theirs" "$had_theirs")
	figure "target, per idle session, $had of them" "$slope" KiB "<=" 2048
	DETAILS=$(details sessions=$had parts="$(parts $n "$one_ours" "$had_ours")")
	figure "client, per idle session, $had of them" "$(per $n "$one_ours" "$had_ours")" KiB
	# The computation subtracts the memory of the target's system before the first session, and
	# the reserve.
	DETAILS=$(details reserve_kib="$reserve")
	figure "idle sessions that fit 8 GiB, computed" "$(jq -n --argjson slope "$slope" \
		--argjson empty "$empty_theirs" --argjson reserve "$reserve" \
		'((8 * 1048576 - ($empty.total - $empty.available) - $reserve) / $slope) | floor')" \
		sessions ">=" 4096
}

disk_names() { for ((i = 1; i <= number; i++)); do echo "disk$i"; done; }

# further_disks DEPTH: set $client_disk and $target_disk to the KiB per further disk at the client
# and at the target, and $null_share to the KiB per null_blk disk with the same queues and depth
further_disks() {
	local depth=$1 name first ours0 theirs0 i made=()

	first=$(attach disk0 "${options[@]}" --queue-depth "$depth") || exit 1
	same "$(counter "$first" queues)" "$granted" "queues of a disk"
	measure "disks-1-depth-$depth" "$SETTLE"
	ours0=$ours theirs0=$theirs
	for name in $(disk_names); do attach "$name" >/dev/null || exit 1; done
	measure "disks-$((number + 1))-depth-$depth" "$SETTLE"
	client_disk=$(per "$number" "$ours0" "$ours") target_disk=$(per "$number" "$theirs0" "$theirs")
	DETAILS=$(details disks="$number" queues="$granted" depth="$(counter "$first" depth)" \
		client="$client_disk" target="$target_disk" parts="$(parts "$number" "$ours0" "$ours")")
	figure "further disk, client and target, depth $depth" \
		"$(jq -n "$client_disk + $target_disk")" KiB
	rnbd detach --all --wait 10 || die "detach --all failed"

	measure "null-0-depth-$depth" 10
	ours0=$ours
	for ((i = 0; i < number; i++)); do
		made+=("$(null_disk 16 memory_backed=0 discard=0 submit_queues="$granted" hw_queue_depth="$depth")")
	done
	measure "null-$number-depth-$depth" 10
	null_share=$(per "$number" "$ours0" "$ours")
	for name in "${made[@]}"; do
		echo 0 >"/sys/kernel/config/nullb/${name##*/}/power"
		rmdir "/sys/kernel/config/nullb/${name##*/}"
	done
}

# at_depth_0 SMALL LARGE: print the memory of a disk without its requests, extrapolated from its
# memory SMALL and LARGE at the two DEPTHS
at_depth_0() {
	jq -n --argjson x0 "${DEPTHS[0]}" --argjson x1 "${DEPTHS[1]}" --argjson y0 "$1" --argjson y1 "$2" \
		'$y0 - ($y1 - $y0) / ($x1 - $x0) * $x0'
}

barrier ready 3000
measure empty 10
total_ours=$(jq .total <<<"$ours") total_theirs=$(jq .total <<<"$theirs") empty_theirs=$theirs empty_ours=$ours
figure "memory of the client's machine" "$(jq -n "$total_ours / 1024")" MiB
figure "memory of the target's machine" "$(jq -n "$total_theirs / 1024")" MiB
figure "target, per host that may attach" "$(told hosts)" KiB
reserve=$(told reserve)

# Attach one session to learn the number of granted connections; its memory is measured below.
had=0 had_ours=$ours had_theirs=$theirs
attach_to 1
[ $sessions = 1 ] || die "no session: $stopped"
dev=$(rnbd list --json | jq -r '.[0].disk')
granted=$(counter "$dev" queues)
[ "$granted" = "$connections" ] ||
	die "only $granted connections per session; are there $connections possible processors?"
sessions_step 1
one_ours=$had_ours one_theirs=$had_theirs
for count in "${counts[@]}"; do
	[ "$count" != max ] || count=$HOSTS
	sessions_step "$count"
	[ -z "$stopped" ] || break
done
all_sessions
rnbd list --json | jq -e 'all(.state == "live" and .reconnects == 0)' >/dev/null ||
	die "a session has lost its connection"
rnbd detach --all --wait 10 || die "detach --all failed"
measure "sessions-0-again" 10
figure "target, not returned, per session" "$(per $had "$empty_theirs" "$theirs")" KiB
figure "client, not returned, per session" "$(per $had "$empty_ours" "$ours")" KiB

further_disks "${DEPTHS[0]}"
client0=$client_disk target0=$target_disk null0=$null_share
further_disks "${DEPTHS[1]}"
client=$(at_depth_0 "$client0" "$client_disk") null=$(at_depth_0 "$null0" "$null_share")
target=$(jq -n "($target0 + $target_disk) / 2")
DETAILS=$(details client="$client" target="$target" null_blk="$null")
figure "further disk, client and target, without its requests" "$(jq -n "$client + $target")" KiB
DETAILS=$(details client="$client" target="$target" null_blk="$null")
figure "further disk, client and target, without a blk-mq disk of that size" \
	"$(jq -n "$client + $target - $null")" KiB "<=" 64
tell step end
barrier step
