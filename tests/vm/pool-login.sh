#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 3
# without: event, because it makes other sessions reconnect
# short: a login gets its whole floor from memory that other sessions have grown into, also on a reconnect without a claim
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# A login gets its whole floor, if necessary from sessions that have more than their floor. A
# pool of a fixed size and one that grows leave 700 KiB of the memory for pools. The third
# session has a floor of 1 MiB, and its client does not reconnect with a smaller floor.
KIB=1024
FLOOR=256
REST=700
FIXED=1860
GROWN=1408	# units of the second pool: all memory except FIXED and REST, in whole granules

set_host_id
target_start
param rnbd_target pool_limit_mb 8
param rnbd_target claim_timeout 0
param rnbd_target login_rate 0
disk=$(null_disk 32) || exit 1
export_disk third "$disk" 1
for ((i = 1; i <= 2; i++)); do
	disk=$(null_disk 128 irqmode=2 completion_nsec=5000000) || exit 1
	export_disk "disk$i" "$disk" $((i + 1))
done
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd

# kill_queue acts on the session that sends the next keep-alive. Only the third session has a short
# keep-alive interval, so kill_queue acts on it.
long=(--queues 1 --keepalive 60000)
first=$(attach disk1 "${long[@]}" --pool ${FIXED}K --pool-floor fixed --host-id "$(host_id 2)") || exit 1
second=$(attach disk2 "${long[@]}" --pool 8M --host-id "$(host_id 3)") || exit 1
steadily second "$second" --rw=randwrite --bs=128k --iodepth=128
wait_for 60 counter_is "$second" pool_units $GROWN
same "$(pools_charged)" $(((8 * 1024 - REST) * KIB)) "bytes that are charged"

note "a first login gets all of its floor"
third=$(attach third --queues 1 --pool 4M --keepalive $((500 * ${LAB_SLOW:-1}))) || exit 1
need "$third" pool_floor_units -eq $FLOOR
need "$third" pool_units -eq $FLOOR
need "$second" pool_reclaims -gt 0
works "$third"

note "it loses its connection and gets BUSY, and its memory goes to the second one"
lost=$(counter "$third" connections_lost)
reclaims=$(counter "$second" pool_reclaims)
param rnbd_target login_burst 1
param rnbd_target login_rate 1
rnbd discover "$ADDR" >/dev/null || die "no list of exports"
strike rnbd kill_queue 1 0
wait_for 20 counter_over "$third" connections_lost "$lost"
wait_for 60 counter_is "$second" pool_units $GROWN
same "$(counter "$third" state)" reconnecting "state of the third disk"
same "$(pools_charged)" $(((8 * 1024 - REST) * KIB)) "bytes that are charged"

note "it gets its floor back"
param rnbd_target login_rate 0
live() { counter_is "$third" state live; }
wait_for 60 live
need "$third" pool_floor_units -eq $FLOOR
need "$third" pool_units -eq $FLOOR
need "$second" pool_reclaims -gt "$reclaims"
need "$second" connections_lost -eq 0
need "$first" connections_lost -eq 0
steadily_end second
verify "$third" --rw=randwrite --bsrange=4k-64k --iodepth=16 --size=4m
for dev in "$first" "$second" "$third"; do detach "$dev"; done
configfs_clear
unload
