#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 420 --ignore-report Cannot.allocate.a.scan.area
# kernel: debug
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because a lost message costs a retry time-out that is longer than a keep-alive
# short: allocations fail at either end while pools grow, shrink and reconnect: data are right, shares are reached, nothing leaks
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh
. ../lib/nomem.sh

# Data must stay right, and sessions must get their floors and shares, while the
# fault injection of the kernel makes allocations fail. Two hosts compete for memory. A session that
# reconnects begins with its floor and grows at the expense of the other session.
KILLS=8
SIZE=24		# MiB of a disk

set_host_id
target_start
arm rnbd-target
param rnbd_target pool_limit_mb 8
param rnbd_target login_rate 0
# Without a reserve, each grant allocates pages.
param rnbd_target pool_reserve_mb 0
for i in 1 2; do
	disk=$(null_disk $SIZE irqmode=2 completion_nsec=5000000) || exit 1
	# Write the whole disk now, so that null_blk allocates all its pages. A failed allocation of
	# null_blk would be an I/O error.
	dd if=/dev/zero of="$disk" bs=1M count=$SIZE oflag=direct status=none || die "dd failed"
	export_disk "disk$i" "$disk" "$i"
done
idle=$(rdma_own)
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd

common=(--queues 2 --pool 8M --keepalive $((500 * ${LAB_SLOW:-1})) --wait 60)
first=$(attach disk1 "${common[@]}") || exit 1
second=$(attach disk2 --host-id "$(host_id 2)" "${common[@]}") || exit 1
checker first 1 "$first" --threads 32 --io 16-64
checker second 2 "$second" --threads 32 --io 16-64

# both COUNTER: print the sum of the counters of both disks; over COUNTER VALUE: succeed if that sum
# is larger than VALUE; for wait_for
both() { echo $(($(counter "$first" "$1") + $(counter "$second" "$1"))); }
over() { [ "$(both "$1")" -gt "$2" ]; }
live() { counter_is "$first" state live && counter_is "$second" state live; }
goes_on() {
	local dev before

	wait_for 60 live
	for dev in "$first" "$second"; do
		before=$(completed "$dev")
		wait_for 60 completed_over "$dev" $((before + 20))
	done
}
shares() {
	wait_for 60 counter_over "$first" pool_units 640
	wait_for 60 counter_over "$second" pool_units 640
}

goes_on
shares
# fails MODULE N: let on average one in N slab allocations of MODULE fail, and fewer page
# allocations, while connections are lost repeatedly
fails() {
	local granted returned before i

	note "allocations of $1 fail"
	granted=$(both pool_grants) returned=$(both pool_releases)
	fail "$1" "$2"
	for ((i = 1; i <= KILLS; i++)); do
		before=$(both connections_lost)
		strike rnbd kill_queue 1 $((i % 2))
		wait_for 60 over connections_lost "$before"
		wait_for 120 live
		wait_quietly 5 reclaiming
		if [ $i -ge 3 ] && [ "$(failed)" -ge 3 ]; then break; fi
	done
	note "allocations that failed: $(failed), grants $(($(both pool_grants) - granted)), releases $(($(both pool_releases) - returned))"
	[ "$(failed)" -gt 0 ] || die "no allocation failed: this test proves nothing"
	no_fail
	goes_on
	shares
	[ "$(both pool_grants)" -gt "$granted" ] || die "nothing was granted"
	[ "$(both pool_releases)" -gt "$returned" ] || die "nothing was returned"
}
fails rnbd_target 300
fails rnbd 300

note "nothing is left over"
[ "$(pools_charged)" -le $((8 << 20)) ] || die "$(pools_charged) bytes are charged"
checker_end first "$first"
checker_end second "$second"
wait_for 60 pool_idle "$first"
wait_for 60 pool_idle "$second"
detach "$first"
detach "$second"
wait_for 60 no_sessions
wait_for 60 rdma_own_is "$idle"
configfs_clear
unload
