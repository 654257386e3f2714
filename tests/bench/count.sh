#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Show which functions execute the instructions of an I/O; runs in a lab machine that counts
# instructions (--icount --plugin): count.sh IOS SYSTEM...
#
# Each system runs four loads: 4 KiB random reads and random writes, each at depth 32 and 1. Each
# load adds a line of JSON to $OUT/breakdown: instructions per I/O by module, and the functions with
# the most instructions.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/bench/peers.sh
. ./peers.sh
# shellcheck source=tests/bench/attribute.sh
. ./attribute.sh

TARGET=$ADDR
wanted=$1
shift
mark=/dev/shm/mark	# a copy, because the first start from the shared directory takes long
cp ../../build/bench-tools/mark $mark || exit 1
set_host_id
backend=$(null_disk 64 memory_backed=0 discard=0) || exit 1

# ended: set $done to the number of requests that the disk has completed
ended() {
	local f
	read -ra f <"/sys/block/${dev##*/}/stat" && done=$((f[0] + f[4]))
}
ended_over() { ended && [ "$done" -gt "$1" ]; }

# count SYSTEM RW DEPTH: count the instructions of about $wanted I/Os
counted=0
count() {
	local sys=$1 rw=$2 depth=$3 before after pid
	fio --name=count --filename="$dev" --direct=1 "${engine[@]}" --rw="$rw" --bs=4k \
	    --iodepth="$depth" --norandommap --size=60m --randseed=7 --time_based --runtime=600 \
	    --minimal >"$OUT/fio" 2>&1 &
	pid=$!
	ended
	wait_for 60 ended_over $((done + 1000))
	ended
	before=$done
	$mark
	wait_for 60 ended_over $((before + wanted))
	ended
	after=$done
	$mark
	counted=$((counted + 1))
	kill $pid
	wait $pid
	wait_for 20 test -s "$OUT/count.$counted"
	attribute "$OUT/count.$counted" $((after - before)) |
		breakdown $((after - before)) \
			"$(jq -nc --arg system "$sys" --arg rw "$rw" --argjson depth "$depth" \
				'{ $system, $rw, $depth }')" >>"$OUT/breakdown" || die "jq failed"
	lab log "$sys $rw depth $depth: $(tail -n 1 "$OUT/breakdown" |
		jq -r '"\(.insns | round) instructions per I/O: " + (.modules | to_entries | sort_by(-.value) |
			map("\(.key) \(.value | round)") | join(", "))')"
}

rm -f "$OUT/breakdown"
uname -r >"$OUT/kernel"
for sys in "$@"; do
	peer_export "$sys"
	peer_attach "$sys" 1
	for depth in 32 1; do
		count "$sys" randread $depth
		count "$sys" randwrite $depth
	done
	peer_detach "$sys"
	peer_unexport "$sys"
done
