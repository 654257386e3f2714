#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240 --peers
# turns: 2
# kernel: stock
# adapter: only mlx5 bnxt_re
# short: the kernel's own RNBD passes verified I/O on a nasty modelled adapter
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../bench/peers.sh

# rtrs-server maps its memory once and keeps it mapped, so the device of the target must not use
# bounce buffers, and adapter.sh creates it without them. rtrs-server registers pages of 128 KiB
# without checking page_size_cap of the device; irdma, ionic and minimal do not support that size.
TARGET=$ADDR
backend=$(null_disk 64) || exit 1

intree_export Y
intree_attach
verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=8m
verify "$dev" --rw=write --bs=128k --iodepth=4 --size=16m
intree_detach
rmmod rnbd-server rtrs-server rtrs-core || die "the modules of the server cannot be unloaded"

mdl_need mdl0 served_writes -gt 0
mdl_need mdl0 writes_with_immediate -gt 0
mdl_need mdl1 writes -gt 0
