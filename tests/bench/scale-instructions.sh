#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure host instructions per I/O with one active session and with up to a thousand; runs in a lab
# machine that counts instructions:
#
#   scripts/lab run --icount --plugin build/bench-tools/plugin.so --mem 6144 --timeout 7200 \
#       --out DIR tests/bench/scale-instructions.sh COUNT,... [PROFILE]
#
# Client and target are one machine with two modelled adapters, as in adapter.sh. Each session
# belongs to a host of its own, with one connection, one disk, and its own export and null_blk.
# A thread of fio per disk reads 4 KiB at random, one request at a time. Instructions of the model,
# of fio and of null_blk do not count. $OUT/results gets the result for each number of sessions, and
# its ratio to the result for one session.
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

PART=instructions
IFS=, read -ra counts <<<"$1"
profile=${2:-mlx5}
last=${counts[-1]}
SLOWDOWN=2		# as in adapter.sh
# Small sessions: a thousand of them share one machine, and each has one request in flight.
options=(--queues 1 --queue-depth 8 --ring-slots 8 --pool 1M --max-io 64K)

ADDR=$MDL_TARGET
set_host_id
adapter_load dma=direct timed=Y slowdown=$SLOWDOWN round_trip_ns=2500
adapter_up "profile=$profile"
modprobe rnbd || die "modprobe rnbd failed"
target_start
parameter rnbd_target pool_limit_mb $((last * 2 + 64))
parameter rnbd_target queue_limit_mb $((last * 2 + 64))
parameter rnbd_target max_sessions 65536
echo 1048576 >/proc/sys/fs/aio-max-nr
make_port
make_hosts 1 "$last"
make_exports 1 "$last" 32

rm -f "$OUT/results" "$OUT/breakdown"
uname -r >"$OUT/kernel"
devs=() first=''

# one SESSIONS: attach sessions up to this number and measure
one() {
	local n=$1 i jobs=() skip ios now

	for ((i = ${#devs[@]} + 1; i <= n; i++)); do
		attach_session "$i" "e$i" "${options[@]}"
		echo none >"/sys/block/${devs[i]##*/}/queue/scheduler"
	done
	same "$(sessions_of_target)" "$n" sessions
	for i in "${!devs[@]}"; do jobs+=(--name="s$i" --filename="${devs[i]}"); done
	skip=$((4 * n > 1000 ? 4 * n : 1000))
	ios=$((8 * n > 4000 ? 8 * n : 4000))
	measured $skip $ios --rw=randread --iodepth=1 --randseed=7 "${jobs[@]}"
	now=$(jq .host_instructions "$OUT/one")
	jq -c --argjson sessions "$n" '{ $sessions, insns, modules, functions }' "$OUT/one" >>"$OUT/breakdown"
	DETAILS=$(jq -c --argjson sessions "$n" --arg profile "$profile" --argjson ns "$ns" \
		--argjson slow $SLOWDOWN '{ $sessions, $profile, ios, iops: (.ios * 1e9 * $slow / $ns), modules }' \
		"$OUT/one")
	figure "sessions: $n" "$now" "instructions per I/O"
	: "${first:=$now}"
	[ "$now" = "$first" ] ||
		figure "sessions: $n, against one" "$(jq -n "$now / $first")" times "<=" 1.1
}

[ "${counts[0]}" = 1 ] || die "the numbers of sessions begin with 1"
for n in "${counts[@]}"; do one "$n"; done
# A high figure for one session would hide a growth, so compare with the lowest figure, too.
figure "sessions: $last, against the lowest" "$(jq -s 'map(select(.unit == "instructions per I/O").value) |
	.[-1] / min' "$OUT/results")" times
for i in "${!devs[@]}"; do
	same "$(counter "${devs[i]}" connections_lost)" 0 "connections that session $i has lost"
done
detach_all
no_violations
