#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because a session that reconnects begins with its floor
# short: an idle pool shrinks to its floor while the target confirms no release, serves I/O, and grows again
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# An idle pool shrinks to its floor, and the session makes progress with its floor alone.
# The first pool becomes idle, and the target reclaims memory from it. With delay_release
# the target confirms no release, so pool_units of the client still includes the closed segments
# while the client shrinks the pool.
FLOOR=256

set_host_id
target_start
param rnbd_target pool_limit_mb 16
param rnbd_target claim_timeout 0
param rnbd_target reclaim_timeout_ms 60000
for ((i = 0; i < 2; i++)); do
	disk=$(null_disk 128 irqmode=2 completion_nsec=5000000) || exit 1
	export_disk "disk$i" "$disk" $((i + 1))
done
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd-target
common=(--queues 2 --pool 16M)
load=(--rw=randwrite --bs=128k --iodepth=128 --size=100m)

note "the first pool has most of the memory and becomes idle"
first=$(attach disk0 "${common[@]}") || exit 1
steadily load "$first" "${load[@]}"
wait_for 60 counter_over "$first" pool_units 2560
steadily_end load
idle_at=$(now_ms)

note "the target reclaims its memory and confirms no release"
strike rnbd-target delay_release 1000000 1000000
second=$(attach disk1 --host-id "$(host_id 2)" "${common[@]}") || exit 1
steadily second "$second" "${load[@]}"
wait_for 30 counter_over "$first" pool_reclaims 0
held_back() { [ "$(hits rnbd-target delay_release)" -gt 0 ]; }
wait_for 10 held_back
need "$first" pool_releases -eq 0

note "the pool shrinks to its floor, as seen by the client"
shrunk() { [ "$(counter "$first" pool_requested_units)" -le $((2 * FLOOR)) ]; }
wait_for 90 shrunk
note "after $(($(now_ms) - idle_at)) ms"
need "$first" pool_requested_units -ge $FLOOR
need "$first" pool_releases -eq 0
need "$first" pool_units -gt 2560
works "$first"

note "a burst works within the floor, and requests more"
steadily burst "$first" "${load[@]}"
before=$(completed "$first")
wait_for 30 completed_over "$first" $((before + 100))
need "$first" pool_requested_units -gt $FLOOR

note "the releases are confirmed, and the pools have their shares"
strike rnbd-target delay_release 0
released() { [ "$(counter "$first" pool_releases)" -gt 0 ]; }
wait_for 20 released
wait_for 60 counter_over "$first" pool_units 1024
wait_for 60 counter_over "$second" pool_units 1024
before=$(completed "$first")
wait_for 30 completed_over "$first" $((before + 100))
steadily_end burst
steadily_end second
for dev in "$first" "$second"; do need "$dev" connections_lost -eq 0; done
verify "$first" --rw=randwrite --bsrange=4k-256k --iodepth=32 --size=8m
for dev in "$first" "$second"; do detach "$dev"; done
configfs_clear
unload
