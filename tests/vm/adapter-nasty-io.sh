#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 400
# adapter: own
# turns: 2
# short: verified I/O on modelled adapters with every harmless kind of nastiness that InfiniBand allows
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
disk=$(null_disk 64) || exit 1
seed=${2-1}

for profile in ${1-mlx5 bnxt_re minimal}; do
	note "$profile, seed $seed"
	adapter_load dma=model
	adapter_up "profile=$profile" nasty=all "seed=$seed"
	target_start
	export_disk disk0 "$disk"
	for options in "" "--inline-read 0 --inline-write 0" "--transfer copy"; do
		# shellcheck disable=SC2086 # a list
		dev=$(attach disk0 --queues 2 $options) || exit 1
		verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=4m
		verify "$dev" --rw=write --bs=1m --iodepth=4 --size=8m
		verify "$dev" --rw=randwrite --bsrange=512-64k --bs_unaligned=0 --iodepth=8 --size=4m
		detach "$dev"
	done
	own_adapter_end
	seed=$((seed + 1))
done
