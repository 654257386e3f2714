#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# turns: 3
# adapter: only
# short: I/O with checksums is correct if the pool is so small that hardware queues stop, and with the smallest ring
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
target_start
disk=$(null_disk 128) || exit 1
export_disk disk0 "$disk"

echo "pool of 64 KiB, requests up to 32 KiB"
dev=$(attach disk0 --queues 1 --pool 64K --max-io 32K) || exit 1
need "$dev" pool_units -eq 16
verify "$dev" --rw=randwrite --bs=4k --iodepth=64 --size=4m
verify "$dev" --rw=randwrite --bsrange=4k-32k --iodepth=64 --size=8m
verify "$dev" --rw=write --bs=256k --iodepth=8 --size=16m
need "$dev" pool_stalls -gt 100
need "$dev" queue_starts -gt 100
need "$dev" fragmented -gt 0
need "$dev" pool_peak -le 16
need "$dev" pool_used -eq 0
detach "$dev"

echo "the same on two queues with early release"
dev=$(attach disk0 --queues 2 --pool 128K --max-io 32K --early-release) || exit 1
verify "$dev" --rw=randwrite --bsrange=4k-32k --iodepth=64 --size=8m --numjobs=2 \
       --offset_increment=32m
need "$dev" pool_stalls -gt 100
need "$dev" send_fences -gt 0
need "$dev" pool_used -eq 0
detach "$dev"

echo "smallest ring: 4 slots of 1 KiB"
dev=$(attach disk0 --queues 1 --ring-slots 4 --slot-size 1024) || exit 1
need "$dev" ring_slots -eq 4
verify "$dev" --rw=randwrite --bs=4k --iodepth=1 --size=512k
verify "$dev" --rw=randwrite --bs=4k --iodepth=128 --size=8m
verify "$dev" --rw=write --bs=1m --iodepth=16 --size=32m
verify "$dev" --rw=randwrite --bs=4k --iodepth=128 --size=4m --iodepth_batch_submit=16
need "$dev" frames_sent -gt 0
detach "$dev"

echo "small pool and ring, one request in flight at a time"
dev=$(attach disk0 --queues 1 --queue-depth 1 --ring-slots 4 --slot-size 1024 --pool 4K --max-io 4K) || exit 1
need "$dev" pool_units -eq 1
verify "$dev" --rw=randwrite --bs=16k --iodepth=4 --size=1m
need "$dev" pool_used -eq 0
detach "$dev"
configfs_clear
unload
