#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 900
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because a lost message costs a retry time-out that is longer than a keep-alive
# short: connections are lost and modules unloaded while the target reclaims memory: no wrong data, and no memory or RDMA object is left
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# Faults must not break these rules: the client returns a segment only when nothing uses it,
# the target grants its pages again only when nothing can access them, slow storage ends no
# session, and each session has its floor. Two hosts compete for half of the memory
# that they request. A session that reconnects begins with its floor and grows at the expense of the
# other session, so each lost connection makes the target reclaim memory. The fault point
# delay_release delays each release at the target. With no_release the client does not return the
# segments that the target reclaims; the script sets it before a module is unloaded.
FLOOR=256
ROUNDS=8
UUID=11111111-2222-4333-8444-55555555555

serve_exports() {
	local i

	target_start
	arm rnbd-target
	param rnbd_target pool_limit_mb 16
	param rnbd_target login_rate 0
	param rnbd_target reclaim_timeout_ms 120000
	for i in 1 2; do export_disk "disk$i" "${disks[i]}" "$i" -- --uuid $UUID$i; done
}

set_host_id
disks=()
for i in 1 2; do
	disks[i]=$(null_disk 32 irqmode=2 completion_nsec=100000000) || exit 1
done
serve_exports
idle=$(rdma_own)
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd

common=(--queues 2 --pool 16M --keepalive $((500 * ${LAB_SLOW:-1})))
load=(--threads 96 --io 16-64)
attach_second() { second=$(attach disk2 --host-id "$(host_id 2)" "${common[@]}") || exit 1; }

# lost: print how many connections both sessions together have lost; live: succeed if both disks are
# live
lost() { echo $(($(counter "$first" connections_lost) + $(counter "$second" connections_lost))); }
lost_over() { [ "$(lost)" -gt "$1" ]; }
live() { counter_is "$first" state live && counter_is "$second" state live; }
# goes_on: fail unless both disks complete requests and the checkers have found no wrong data
goes_on() {
	local dev before i

	wait_for 60 live
	for dev in "$first" "$second"; do
		before=$(completed "$dev")
		wait_for 60 completed_over "$dev" $((before + 20))
	done
	for i in first second; do
		kill -0 "${checkers[$i]}" 2>/dev/null || die "gencheck ended: $(cat "$OUT/gencheck.$i")"
	done
}
# open_reclaim: wait until the first session has most of the memory, let the second session grow,
# and wait until the target reclaims segments of the first session, which the client does not return
open_reclaim() {
	wait_for 60 counter_over "$first" pool_units 2304
	strike rnbd no_release 1000000000
	attach_second
	checker second 2 "$second" "${load[@]}"
	wait_for 60 reclaiming
}

note "connections are killed while memory is being reclaimed"
first=$(attach disk1 "${common[@]}") || exit 1
attach_second
checker first 1 "$first" "${load[@]}"
checker second 2 "$second" "${load[@]}"
strike rnbd-target delay_release 1000000 $((300 * ${LAB_SLOW:-1}))
opened=0
for ((i = 1; i <= ROUNDS; i++)); do
	# The target need not reclaim memory if free memory suffices for the session that grows.
	! wait_quietly 10 reclaiming || opened=$((opened + 1))
	before=$(lost)
	strike rnbd kill_queue 1 $((i % 2))
	wait_for 20 lost_over "$before"
	wait_for 60 live
done
strike rnbd-target delay_release 0
goes_on
same "$(cat /sys/kernel/rnbd-target/limits/reclaim)" 0 "sessions that did not return memory in time"
note "$(lost) connections were lost, $opened of $ROUNDS while memory was being reclaimed"
[ $opened -ge $((ROUNDS / 2)) ] || die "too little was reclaimed: this test proves nothing"
need "$first" pool_reclaims -gt 0
need "$second" pool_reclaims -gt 0
note "both have their shares again"
wait_for 60 counter_over "$first" pool_units 1280
wait_for 60 counter_over "$second" pool_units 1280
[ "$(pools_charged)" -le $((16 << 20)) ] || die "$(pools_charged) bytes are charged"
checker_end second "$second"
wait_for 60 pool_idle "$second"
detach "$second"

note "the module of the target is unloaded while memory is being reclaimed"
open_reclaim
before=$(counter "$first" target_restarts)
reclaiming || die "nothing is being reclaimed"
configfs_clear
UNLOADS=rnbd_target unload
strike rnbd no_release 0
serve_exports
wait_for 60 counter_over "$first" target_restarts "$before"
goes_on
wait_for 60 counter_over "$first" pool_units 1280
wait_for 60 counter_over "$second" pool_units 1280
checker_end second "$second"
wait_for 60 pool_idle "$second"
detach "$second"

note "disks are detached, and the module of the client unloaded, while memory is being reclaimed"
open_reclaim
checker_end second "$second"
checker_end first "$first"
reclaiming || die "nothing is being reclaimed"
need_counter "$(hits rnbd no_release)" -gt 0 "segments that the client kept"
detach "$first"
detach "$second"
UNLOADS=rnbd unload

note "nothing is left over"
wait_for 60 no_sessions
wait_for 60 rdma_own_is "$idle"
modprobe rnbd || die "modprobe rnbd failed"
first=$(attach disk1 "${common[@]}") || exit 1
need "$first" pool_units -eq $FLOOR
same "$(pools_charged)" $((FLOOR * 4096)) "bytes that are charged"
works "$first"
wait_for 30 pool_idle "$first"
detach "$first"
wait_for 60 no_sessions
wait_for 60 rdma_own_is "$idle"
configfs_clear
unload
