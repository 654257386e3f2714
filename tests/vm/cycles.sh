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

target_start
export_disk disk0 "$disk"
# Warm up: CQ pools, slab caches and per-cpu lists grow on first use.
for i in 5 10 1 2; do cycle "$i"; done
configfs_clear
unload
idle=$(rdma_resources)
free=$(memory_free)
echo "before: $idle, $free KiB free"

target_start
export_disk disk0 "$disk"
up=$(rdma_resources)
for i in $(seq 1 100); do
	cycle "$i"
	[ $((i % 25)) != 0 ] || echo "  $i cycles"
	[ "$(rdma_resources)" = "$up" ] ||
		wait_for 5 rdma_is "$up"
done
configfs_clear
unload
wait_for 5 rdma_is "$idle"
now=$(memory_free)
echo "after: $(rdma_resources), $now KiB free"
# 100 leaked pools of 4 MiB would be 400 MiB, 100 leaked rings 50 MiB.
[ $((free - now)) -lt 16384 ] || die "$((free - now)) KiB are gone"
