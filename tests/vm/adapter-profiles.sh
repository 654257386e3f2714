#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 500
# adapter: own
# short: client and target on each profile of the modelled adapter
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
disk=$(null_disk 64) || exit 1
adapter_load dma=model

for profile in ${1-mlx5 irdma bnxt_re ionic minimal}; do
	note "$profile"
	adapter_up "profile=$profile"
	same "$(cat "$MDL_DEBUG/mdl1/profile")" "$profile"
	target_start
	export_disk disk0 "$disk"
	for options in "" "--inline-read 0 --inline-write 0" "--transfer copy"; do
		# shellcheck disable=SC2086 # a list
		dev=$(attach disk0 --queues 2 $options) || exit 1
		access=$(counter "$dev" remote_access)
		if [ "$profile" = irdma ]; then
			same "$access" 0x6 "remote access of a device that does not switch it off"
			dmesg_has "device mdl0 does not switch remote access off, it reports 0x6" ||
				die "the client does not say that remote access stays on"
		else
			same "$access" 0x0 "remote access"
		fi
		verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=4m
		verify "$dev" --rw=write --bs=1m --iodepth=4 --size=8m
		verify "$dev" --rw=randwrite --bsrange=512-64k --bs_unaligned=0 --iodepth=8 --size=4m
		detach "$dev"
	done
	configfs_clear
	unload
	mdl_show
	for dev in mdl0 mdl1; do
		mdl_need "$dev" violations -eq 0
	done
	adapter_down
	adapter_load dma=model
done
