#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 500
# adapter: own
# turns: 2
# short: verified I/O on each profile of the modelled adapter; reads use the full queue depth; the client reports if remote access stays on
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
disk=$(null_disk 64) || exit 1
slow=$(null_disk 64 irqmode=2 completion_nsec=20000000) || exit 1
READS=1000
[ -z "$LAB_SLOW" ] || READS=300
adapter_load dma=model

# The pages of a tmpfs file that is written in random order are scattered in memory.
mkdir -p "$OUT/mem"
run mount -t tmpfs -o size=48m tmpfs "$OUT/mem"
run fio --name=scatter --filename="$OUT/mem/pages" --rw=randwrite --bs=4k --size=36m \
    --minimal --output=/dev/null

# full_depth RELATION NUMBER BS...: read into scattered pages at depth 128, with each block size BS.
# The number of stalls for lack of send-queue entries must satisfy RELATION NUMBER. The storage
# takes 20 ms for a read, so that 128 reads are in flight.
full_depth() {
	local relation=$1 number=$2 bs

	shift 2
	export_disk slow "$slow"
	dev=$(attach slow --queues 1 --queue-depth 128 --inline-read 0 --pool-floor fixed) || exit 1
	for bs; do
		run fio --name=depth --filename="$dev" --direct=1 --ioengine=libaio --rw=randread \
		    --bs="$bs" --iodepth=128 --number_ios=$READS --io_size=256m --norandommap \
		    --iomem="mmapshared:$OUT/mem/pages" --minimal --output=/dev/null
		need "$dev" sq_stalls "$relation" "$number"
	done
	detach "$dev"
}

for profile in ${1-mlx5 irdma bnxt_re ionic minimal}; do
	note "$profile"
	# On "minimal" the RDMA READs complete late, so that they hold their send-queue entries for
	# long.
	late=()
	[ "$profile" != minimal ] || late=(nasty=late nasty_rate=1)
	adapter_up "profile=$profile" "${late[@]}"
	same "$(cat "$MDL_DEBUG/mdl1/profile")" "$profile"
	target_start
	export_disk disk0 "$disk"
	for options in "" "--inline-read 0 --inline-write 0" "--transfer copy"; do
		# shellcheck disable=SC2086 # a list
		dev=$(attach disk0 --queues 2 $options) || exit 1
		access=$(counter "$dev" remote_access)
		if [[ $profile = irdma || $profile = bnxt_re ]]; then
			same "$access" 0x6 "remote access of a device that cannot disable it"
			dmesg_has "device mdl0 does not disable remote access, it reports 0x6" ||
				die "the log does not report that remote access stays enabled"
		else
			same "$access" 0x0 "remote access"
		fi
		verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=4m
		verify "$dev" --rw=write --bs=1m --iodepth=4 --size=8m
		verify "$dev" --rw=randwrite --bsrange=512-64k --bs_unaligned=0 --iodepth=8 --size=4m
		detach "$dev"
	done
	# The send queues of "minimal" have entries for only a few reads of 256 KiB into scattered
	# pages, so the other reads must stall.
	if [ "$profile" = minimal ]; then
		full_depth -gt 0 256k
	else
		full_depth -eq 0 4k 8k 256k
	fi
	own_adapter_end
	adapter_load dma=model
done
umount "$OUT/mem"
