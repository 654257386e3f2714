#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because a session that reconnects begins with its floor
# short: two hosts compete for memory: a third host below its share keeps its grants, and no session falls far below its share
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The target reclaims segments only for a session below its share, or for the floor of a login, and
# normally only from sessions above their shares. The third host requests 3 MiB of the 16 MiB, which
# is more than its floor and less than its share of a third. It must get and keep 3 MiB while each
# of the two other hosts requests all memory. The tracepoint rnbdt_reclaim reports the age of each
# reclaimed segment and the memory that its session keeps.
T=/sys/kernel/tracing
MIB=$((1 << 20))
ROUNDS=4
WANTED=768	# units

set_host_id
target_start
param rnbd_target pool_limit_mb 16
param rnbd_target claim_timeout 0
for ((i = 1; i <= 3; i++)); do
	disk=$(null_disk 128 irqmode=2 completion_nsec=200000000) || exit 1
	export_disk "disk$i" "$disk" "$i"
done
modprobe rnbd || die "modprobe rnbd failed"
mountpoint -q $T || mount -t tracefs tracefs $T || die "no tracefs"
echo 1 >$T/events/rnbd_target/rnbdt_reclaim/enable || die "no tracepoint"

# judge floor|share: fail if a traced reclaim leaves a session too little memory. With "floor" the
# session must keep its floor. With "share" it must keep its share minus 3/4 of (share - floor): a
# session may fall below its share by at most 3/4 of the lack of the session that lacks most, and no
# session lacks more than share - floor. Print "EVENTS FRESH BELOW": the number of all reclaims, of
# those of segments younger than 1 s, and of those that left a session below its share.
judge() {
	awk -v least="$1" '
		/ rnbdt_reclaim: / {
			for (i = 1; i <= NF; i++)
				if (split($i, f, "=") == 2) v[f[1]] = f[2]
			n++
			if (v["age_ms"] + 0 < 1000) fresh++
			if (v["keeps"] + 0 < v["share"] + 0) below++
			bound = v["floor"]
			if (least == "share") bound = v["share"] - (v["share"] - v["floor"]) * 3 / 4
			if (v["keeps"] + 0 < bound) { print "below its " least ": " $0 >"/dev/stderr"; bad = 1 }
		}
		END { print n + 0, fresh + 0, below + 0; exit bad }' $T/trace || die "memory was reclaimed that the session should keep"
}

common=(--queues 2)
load=(--rw=randwrite --bs=128k --iodepth=128 --size=100m)
first=$(attach disk1 "${common[@]}" --pool 16M) || exit 1
steadily first "$first" "${load[@]}"
wait_for 60 counter_over "$first" pool_units 2560

fresh=0 reclaims=0
for ((round = 1; round <= ROUNDS; round++)); do
	note "round $round: the second host takes its share"
	second=$(attach disk2 "${common[@]}" --pool 16M --host-id "$(host_id 2)") || exit 1
	third=$(attach disk3 "${common[@]}" --pool 3M --host-id "$(host_id 3)") || exit 1
	judge floor
	echo >$T/trace
	# No further session logs in during this round. So the target no longer reclaims memory for
	# the floor of a login, but only for sessions below their shares.
	steadily second "$second" "${load[@]}"
	wait_for 60 counter_over "$first" pool_reclaims "$reclaims"
	note "the third host gets what it requests, which is less than its share"
	steadily third "$third" "${load[@]}"
	wait_quietly 60 counter_is "$third" pool_units $WANTED ||
		die "the third host has $(counter "$third" pool_units) units, requests $(counter "$third" pool_requested_units), I/O uses $(counter "$third" pool_used), $(pools_charged) bytes are charged"
	granted_at=$(now_ms)
	# Check after 1.5 s that the third host has kept its memory.
	passed() { [ $(($(now_ms) - granted_at)) -gt 1500 ]; }
	wait_for 10 passed
	need "$third" pool_units -eq $WANTED
	need "$third" pool_grants -gt 0
	need "$third" pool_reclaims -eq 0
	wait_for 60 counter_over "$second" pool_units 1024
	judged=$(judge share) || exit 1
	read -r n young below <<<"$judged"
	note "$n segments were reclaimed, $young of them less than a second after their grant, $below from sessions that fell below their share"
	[ "${n:-0}" -gt 0 ] || die "nothing was reclaimed: this test proves nothing"
	fresh=$((fresh + young))
	reclaims=$(counter "$first" pool_reclaims)
	steadily_end second
	steadily_end third
	for dev in "$second" "$third"; do need "$dev" connections_lost -eq 0; done
	detach "$second"
	detach "$third"
	echo >$T/trace
	wait_for 60 counter_over "$first" pool_units 2560
done
note "segments that were reclaimed within a second, from sessions above their share: $fresh"
echo 0 >$T/events/rnbd_target/rnbdt_reclaim/enable
steadily_end first
need "$first" connections_lost -eq 0
[ "$(pools_charged)" -le $((16 * MIB)) ] || die "$(pools_charged) bytes are charged"
verify "$first" --rw=randwrite --bsrange=4k-256k --iodepth=32 --size=8m
detach "$first"
configfs_clear
unload
