#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Where the instructions of an I/O go; runs in a lab machine that counts (--icount
# --plugin): count.sh IOS SYSTEM...
#
# For each system and 4 KiB random reads and writes, depth 32 and 1, a line of JSON
# in $OUT/breakdown: instructions per I/O by part, and the functions that cost most.
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
mark=/dev/shm/mark	# its first start takes long where it comes from
cp ../../build/bench-tools/mark $mark || exit 1
set_host_id
backend=$(null_disk 64 memory_backed=0 discard=0) || exit 1

# requests that the disk has ended, in $done
ended() {
	local f
	read -ra f <"/sys/block/${dev##*/}/stat" && done=$((f[0] + f[4]))
}
ended_over() { ended && [ "$done" -gt "$1" ]; }

# count SYSTEM RW DEPTH
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
