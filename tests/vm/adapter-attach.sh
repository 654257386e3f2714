#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
# turns: 2
# adapter: own
# short: verified I/O between two modelled adapters of one machine with checked DMA mappings; only the client posts RDMA WRITEs
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

adapter_up profile=mlx5
rdma link show
for dev in mdl0 mdl1; do
	rdma link show "$dev/1" | grep -q "state ACTIVE" || die "$dev is not active"
	same "$(cat "/sys/class/infiniband/$dev/node_type")" "1: CA"
	same "$(cat "$MDL_DEBUG/$dev/profile")" mlx5
done

ADDR=$MDL_TARGET
set_host_id
target_start
export_disk disk0 "$(null_disk 64)"
dev=$(attach disk0) || exit 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=8m
verify "$dev" --rw=write --bs=1m --iodepth=4 --size=32m
verify "$dev" --rw=randwrite --bsrange=512-256k --bs_unaligned=0 --iodepth=16 --size=16m
mdl_show

# The client posts all RDMA READs and RDMA WRITEs to mdl0. The target posts none: its device, mdl1,
# only serves those of the client.
mdl_need mdl0 sends -gt 0
mdl_need mdl0 writes -gt 0
mdl_need mdl0 reads -gt 0
mdl_need mdl0 served_writes -eq 0
mdl_need mdl1 sends -gt 0
mdl_need mdl1 served_writes -gt 0
mdl_need mdl1 served_reads -gt 0
mdl_need mdl1 writes -eq 0

detach "$dev"
own_adapter_end
