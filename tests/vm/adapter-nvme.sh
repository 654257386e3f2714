#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240
# turns: 2
# kernel: stock
# adapter: only mlx5 irdma bnxt_re
# short: nvme-rdma and nvmet-rdma pass verified I/O on a nasty modelled adapter, with and without SRQ
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../bench/peers.sh

# nvme-rdma maps DMA segments of up to 1 MiB and ignores the limit of the device. The profiles ionic
# and minimal allow only 64 KiB, so the model would report a violation, and this test does not use
# them.
#
# nvmet-rdma fills a reply after it has mapped it for DMA, and does not synchronise the mapping. So
# the device of the target must not use bounce buffers, and adapter.sh creates it without them.
TARGET=$ADDR
backend=$(null_disk 64) || exit 1

# On a device without SRQ, nvmet-rdma ignores use_srq=Y.
for srq in N Y; do
	note "nvmet-rdma use_srq=$srq"
	modprobe nvmet-rdma "use_srq=$srq" || die "no nvmet-rdma"
	nvmet_export rdma 4096
	nvme_attach rdma --nr-io-queues=2
	verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=8m
	verify "$dev" --rw=write --bs=1m --iodepth=4 --size=16m
	verify "$dev" --rw=randwrite --bsrange=512-128k --bs_unaligned=0 --iodepth=16 --size=8m
	nvme disconnect -n bench >/dev/null || die "nvme disconnect failed"
	modprobe -r nvme-rdma || die "nvme-rdma cannot be unloaded"
	nvmet_unexport rdma
done

# The client registers memory. The target transfers the data by RDMA READ and RDMA WRITE, and
# invalidates the registrations of the client.
mdl_need mdl0 registrations -gt 0
mdl_need mdl0 joined_entries -gt 0
mdl_need mdl0 sends -gt 0
mdl_need mdl1 reads -gt 0
mdl_need mdl1 writes -gt 0
mdl_need mdl1 sends_with_invalidate -gt 0
mdl_need mdl0 served_writes -gt 0
