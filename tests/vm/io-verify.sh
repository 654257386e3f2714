#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 4 --mem 2048 --timeout 420
# adapter: also
# short: verified I/O of 512 bytes to 4 MiB at depth 1 to 128 with 1 to 4 jobs, on modelled adapters also with 1 and 2 queues
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
target_start
disk=$(null_disk 256) || exit 1
export_disk disk0 "$disk"

# kib N: print N KiB as a size for fio; on a debug kernel print N / 8 KiB
kib() { echo "$(($1 / (LAB_SLOW ? 8 : 1)))k"; }

check() {
	echo "queues=$queues $*"
	verify "$dev" "$@"
}

# On soft-RoCE run with 4 queues only; on the modelled adapters run with 1, 2 and 4 queues.
for queues in ${LAB_ADAPTER:+1 2} 4; do
	dev=$(attach disk0 --queues "$queues") || exit 1
	[ "$(counter "$dev" queues)" = "$queues" ] || die "$queues queues were not granted"
	check --rw=randwrite --bs=4k --iodepth=1 --size=1m
	check --rw=randwrite --bs=4k --iodepth=128 --size="$(kib 8192)" --numjobs=4 --offset_increment=16m
	check --rw=write --bs=4k --iodepth=16 --size="$(kib 4096)"
	check --rw=randwrite --bsrange=4k-64k --bs_unaligned=0 --iodepth=32 --size="$(kib 16384)"
	check --rw=write --bs=128k --iodepth=16 --size="$(kib 16384)" --numjobs=2 --offset_increment=64m
	check --rw=randwrite --bs=1m --iodepth=4 --size="$(kib 16384)"
	check --rw=write --bs=4m --iodepth=1 --size="$(kib 32768)"
	check --rw=randwrite --bs=4m --iodepth=16 --size="$(kib 65536)"
	# Submit eight at a time, so that a dispatch has several requests.
	check --rw=randwrite --bs=4k --iodepth=32 --iodepth_batch_submit=8 \
	    --iodepth_batch_complete_min=8 --size="$(kib 8192)"
	check --rw=randwrite --bs=512 --iodepth=16 --size=256k
	need "$dev" rdma_writes -gt 0
	need "$dev" rdma_reads -gt 0
	# An adapter with one scatter/gather entry per work request cannot coalesce.
	[ "${LAB_ADAPTER-}" = minimal ] || need "$dev" coalesced -gt 0
	need "$dev" pool_used -eq 0
	[ "$(counter "$dev" entries_sent)" -gt "$(counter "$dev" frames_sent)" ] ||
		die "no frame ever carried two requests"
	detach "$dev"
done
configfs_clear
unload
