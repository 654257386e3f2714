#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# turns: 2
# short: mutated traffic of a client, whose pool grows and shrinks, against the target, and lawful clients beside it
# arguments: seconds, and a seed; without one the same sessions each time
. ../lib/lab.sh
. ../lib/rnbd.sh

seconds=${1:-60} seed=${2:-7}
note "FUZZ_SECONDS=$seconds SEED=$seed"
set_host_id
target_start
# hundreds of sessions, each of which breaks a rule, are more than a host may have
echo 0 >/sys/module/rnbd_target/parameters/login_rate || die "parameter"
export_disk hostile "$(null_disk 64)" 2 3
export_disk fixed "$(null_disk 16)" 2 3
export_disk lawful "$(null_disk 16)" 1
# for the session that competes for memory
export_disk rival "$(null_disk 16)" 4
# what the lawful client and one other session have leaves too little for two that grow
echo 10 >/sys/module/rnbd_target/parameters/pool_limit_mb || die "parameter"
dev=$(attach lawful --pool 4M) || exit 1
resources=$(rdma_own)
while [ ! -e "$OUT/end" ]; do
	verify "$dev" --rw=randrw --bs=4k --iodepth=2 --size=256k --rate_iops=50
done &
worker=$!

rnbd-peer client --seed "$seed" --seconds "$seconds" || die "see above"
: >"$OUT/end"
wait $worker || die "the lawful client's data"
same "$(counter "$dev" lost)" 0 "connections that the lawful client lost"
rdma_own_is "$resources" || wait_for 30 rdma_own_is "$resources"
detach "$dev"
configfs_clear
unload
