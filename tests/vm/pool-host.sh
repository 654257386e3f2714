#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because an attach that has lost a message waits for seconds
# short: two sessions of a host share the pool limit of that host, and other hosts can use the rest
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The limit of a host applies to all its sessions together, each session has its floor,
# and memory above the floors is divided by shares. The first host may have 4 MiB, and
# each of its two sessions requests 4 MiB.
MIB=$((1 << 20))
FLOOR=256
LIMIT=$((4 * MIB))

set_host_id
target_start
param rnbd_target pool_limit_mb 16
param rnbd_target claim_timeout 0
for ((i = 0; i < 3; i++)); do
	disk=$(null_disk 32 irqmode=2 completion_nsec=200000000) || exit 1
	export_disk "disk$i" "$disk" 1 2
done
echo $LIMIT >"$CFG/hosts/$(host_id 1)/max_pool_bytes" || die "max_pool_bytes"
modprobe rnbd || die "modprobe rnbd failed"
common=(--queues 2 --new-session)

note "the first session has all memory that its host may use"
first=$(attach disk0 "${common[@]}" --pool 4M) || exit 1
checker first 1 "$first" --threads 96 --io 16-64
wait_for 60 counter_over "$first" pool_units 895
within_limit() { [ "$(pools_charged)" -le $LIMIT ]; }
within_limit || die "$(pools_charged) bytes are charged"

note "a second session of the host gets its floor, and then its share"
second=$(attach disk1 "${common[@]}" --pool 4M) || exit 1
need "$second" pool_floor_units -eq $FLOOR
need "$first" pool_reclaims -gt 0
checker second 2 "$second" --threads 96 --io 16-64
wait_for 60 counter_over "$second" pool_units 383
wait_for 30 counter_at_most "$first" pool_units 640
within_limit || die "$(pools_charged) bytes are charged"

note "another host gets more than half, although the two sessions request more"
third=$(attach disk2 "${common[@]}" --host-id "$(host_id 2)" --pool 16M) || exit 1
steadily third "$third" --rw=randwrite --bs=128k --iodepth=128
wait_quietly 60 counter_over "$third" pool_units 2304 ||
	die "the third session has $(counter "$third" pool_units) units, requests $(counter "$third" pool_requested_units), I/O uses $(counter "$third" pool_used), $(pools_charged) bytes are charged"
need "$third" pool_reclaims -eq 0
checker_end first "$first"
checker_end second "$second"
steadily_end third
for dev in "$first" "$second" "$third"; do need "$dev" connections_lost -eq 0; done
for dev in "$first" "$second" "$third"; do detach "$dev"; done
configfs_clear
unload
