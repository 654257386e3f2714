#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 400
# adapter: only
# turns: 2
# without: event, because a lost message of the connection manager delays an attach by seconds
# short: 100 attach/detach cycles with module reloads leave no RDMA objects and no kernel memory behind
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
disk=$(null_disk 64) || exit 1

# race DEV: exactly one of four concurrent detach commands must succeed
race() {
	local i pids='' won=0
	for i in 1 2 3 4; do
		rnbd detach "$1" >"$OUT/race.$i" 2>&1 &
		pids+=" $!"
	done
	for i in $pids; do
		wait "$i" && won=$((won + 1))
	done
	[ "$won" = 1 ] || die "$won of 4 detached $1: $(cat "$OUT"/race.*)"
}

cycle() {
	local dev
	dev=$(attach disk0 --queues 2 --pool 4M) || exit 1
	if [ $(($1 % 10)) = 0 ]; then
		verify "$dev" --rw=randwrite --bs=16k --iodepth=16 --size=1m
	else
		dd if="$dev" of=/dev/null bs=64k count=4 iflag=direct status=none ||
			die "read failed in cycle $1"
	fi
	if [ $(($1 % 10)) = 3 ]; then
		race "$dev"
	else
		detach "$dev"
	fi
	if [ $(($1 % 10)) = 5 ]; then
		configfs_clear
		unload
		target_start
		export_disk disk0 "$disk"
	fi
}

# Number of cycles in a quarter of the test. There are several kinds of cycles; ten successive
# cycles include all of them.
cycles=25
[ -z "$LAB_SLOW" ] || cycles=10

# round N: run N cycles, then unload the modules
round() {
	local i up
	target_start
	export_disk disk0 "$disk"
	up=$(rdma_resources)
	for i in $(seq 1 "$1"); do
		cycle "$i"
		[ "$(rdma_resources)" = "$up" ] || wait_for 5 rdma_is "$up"
	done
	configfs_clear
	unload
}

# Warm up: CQ pools, slab caches and per-cpu lists grow on first use.
target_start
export_disk disk0 "$disk"
for i in 5 10 1 2; do cycle "$i"; done
configfs_clear
unload
idle=$(rdma_resources)
memory_kernel >"$OUT/memory.0"
for quarter in 1 2 3 4; do
	round $cycles
	wait_for 5 rdma_is "$idle"
	memory_kernel >"$OUT/memory.$quarter"
	echo "  $((quarter * cycles)) cycles"
done
echo "rdma before and after: $idle"

# A debug kernel holds freed memory back and keeps a record of each object, so its memory grows
# without a leak, too. On a debug kernel kmemleak looks for leaks after this script.
[ -z "$LAB_SLOW" ] || exit 0

# grown FILE...: print the kinds of memory that have grown in every quarter by at least a threshold.
# A leak grows with every cycle, and therefore in every quarter, while the memory that other parts
# of the kernel use goes up and down. The threshold is 20 objects for a slab cache, and 80 KiB for
# other memory. A leak of one object per cycle would be 25 objects in a quarter, and a leak of one
# page per cycle 100 KiB.
grown() {
	awk '{
		name = $1
		if (FNR == 1)
			quarter++
		if (quarter > 1) {
			step = $2 - last[name]
			if (quarter == 2 || step < least[name])
				least[name] = step
			total[name] += step
		}
		last[name] = $2
	     }
	     END {
		for (name in least) {
			if (name !~ /^slab-/)
				printf "  %s: %+d KiB in all\n", name, total[name] >"/dev/stderr"
			if (least[name] >= (name ~ /^slab-/ ? 20 : 80))
				print name
		}
	     }' "$@"
}
leaks=$(grown "$OUT"/memory.[01234])
[ -z "$leaks" ] || die "slab caches grow with every cycle: $leaks"
echo "  no slab cache grew in every quarter"
