#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240
# adapter: own
# turns: 2
# short: modelled adapters with the kernel's own mappings; the target refuses bounce buffers
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
# its dma_max_mapping_size() is below the length of a segment of the pool
adapter_up bounce=Y profile=mlx5
target_start
export_disk disk0 "$disk"
modprobe rnbd || die "modprobe rnbd failed"
attach_refused_for_bounce_buffers disk0
mdl_need mdl1 maps -gt 0
own_adapter_end

# Memory of a request that is contiguous over more than dma_max_mapping_size() is mapped
# in pieces. The device reports a mapping that is longer.
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
# at least four mappings of at most 256 KiB for each MiB, written and read
mdl_need mdl0 maps -ge $((before + 128))
detach "$dev"
own_adapter_end
