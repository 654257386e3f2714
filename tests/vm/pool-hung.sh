#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 420
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because a lost message costs a retry time-out that is longer than a keep-alive
# short: a pool grows while storage hangs; segments used by hung storage end no session and are reclaimed from other sessions instead
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The time limit for the return of a reclaimed segment does not run while the target holds a request
# that uses the segment, so slow storage does not end a session. The first host uses the
# exports "hung" and "disk0", two other hosts use "disk1" and "disk2". The storage of "hung" is
# suspended, and requests to it fill the pool. Then the target reclaims memory for the other hosts.
FLOOR=256

set_host_id
modprobe dm-mod 2>/dev/null
target_start
param rnbd_target reclaim_timeout_ms 1000
disk=$(null_disk 128) || exit 1
echo "0 262144 linear $disk 0" | dmsetup create back || die "dmsetup"
export_disk hung /dev/mapper/back 1
for ((i = 0; i < 3; i++)); do
	disk=$(null_disk 128 irqmode=2 completion_nsec=5000000) || exit 1
	export_disk "disk$i" "$disk" $((i + 1))
done
modprobe rnbd || die "modprobe rnbd failed"

note "a pool grows while storage hangs, long before the next keep-alive"
common=(--queues 2 --pool 16M --keepalive 60000)
hung=$(attach hung "${common[@]}" --loss-timeout 0) || exit 1
need "$hung" pool_units -eq $FLOOR
works "$hung"
frames=$(counter "$hung" credit_frames_received)
dmsetup suspend --noflush --nolockfs back || die "suspend"
began=$(now_ms)
# Load both hardware queues, each of which uses its own queue of the session. The requests need
# more space than the ceiling of the pool.
for cpu in 0 1; do
	steadily "hung$cpu" "$hung" --rw=randwrite --bs=128k --iodepth=128 --offset=$((cpu * 64))m \
		--size=64m --cpus_allowed=$cpu
done
# The client lets one disk use at most eight ninths of the pool, 3640 units.
full() { [ "$(counter "$hung" pool_units)" = 4096 ] && [ "$(counter "$hung" pool_used)" -ge 3000 ]; }
# The pool grows in several steps. Each step needs a reply of the target, which shares two
# processors with the load and so can be slow.
for ((i = 0; i < 45; i++)); do
	wait_quietly 1 full && break
	note "after $(($(now_ms) - began)) ms: $(counter "$hung" pool_used) of $(counter "$hung" pool_units) units"
done
took=$(($(now_ms) - began))
full || die "requests have $(counter "$hung" pool_used) of $(counter "$hung" pool_units) units after $took ms"
note "requests have $(counter "$hung" pool_used) units after $took ms"
[ $took -lt 55000 ] || die "a keep-alive may have helped"
note "credit frames since: $(($(counter "$hung" credit_frames_received) - frames))"
need "$hung" pool_grants -gt 0

note "memory for pools is short: segments that hung storage uses end no session"
# The target counts memory as used by slow storage when a request has been in the storage for 1 s.
slow_at=$(now_ms)
slow() { [ $(($(now_ms) - slow_at)) -gt 1500 ]; }
wait_for 10 slow
limit=$((($(pools_charged) >> 20) + 6))
param rnbd_target pool_limit_mb $limit
param rnbd_target host_pool_limit_mb $limit
disk1=$(attach disk1 --host-id "$(host_id 2)" "${common[@]}") || exit 1
checker disk1 2 "$disk1" --threads 64 --io 16-64
# The target can grant this much only if other sessions return memory.
wait_for 30 counter_over "$disk1" pool_units 512
disk2=$(attach disk2 --host-id "$(host_id 3)" "${common[@]}") || exit 1
checker disk2 3 "$disk2" --threads 64 --io 16-64
# The share of the second host is 592 units. The second host can keep more than that, because a
# segment of 512 units is returned only as a whole. In this case 384 units are left for the third
# host.
if ! wait_quietly 60 counter_over "$disk2" pool_units 320; then
	grep . "$SESSIONS"/*/{host,pool*} /sys/block/rnbd*/rnbd/{pool*,completed} 2>/dev/null
	die "the third host has $(counter "$disk2" pool_units) units"
fi
need "$disk1" pool_reclaims -gt 0
note "the first host has $(counter "$hung" pool_units) units, $(counter "$hung" pool_reclaims) segments were reclaimed from it"
# The first host holds more than its share, so the target reclaims memory from it, too.
asked() { [ "$(counter "$hung" pool_reclaims)" -gt 0 ]; }
wait_for 30 asked
asked_at=$(now_ms)
past_the_deadline() { [ $(($(now_ms) - asked_at)) -gt 5000 ]; }
wait_for 30 past_the_deadline
need "$hung" connections_lost -eq 0
# The test proves something only if the first host has not yet returned memory that the target has
# reclaimed.
need_at_target "$hung" pool_reclaiming -gt 0
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "sessions that did not return memory in time"
note "another disk of the session is attached and served"
disk0=$(attach disk0) || exit 1
same "$(counter "$hung" session_id)" "$(counter "$disk0" session_id)" "session of both disks"
works "$disk0"
checker_end disk1 "$disk1"
checker_end disk2 "$disk2"

note "the storage completes the requests, and the memory is returned"
releases=$(counter "$hung" pool_releases)
dmsetup resume back || die "resume"
steadily_end hung0
steadily_end hung1
wait_for 30 counter_over "$hung" pool_releases "$releases"
need "$hung" connections_lost -eq 0
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "sessions that did not return memory in time"
verify "$hung" --rw=randwrite --bsrange=4k-64k --iodepth=32 --size=8m
verify "$disk0" --rw=randwrite --bsrange=4k-64k --iodepth=32 --size=8m
for dev in "$hung" "$disk0" "$disk1" "$disk2"; do detach "$dev"; done
dmsetup_free() { dmsetup remove back 2>/dev/null; }
configfs_clear
wait_for 10 dmsetup_free
unload
