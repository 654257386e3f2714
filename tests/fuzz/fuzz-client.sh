#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# turns: 2
# short: mutated client traffic, with pools that grow and shrink, harms neither the target nor well-behaved clients
# arguments: SECONDS and SEED; without SEED each run has the same sessions
. ../lib/lab.sh
. ../lib/rnbd.sh

seconds=${1:-60} seed=${2:-7}
note "FUZZ_SECONDS=$seconds SEED=$seed"
set_host_id
target_start
# 0: no rate limit of logins, which would slow down the fuzzer: it logs in hundreds of times.
echo 0 >/sys/module/rnbd_target/parameters/login_rate || die "parameter"
export_disk hostile "$(null_disk 64)" 2 3
export_disk fixed "$(null_disk 16)" 2 3
export_disk valid "$(null_disk 16)" 1
# Export of the session that competes for pool memory with the fuzzed sessions
export_disk rival "$(null_disk 16)" 4
# 10 MiB for all pools: those of the well-behaved client, of a fuzzed session and of the rival can
# grow to 4 MiB each, so they compete for memory.
echo 10 >/sys/module/rnbd_target/parameters/pool_limit_mb || die "parameter"
dev=$(attach valid --pool 4M) || exit 1
resources=$(rdma_own)
while [ ! -e "$OUT/end" ]; do
	verify "$dev" --rw=randrw --bs=4k --iodepth=2 --size=256k --rate_iops=50
done &
worker=$!

rnbd-peer client --seed "$seed" --seconds "$seconds" || die "rnbd-peer failed, see above"
: >"$OUT/end"
wait $worker || die "the well-behaved client has wrong data"
same "$(counter "$dev" connections_lost)" 0 "connections that the well-behaved client lost"
rdma_own_is "$resources" || wait_for 30 rdma_own_is "$resources"
detach "$dev"
configfs_clear
unload
