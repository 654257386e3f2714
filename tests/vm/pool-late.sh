#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because it ends sessions as well
# short: a client that does not return reclaimed memory in time loses its connections; sessions of other hosts are not affected
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# A client must return a reclaimed segment within reclaim_timeout_ms if no request uses the segment.
# With the fault point no_release the client returns no reclaimed segment. So the target
# must end the session of the client after that time and log the reason.
LATE=/sys/kernel/rnbd-target/limits/reclaim

set_host_id
target_start
param rnbd_target pool_limit_mb 16
param rnbd_target reclaim_timeout_ms $((5000 * ${LAB_SLOW:-1}))
for ((i = 0; i < 3; i++)); do
	disk=$(null_disk 32 irqmode=2 completion_nsec=5000000) || exit 1
	export_disk "disk$i" "$disk" $((i + 1))
done
modprobe rnbd || die "modprobe rnbd failed"
common=(--queues 2 --pool 16M)

note "the first host has most of the memory, the second one has its floor"
silent=$(attach disk0 "${common[@]}") || exit 1
checker silent 1 "$silent" --threads 96 --io 16-64 --on-error retry
wait_for 60 counter_over "$silent" pool_units 2304
second=$(attach disk1 --host-id "$(host_id 2)" "${common[@]}") || exit 1
checker second 2 "$second" --threads 2 --io 1-16
wait_for 30 completed_over "$second" 100

note "a third one needs its share, and the first one returns nothing"
strike rnbd no_release 1000000000
third=$(attach disk2 --host-id "$(host_id 3)" "${common[@]}") || exit 1
checker third 3 "$third" --threads 96 --io 16-64
reclaimed() { [ "$(counter "$silent" pool_reclaims)" -gt 0 ]; }
wait_for 30 reclaimed
began=$(now_ms)
ended() { [ "$(cat $LATE)" -gt 0 ]; }
wait_for 30 ended
took=$(($(now_ms) - began))
strike rnbd no_release 0
note "the session was ended $took ms after the client was asked"
need_counter "$(hits rnbd no_release)" -gt 0 "segments that the client kept"
dmesg_has "reclaimed memory was not returned in time" || die "the log lacks the reason"

note "the other sessions have continued, and the third one has its share"
wait_for 60 counter_over "$third" pool_units 1024
need "$second" connections_lost -eq 0
need "$third" connections_lost -eq 0

note "the first one reconnects and works"
need "$silent" connections_lost -gt 0
back() { counter_is "$silent" state live && [ "$(counter "$silent" pool_units)" -ge 256 ]; }
wait_for 30 back
before=$(completed "$silent")
wait_for 60 completed_over "$silent" $((before + 200))
ended=$(cat $LATE)
reclaims=$(counter "$silent" pool_reclaims)
checker_end second "$second"
checker_end third "$third"
detach "$third"
wait_for 60 counter_over "$silent" pool_units 2304

note "it returns reclaimed segments from now on"
third=$(attach disk2 --host-id "$(host_id 3)" "${common[@]}") || exit 1
steadily third "$third" --rw=randwrite --bs=128k --iodepth=128 --size=60m
wait_for 60 counter_over "$third" pool_units 1024
need "$silent" pool_reclaims -gt "$reclaims"
same "$(cat $LATE)" "$ended" "sessions that did not return memory in time"
steadily_end third
checker_end silent "$silent"
for dev in "$silent" "$second" "$third"; do detach "$dev"; done
configfs_clear
unload
