#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
# adapter: own
# turns: 2
# short: nasty modelled adapters are removed under load at client and target and return: the disk reconnects and no data are lost
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
adapter_up profile=mlx5 nasty=all
target_start
export_disk disk0 "$(null_disk 64)"
dev=$(attach disk0) || exit 1

# connected TIMES: succeed if the disk is live and has reconnected TIMES times; for wait_for
connected() {
	[ "$(cat "/sys/block/${dev##*/}/rnbd/state")" = live ] &&
		[ "$(dmesg | grep -c 'reconnected, attempt')" = "$1" ]
}

# load: write and verify data for 20 s
load() {
	verify "$dev" --rw=randwrite --bs=16k --iodepth=16 --size=32m --time_based --runtime=20
}

load &
load=$!
wait_for 10 sh -c "[ \$(awk '\$1 == \"writes\" { print \$2 }' $MDL_DEBUG/mdl0/stats) -gt 100 ]"
run rdma link delete mdl0
adapter_link mdl0 d0 bounce=Y
wait_for 30 connected 1
note "the client's device was removed"

before=$(mdl_stat mdl1 served_writes)
wait_for 10 sh -c "[ \$(awk '\$1 == \"served_writes\" { print \$2 }' $MDL_DEBUG/mdl1/stats) -gt $((before + 100)) ]"
run rdma link delete mdl1
adapter_link mdl1 d1 bounce=N
wait_for 30 connected 2
note "the target's device was removed"
wait "$load" || die "the load failed"

# The disk keeps the limits of the device over which it was created. A DMA segment of a request can
# have 1 MiB on mlx5 and only 64 KiB on ionic, so the client must refuse to reconnect over ionic.
refuses_device() { [[ $(counter "$dev" last_error) = *"mdl0 maps smaller segments"* ]]; }
run rdma link delete mdl0
adapter_link mdl0 d0 bounce=Y profile=ionic
wait_for 30 refuses_device
run rdma link delete mdl0
adapter_link mdl0 d0 bounce=Y profile=mlx5
wait_for 30 connected 3
verify "$dev" --rw=write --bs=1m --iodepth=4 --size=16m
note "the client's device was replaced by one that maps less"

detach "$dev"
own_adapter_end
