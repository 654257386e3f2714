#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240
# adapter: own
# turns: 2
# short: I/O with the kernel's own DMA mappings; the target refuses a device with bounce buffers; long requests are mapped in pieces
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
disk=$(null_disk 64) || exit 1

note "mappings of the kernel"
adapter_load dma=direct
adapter_up profile=mlx5
target_start
export_disk disk0 "$disk"
dev=$(attach disk0) || exit 1
verify "$dev" --rw=randwrite --bsrange=512-256k --bs_unaligned=0 --iodepth=16 --size=16m
detach "$dev"
mdl_need mdl0 maps -eq 0
own_adapter_end

note "bounce buffers at the target"
adapter_load dma=model
# With bounce buffers dma_max_mapping_size() of this device is 1 MiB, which is less than the length
# of the largest segment of a pool.
adapter_up bounce=Y profile=mlx5
target_start
export_disk disk0 "$disk"
modprobe rnbd || die "modprobe rnbd failed"
attach_refused_for_bounce_buffers disk0
mdl_need mdl1 maps -gt 0
own_adapter_end

# The client must map contiguous memory of a request in pieces of at most dma_max_mapping_size().
# The device reports a longer mapping as a violation.
note "requests longer than a mapping"
adapter_load dma=model
adapter_up profile=minimal
target_start
export_disk disk0 "$disk"
echo 16 >/proc/sys/vm/nr_hugepages
modprobe rnbd chunk_kb=0 || die "modprobe rnbd failed"
dev=$(attach disk0) || exit 1
same "$(cat "/sys/block/${dev##*/}/queue/max_sectors_kb")" 1024
before=$(mdl_stat mdl0 maps)
verify "$dev" --rw=write --bs=1m --iodepth=4 --size=16m --iomem=mmaphuge --hugepage-size=2m
# 16 MiB are written and read back; each MiB needs at least four mappings of at most 256 KiB.
mdl_need mdl0 maps -ge $((before + 128))
detach "$dev"
own_adapter_end
