#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# turns: 2
# adapter: own
# short: verified load on two disks over nasty modelled adapters: small requests, scattered memory, early release of the pool
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

# adapter/planted/run plants bugs in client and target, and runs this test to show that it detects
# them. The profile allows few scatter/gather entries per work request, and the rare behaviour
# (nasty=) exposes accesses in a wrong order. With the argument "rxe" the same load runs on
# soft-RoCE, to show which of the bugs are detected there.
device=${1-model}
set_host_id
if [ "$device" = model ]; then
	ADDR=$MDL_TARGET
	adapter_up profile=bnxt_re nasty=late,again,delay seed="${LAB_SEED:-1}"
fi
target_start
export_disk disk0 "$(null_disk 64)"
export_disk disk1 "$(null_disk 64)"
# gather=64 makes the client send many frames with few requests each. So a planted bug gets many
# opportunities to access memory too early.
modprobe rnbd gather=64 || die "modprobe rnbd failed"

# The pages of a tmpfs file that is written in random order are scattered in memory.
mkdir -p "$OUT/mem"
run mount -t tmpfs -o size=48m tmpfs "$OUT/mem"
run fio --name=scatter --filename="$OUT/mem/pages" --rw=randwrite --bs=4k --size=32m \
    --minimal --output=/dev/null

# both COMMAND... DISK ...: run the command for both disks concurrently; the name of the disk
# replaces the word DISK
both() {
	local disk pids=() pid
	for disk in "$one" "$two"; do
		"${@/DISK/$disk}" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
}

note "both disks: small requests, neighbours in the pool share an RDMA operation"
one=$(attach disk0 --queues 1 --inline-read 0) || exit 1
two=$(attach disk1 --new-session --queues 1 --inline-read 0 --inline-write 0) || exit 1
both verify DISK --rw=randwrite --bs=4k --iodepth=64 --size=4m
both verify DISK --rw=randwrite --bsrange=512-16k --bs_unaligned=0 --iodepth=16 --size=4m

note "scattered memory: many work requests for each request"
verify "$one" --rw=randwrite --bs=256k --iodepth=64 --size=32m --iomem="mmapshared:$OUT/mem/pages"
need "$one" coalesced -gt 0
detach "$one"
detach "$two"

note "a pool so small that each extent is reused at once, early release"
one=$(attach disk0 --queues 1 --pool 64K --max-io 16K --inline-read 0) || exit 1
two=$(attach disk1 --new-session --queues 1 --pool 64K --max-io 16K --inline-read 0) || exit 1
for dev in "$one" "$two"; do echo 1 >"/sys/block/${dev##*/}/rnbd/early_release"; done
both verify DISK --rw=randwrite --bs=4k --iodepth=16 --size=4m
need "$one" send_fences -gt 5
detach "$one"
detach "$two"
umount "$OUT/mem"
if [ "$device" = model ]; then
	own_adapter_end
else
	configfs_clear
	unload
fi
