#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 120
# short: data written to an attached disk are read back
. ../lib/lab.sh
. ../lib/rnbd.sh

# Target and client are one machine. A test with --nodes 2 runs on both machines: distinguish them
# by $NODE, and synchronise them by barrier.
set_host_id
target_start
export_disk disk0 "$(null_disk 64)"
dev=$(attach disk0) || exit 1

# Check the data, and check by a counter that RDMA has transferred them.
verify "$dev" --rw=randwrite --bs=16k --iodepth=4 --size=4m
need "$dev" rdma_writes -gt 0

detach "$dev"
configfs_clear
unload
