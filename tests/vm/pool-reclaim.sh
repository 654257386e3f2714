#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 480
# adapter: own
# short: memory is reclaimed under load without damage; with segments released before their READs have completed there is damage
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh
. ../lib/pool.sh

# Rules R5 and R7. The storage takes a while for each request, so that many are in flight. The
# first host has most of the memory for pools, then the second host needs
# its share. The adapter executes READs again, as if their responses had been lost: data must
# not have left the segment by then. With early release the space of a read is free before.
WRONG_DATA=3

set_host_id
adapter_up profile=mlx5 nasty=again nasty_rate=2
ADDR=$MDL_TARGET

# begin: the target, and the disk of the first host with a load that is checked
begin() {
	target_start
	param rnbd_target pool_limit_mb 16
	param rnbd_target claim_timeout 0
	disk=$(null_disk 128 irqmode=2 completion_nsec=5000000) || exit 1
	export_disk disk0 "$disk" 1
	disk=$(null_disk 128 irqmode=2 completion_nsec=5000000) || exit 1
	export_disk disk1 "$disk" 2
	modprobe rnbd || die "modprobe rnbd failed"
	first=$(attach disk0 --queues 2 --pool 16M --inline-read 0) || exit 1
	echo 1 >"/sys/block/${first##*/}/rnbd/early_release"
	rm -f /dev/shm/first /dev/shm/second
	again=$(mdl_stat mdl0 nasty_again)
	checker first 1 "$first" --threads 96 --io 16-64 --mix 60:40:0 --on-error retry
}

attach_second() { second=$(attach disk1 --host-id "$(host_id 2)" --queues 2 --pool 16M) || exit 1; }

# end: both disks are detached, and nothing of the product is left
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

note "the second one gets its share while both work"
attach_second
need "$second" pool_units -eq 256
checker second 2 "$second" --threads 96 --io 16-64 --on-error retry
wait_for 60 counter_over "$second" pool_units 1280
wait_for 30 counter_at_most "$first" pool_units 2560
need "$first" pool_reclaims -gt 0
need "$first" pool_releases -gt 0
need_at_target "$first" pool_reclaims -gt 0
[ "$(pools_charged)" -le $((16 << 20)) ] || die "$(pools_charged) bytes are charged"

note "it leaves, and the first one gets all of it again; three times"
for round in 1 2 3; do
	checker_end second "$second"
	detach "$second"
	wait_for 60 counter_over "$first" pool_units 2560
	reclaims=$(counter "$first" pool_reclaims)
	attach_second
	checker second 2 "$second" --threads 96 --io 16-64 --on-error retry
	wait_for 60 counter_over "$second" pool_units 1280
	need "$first" pool_reclaims -gt "$reclaims"
done
repeated 100
checker_end first "$first"
checker_end second "$second"
need "$first" lost -eq 0
need "$second" lost -eq 0
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "sessions that did not return memory in time"
no_violations
end

note "the same with segments and blocks given up before their READs have completed"
adapter_again profile=mlx5 nasty=again nasty_rate=2
# A READ from memory that was taken back is a violation: here it is the damage.
echo N >/sys/module/rdma_model/parameters/warn
modprobe rnbd || die "modprobe rnbd failed"
strike rnbd release_early 1000000000
begin
# damaged: the checker has found wrong data, or a connection was lost
damaged() {
	! kill -0 "${checkers[first]}" 2>/dev/null || [ "$(counter "$first" lost)" -gt 0 ] ||
		[ "$(mdl_stat mdl0 violations)$(mdl_stat mdl1 violations)" != 00 ]
}
for round in 1 2 3 4 5 6; do
	note "round $round"
	wait_quietly 20 counter_over "$first" pool_units 2560
	attach_second
	steadily second "$second" --rw=randwrite --bs=128k --iodepth=64 --size=100m
	wait_quietly 20 counter_over "$second" pool_units 1280
	steadily_end second
	wait_quietly 2 damaged && break
	detach "$second"
	second=
done
early=$(hits rnbd release_early)
strike rnbd release_early 0
violations=$(($(mdl_stat mdl0 violations) + $(mdl_stat mdl1 violations)))
lost=$(counter "$first" lost)
kill "${checkers[first]}" 2>/dev/null
wait "${checkers[first]}"
status=$?
note "$early blocks were given up early; $violations violations, $lost connections lost, gencheck: $status"
repeated 1
[ "$early" -gt 0 ] || die "nothing was given up early: this test proves nothing"
[ $status = $WRONG_DATA ] || [ "$lost" -gt 0 ] || [ $violations -gt 0 ] ||
	die "no damage with early release of segments: this test proves nothing"
[ -n "$second" ] || attach_second
live() { [ "$(counter "$1" state)" = live ]; }
wait_for 30 live "$first"
end

note "and with the rule again"
adapter_again profile=mlx5 nasty=again nasty_rate=2
echo Y >/sys/module/rdma_model/parameters/warn
begin
wait_for 60 counter_over "$first" pool_units 2560
attach_second
checker second 2 "$second" --threads 96 --io 16-64 --on-error retry
wait_for 60 counter_over "$second" pool_units 1280
repeated 10
checker_end first "$first"
checker_end second "$second"
need "$first" lost -eq 0
end
mdl_show
no_violations
adapter_down
