#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240 --peers
# kernel: stock
# adapter: own
# short: the kernel's own RNBD runs on modelled adapters that are nasty
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh
. ../bench/peers.sh

TARGET=$MDL_TARGET
adapter_load dma=model
# rtrs-server refuses what needs bounce buffers: it maps memory only once
adapter_up profile=mlx5 nasty=all
# it has no RDMA READs
MDL_CANNOT="late again"
backend=$(null_disk 64) || exit 1

intree_export Y
intree_attach
verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=8m
verify "$dev" --rw=write --bs=128k --iodepth=4 --size=16m
intree_detach
rmmod rnbd-server rtrs-server rtrs-core || die "the server stays"
mdl_show

mdl_need mdl0 served_writes -gt 0
mdl_need mdl0 writes_with_immediate -gt 0
mdl_need mdl1 writes -gt 0
for dev in mdl0 mdl1; do
	mdl_need "$dev" violations -eq 0
done
adapter_down
