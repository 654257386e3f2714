#!/bin/bash
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 400
# short: 100 attach/detach cycles and module reloads leave nothing behind
. ./lib.sh
. ./rnbd.sh

set_host_id
disk=$(null_disk 64) || exit 1

cycle() {
	local dev
	dev=$(attach disk0 --queues 2 --pool 4M) || exit 1
	if [ $(($1 % 10)) = 0 ]; then
		verify "$dev" --rw=randwrite --bs=16k --iodepth=16 --size=1m
	else
		dd if="$dev" of=/dev/null bs=64k count=4 iflag=direct status=none ||
			die "read failed in cycle $1"
	fi
	detach "$dev"
	if [ $(($1 % 10)) = 5 ]; then
		configfs_clear
		unload
		target_start
		export_disk disk0 "$disk"
	fi
}

# round N: N cycles, then everything is unloaded
round() {
	local i up
	target_start
	export_disk disk0 "$disk"
	up=$(rdma_resources)
	for i in $(seq 1 "$1"); do
		cycle "$i"
		[ $((i % 25)) != 0 ] || echo "  $i cycles"
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
for half in 1 2; do
	round 50
	wait_for 5 rdma_is "$idle"
	memory_kernel >"$OUT/memory.$half"
done

echo "rdma before and after: $idle"
# A leak grows with every cycle, hence in both halves. 50 leaked pools of 4 MiB
# would be 200 MiB of pages, 50 leaked rings 25 MiB; a leaked page or object of
# 4 KiB per cycle 200 KiB.
paste "$OUT"/memory.[012] | awk '
	{
		printf "  %-8s %7d KiB, after 50 cycles %+6d, after 100 %+6d\n",
			$1, $2, $4 - $2, $6 - $4
		if ($4 - $2 > 160 && $6 - $4 > 160)
			bad = bad " " $1
	}
	END { if (bad) { print "growing:" bad; exit 1 } }' ||
	die "memory leaks"
