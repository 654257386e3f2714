#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240
# turns: 2
# adapter: own
# short: the client backs off from a target that cannot accept its connections, and reports the reason
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
# rdma_cm derives the path MTU from the MTU of the client's network device. The adapter of the
# target does not support this path MTU, so rdma_accept() fails at the target.
adapter_up profile=minimal
run rdma link delete mdl0
run ip link set d0 mtu 9000
adapter_link mdl0 d0 bounce=Y profile=mlx5
wait_for 10 gid_of mdl0 "$MDL_CLIENT"
target_start
export_disk disk0 "$(null_disk 16)"
modprobe rnbd || die "modprobe rnbd failed"

began=${EPOCHREALTIME/[.,]/}
refused rnbd attach "$ADDR" disk0 --wait 0 2>"$OUT/refused"
took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
cat "$OUT/refused"
grep -q "aborted the connection" "$OUT/refused" || die "the error message lacks the reason"
grep -q "drains older requests" "$OUT/refused" && die "the error message reports a busy target"

# Each attempt of the client begins a session at the target, which numbers its sessions from 1. So
# the number of the last session is the number of attempts.
attempts=$(dmesg | sed -n 's/.*session \([0-9]*\): queue 0 could not be accepted: error -22.*/\1/p' | tail -n 1)
note "$attempts attempts in $took ms"
need_counter "${attempts:-0}" -ge 2 "attempts"
need_counter "$attempts" -le 30 "attempts"
own_adapter_end
