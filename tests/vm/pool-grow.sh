#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 420
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because a session that reconnects begins with its floor
# short: a pool starts at its floor, grows under load, registers no memory while the load is steady, and shrinks to the floor when idle
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The floor of a pool fits the largest request, and a pool is reduced only after it was
# mostly unused for 30 s. The storage takes 5 ms for each request, so that many requests
# are in flight. A tracepoint counts the runs of the work item that adjusts the size of the pool.
FLOOR=256	# units: the largest request
CEILING=2048
T=/sys/kernel/tracing
RUNS=$T/events/workqueue/workqueue_execute_start

# lease_runs: print how often the client checks the size of its pool within 5 s
lease_runs() {
	echo >$T/trace
	sleep 5
	awk '/ workqueue_execute_start: / { runs++ } END { print runs + 0 }' $T/trace
}

set_host_id
target_start
disk=$(null_disk 128 irqmode=2 completion_nsec=5000000) || exit 1
export_disk disk0 "$disk"
disk=$(null_disk 32 irqmode=2 completion_nsec=5000000) || exit 1
export_disk disk1 "$disk"
modprobe rnbd || die "modprobe rnbd failed"
mountpoint -q $T || mount -t tracefs tracefs $T || die "no tracefs"
work=$(awk '$3 == "rnbdc_lease_work" { print $1 }' /proc/kallsyms)
echo "function == 0x${work:-none}" >$RUNS/filter || die "no trace point"
# Enable the tracepoint only once for the whole test, because each change patches kernel code.
echo 1 >$RUNS/enable

note "a session begins with its floor, which fits the largest request"
# A ring with 4 slots does not grow, so the DMA mappings that are counted below are only those of
# the pool.
dev=$(attach disk0 --queues 2 --ring-slots 4 --pool 8M --pool-floor 64K) || exit 1
other=$(attach disk1) || exit 1
need "$dev" pool_units -eq $FLOOR
need "$dev" pool_floor_units -eq $FLOOR
need "$dev" pool_max_units -eq $CEILING
need "$dev" pool_grants -eq 0
need_at_target "$dev" pool_size -eq $((FLOOR * 4096))
need_at_target "$dev" pool_bytes -eq $((FLOOR * 4096))
need_at_target "$dev" pool_max -eq $((CEILING * 4096))
same "$(rnbd list "$dev" --json | jq ".[0].max_io")" $((1 << 20)) "bytes of the largest request"
checker other 2 "$other" --threads 2 --io 1-8
wait_for 30 completed_over "$other" 200

note "a load makes it grow to its ceiling"
load=(--rw=randwrite --bs=256k --iodepth=64 --size=100m)
steadily load "$dev" "${load[@]}"
wait_for 30 counter_is "$dev" pool_units $CEILING
need "$dev" pool_grants -gt 0
need_at_target "$dev" pool_size -eq $((CEILING * 4096))
need_at_target "$dev" pool_bytes -eq $((CEILING * 4096))

note "a steady load registers no memory"
registrations=$(at_target "$dev" pool_registrations)
grants=$(counter "$dev" pool_grants)
mappings=$(mdl_stat mdl1 maps)
before=$(completed "$dev")
wait_for 120 completed_over "$dev" $((before + 2000))
same "$(at_target "$dev" pool_registrations)" "$registrations" "registrations"
same "$(mdl_stat mdl1 maps)" "$mappings" "DMA mappings of the target"
same "$(counter "$dev" pool_grants)" "$grants" "grants"
steadily_end load

note "bursts keep the pool"
releases=$(counter "$dev" pool_releases)
for ((i = 0; i < 9; i++)); do
	burst=$(completed "$dev")
	fio --name=burst --filename="$dev" --direct=1 --ioengine=libaio --rw=randwrite --bs=256k \
	    --iodepth=64 --size=16m --minimal --output="$OUT/fio.burst" || die "fio failed"
	[ "$(completed "$dev")" -ge $((burst + 64)) ] || die "there was no burst"
	# lease_runs takes 5 s, so the pool is used again long before it was idle for 30 s.
	runs=$(lease_runs)
done
need_counter "$runs" -ge 3 "checks of a pool that may shrink"
same "$(counter "$dev" pool_releases)" "$releases" "segments that were returned between bursts"

note "an idle pool shrinks to its floor"
began=$(now_ms)
wait_for 90 counter_is "$dev" pool_units $FLOOR
took=$(($(now_ms) - began))
note "$took ms"
[ $took -ge 15000 ] || die "too early: the pool was used $took ms ago"
need "$dev" pool_releases -gt "$releases"
need_at_target "$dev" pool_size -eq $((FLOOR * 4096))
same "$(counter "$dev" pool_reclaims)" 0 "segments that the target has reclaimed"
# The work item can run once more after the last release. The load of the other disk fits into the
# floor and causes no further runs.
need_counter "$(lease_runs)" -le 1 "checks of a pool that has its floor"

note "the first burst afterwards makes it grow again"
began=$(now_ms)
steadily burst "$dev" "${load[@]}"
wait_for 10 counter_over "$dev" pool_units $((2 * FLOOR))
note "twice the floor after $(($(now_ms) - began)) ms"
wait_for 30 counter_is "$dev" pool_units $CEILING
steadily_end burst
checker_end other "$other"
need "$dev" connections_lost -eq 0
verify "$dev" --rw=randwrite --bsrange=4k-256k --iodepth=32 --size=8m

note "a pool of a fixed size"
detach "$dev"
detach "$other"
dev=$(attach disk0 --queues 2 --pool 8M --pool-floor fixed) || exit 1
need "$dev" pool_units -eq $CEILING
need "$dev" pool_floor_units -eq $CEILING
verify "$dev" --rw=randwrite --bsrange=4k-1m --iodepth=32 --size=16m
need "$dev" pool_grants -eq 0
detach "$dev"
echo 0 >$RUNS/enable
echo 0 >$RUNS/filter
configfs_clear
unload
