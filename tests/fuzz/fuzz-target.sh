#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 240
# turns: 3
# short: mutated traffic of a target does not harm the client
# arguments: SECONDS and SEED; without SEED each run has the same sessions
. ../lib/lab.sh
. ../lib/rnbd.sh

seconds=${1:-60} seed=${2:-7}
note "FUZZ_SECONDS=$seconds SEED=$seed"
set_host_id
modprobe rnbd || die "modprobe rnbd failed"
resources=$(rdma_own)
run rnbd secret generate "$OUT/secret"
rnbd-peer target --port 4500 --secret "$OUT/secret" --seed "$seed" --seconds "$seconds" || die "rnbd-peer failed, see above"
same "$(rnbd list --json | jq length)" 0 "disks that are left"
rdma_own_is "$resources" || wait_for 30 rdma_own_is "$resources"
unload
