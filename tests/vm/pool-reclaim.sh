#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 700
# adapter: own
# turns: 4
# short: the target reclaims memory under load without damage; if space moves to another queue before its READs complete, data are wrong
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh
. ../lib/pool.sh

# The client may return a segment, or move space to another queue, only when all RDMA READs from it
# have completed. The time limit for the return of a segment must not end a session whose
# requests still use the segment. The first host has most of the memory for pools, then
# the second host needs its share. The modelled adapter executes some READs twice, as if their
# responses had been lost, so the data of a read must stay in the segment until its READ has
# completed. Early release frees the space before that. The fault point release_early moves space to
# another queue without waiting for the READs; in this case the checker must find wrong data.
WRONG_DATA=3

set_host_id
adapter_up profile=mlx5 nasty=again nasty_rate=2
ADDR=$MDL_TARGET

# begin: start the target, attach the disk of the first host, and start a checker on it
begin() {
	target_start
	param rnbd_target pool_limit_mb 16
	param rnbd_target claim_timeout 0
	disk=$(null_disk 16 irqmode=2 completion_nsec=300000000) || exit 1
	export_disk disk0 "$disk" 1
	disk=$(null_disk 16 irqmode=2 completion_nsec=300000000) || exit 1
	export_disk disk1 "$disk" 2
	modprobe rnbd || die "modprobe rnbd failed"
	first=$(attach disk0 --queues 2 --pool 16M --inline-read 0) || exit 1
	echo 1 >"/sys/block/${first##*/}/rnbd/early_release"
	rm -f /dev/shm/first /dev/shm/second
	again=$(mdl_stat mdl0 nasty_again)
	checker first 1 "$first" --threads 64 --io 32-64 --mix 60:40:0 --on-error retry
}

attach_second() { second=$(attach disk1 --host-id "$(host_id 2)" --queues 2 --pool 16M) || exit 1; }

# end: detach both disks, remove the configuration, and unload the modules
end() {
	detach "$first"
	detach "$second"
	configfs_clear
	unload
}

repeated() { need_counter $(($(mdl_stat mdl0 nasty_again) - again)) -gt "$1" "READs executed again"; }

note "the first host has most of the memory"
begin
wait_for 60 counter_over "$first" pool_units 2560
need "$first" pool_reclaims -eq 0

note "the second host gets its share while both do I/O"
attach_second
need "$second" pool_units -eq 256
checker second 2 "$second" --threads 64 --io 32-64 --on-error retry
wait_for 60 counter_over "$second" pool_units 1280
wait_for 30 counter_at_most "$first" pool_units 2560
need "$first" pool_reclaims -gt 0
need "$first" pool_releases -gt 0
need_at_target "$first" pool_reclaims -gt 0
[ "$(pools_charged)" -le $((16 << 20)) ] || die "$(pools_charged) bytes are charged"

note "the second host detaches, and the first one gets all memory again; twice"
for round in 1 2; do
	checker_end second "$second"
	detach "$second"
	wait_for 60 counter_over "$first" pool_units 2560
	reclaims=$(counter "$first" pool_reclaims)
	attach_second
	checker second 2 "$second" --threads 64 --io 32-64 --on-error retry
	wait_for 60 counter_over "$second" pool_units 1280
	need "$first" pool_reclaims -gt "$reclaims"
done
repeated 100
checker_end first "$first"
checker_end second "$second"
need "$first" connections_lost -eq 0
need "$second" connections_lost -eq 0
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "sessions that did not return memory in time"
no_violations
end

# The second part of the test moves space between the two queues of one session, which compete for
# the only block of a pool of a fixed size. If the block moves too early, the second execution of a
# READ returns data that a request of the other queue has stored there. The memory region stays
# valid, so the adapter reports no violation, and wrong data are the only possible damage.

# crowd: start the target and attach a disk with a pool of one block
crowd() {
	target_start
	disk=$(null_disk 64) || exit 1
	export_disk disk0 "$disk" 1
	crowded=$(attach disk0 --queues 2 --pool 64K --max-io 16K --inline-read 0 --inline-write 0) || exit 1
	echo 1 >"/sys/block/${crowded##*/}/rnbd/early_release"
	rm -f /dev/shm/crowd
	again=$(mdl_stat mdl0 nasty_again)
}

# work SECONDS: run the checker, which ends at the first wrong data; return its exit status
work() {
	gencheck run --journal /dev/shm/crowd --writer 3 --threads 64 --io 1-4 --mix 70:30:0 --time "$1" \
		"$crowded" >"$OUT/gencheck.crowd" 2>&1
}

# crowd_end LEAST: fail if a connection was lost, or unless there were more than LEAST stalls for
# space and more than LEAST READs that were executed twice; then detach and unload
crowd_end() {
	need "$crowded" pool_stalls -gt "$1"
	need "$crowded" connections_lost -eq 0
	repeated "$1"
	no_violations
	detach "$crowded"
	configfs_clear
	unload
}

# moves_right: without release_early, the checker must find no wrong data
moves_right() {
	adapter_again profile=mlx5 nasty=again nasty_rate=1
	crowd
	work 20
	same $? 0 "exit status of the checker: $(cat "$OUT/gencheck.crowd")"
	run gencheck verify --journal /dev/shm/crowd "$crowded"
	crowd_end 100
}

note "blocks move to another queue when their READs have completed"
moves_right

note "blocks move before that: data are wrong"
adapter_again profile=mlx5 nasty=again nasty_rate=1
modprobe rnbd || die "modprobe rnbd failed"
crowd
strike rnbd release_early 1000000000
for round in 1 2 3 4 5 6 7 8; do
	work 10
	status=$?
	note "round $round: gencheck: $status"
	[ $status = 0 ] || break
done
early=$(hits rnbd release_early)
strike rnbd release_early 0
note "$early blocks moved early"
cat "$OUT/gencheck.crowd"
[ "$early" -gt 0 ] || die "no block moved early: this test proves nothing"
same "$status" $WRONG_DATA "exit status of gencheck: this test proves nothing unless data are wrong"
# The checker has ended at the first wrong data, so the counters can be small.
crowd_end 0

note "blocks move only when their READs have completed, again"
moves_right

mdl_show
no_violations
adapter_down
