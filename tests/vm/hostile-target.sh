#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 900
# turns: 3
# short: the client does not attach to, or disconnects from, a target that breaks a protocol rule, and reports one clear reason
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
modprobe rnbd || die "modprobe rnbd failed"
rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd$' "$OUT/monitor.err"
resources=$(rdma_own)

run rnbd secret generate "$OUT/secret"

start=${EPOCHREALTIME/[.,]/}
# shellcheck disable=SC2086 # a choice of cases, or none
rnbd-peer target --port 4500 --monitor "$OUT/monitor" --secret "$OUT/secret" --verbose ${1:+--only "$1"} >"$OUT/cases" ||
	{ grep -B 5 FAILED "$OUT/cases"; tail -n 1 "$OUT/cases"; die "a case of rnbd-peer failed"; }
note "$(tail -n 1 "$OUT/cases"), $(((${EPOCHREALTIME/[.,]/} - start) / 1000000)) s"

same "$(rnbd list --json | jq length)" 0 "disks that are left"
rdma_own_is "$resources" || wait_for 20 rdma_own_is "$resources"
kill $monitor
unload
