#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180 --append swiotlb=force
# kernel: stock
# adapter: own
# turns: 2
# short: on a machine that uses bounce buffers for all DMA, the target refuses its RDMA device and reports the reason
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

# With bounce buffers the kernel copies the data only when a DMA mapping is made, synchronised or
# removed. The target keeps pool memory mapped during many requests and does not synchronise the
# mapping, so it cannot use such a device.
ADDR=$MDL_TARGET
set_host_id
debugfs_ready
[ "$(cat /sys/kernel/debug/swiotlb/io_tlb_nslabs)" -gt 0 ] || die "the kernel has no bounce buffers"
adapter_load dma=direct
adapter_up profile=mlx5
target_start
export_disk disk0 "$(null_disk 64)"
modprobe rnbd || die "modprobe rnbd failed"
attach_refused_for_bounce_buffers disk0
own_adapter_end
