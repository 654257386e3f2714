#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
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
configfs_clear
unload
mdl_need mdl0 maps -eq 0
for dev in mdl0 mdl1; do
	mdl_need "$dev" violations -eq 0
done
adapter_down

note "bounce buffers at the target"
adapter_load dma=model
# with small segments: the default pool has some beyond dma_max_mapping_size()
adapter_up bounce=Y profile=minimal
target_start
export_disk disk0 "$disk"
modprobe rnbd || die "modprobe rnbd failed"
refused rnbd attach "$ADDR" disk0
dmesg | grep 'pool of .* on mdl1'
configfs_clear
unload
adapter_down
