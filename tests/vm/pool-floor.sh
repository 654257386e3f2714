#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 700
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# without: event, because an attach that has lost a message waits for seconds
# short: the sum of all floors never exceeds the memory for pools, and each session makes progress within its floor when none is free
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The sum of all floors never exceeds the memory for pools, and each session makes progress with its
# floor alone. Here NR sessions of two hosts, with floors of 1 MiB, use all this memory.
NR=8
LIMIT=$((NR << 20))
FLOOR=256

set_host_id
target_start
param rnbd_target pool_limit_mb $NR
param rnbd_target claim_timeout 0
for ((i = 0; i <= NR; i++)); do
	disk=$(null_disk 16 irqmode=2 completion_nsec=2000000) || exit 1
	export_disk "disk$i" "$disk" 1 2
done
modprobe rnbd || die "modprobe rnbd failed"

within_limit() {
	local bytes

	bytes=$(pools_charged)
	[ "$bytes" -le $LIMIT ] || die "$bytes bytes are charged of $LIMIT"
}
# attach_one NUMBER: attach a disk in a new session; disks with odd and with even numbers use
# different host ids
attach_one() {
	attach "disk$1" --new-session --host-id "$(host_id $(($1 % 2 + 1)))" --queues 2 --pool 4M --pool-floor 4K
}

note "the floor of a session holds the largest request, whatever was requested"
dev=()
for ((i = 0; i < NR; i++)); do
	dev[i]=$(attach_one $i) || exit 1
	need "${dev[i]}" pool_units -eq $FLOOR
	need "${dev[i]}" pool_max_units -eq 1024
	within_limit
done
same "$(pools_charged)" $LIMIT "bytes of all floors"

note "there is no memory for another floor"
if text=$(rnbd attach "$ADDR" "disk$NR" --new-session --queues 2 --pool 4M --wait 0 2>&1); then
	die "attached: $text"
fi
echo "  $text"
grep -q "no memory left for the buffer pool" <<<"$text" || die "unexpected message: $text"
within_limit

note "all sessions make progress with their memory"
for ((i = 0; i < NR; i++)); do
	checker "disk$i" $((i + 1)) "${dev[i]}" --threads 6 --io 1-256
done
# The sessions share the processors and can be slow, so read the counters of all of them before the
# first wait.
before=()
for ((i = 0; i < NR; i++)); do before[i]=$(completed "${dev[i]}"); done
for ((i = 0; i < NR; i++)); do
	wait_for 60 completed_over "${dev[i]}" $((before[i] + 20))
	need "${dev[i]}" pool_requested_units -gt $FLOOR
	need "${dev[i]}" pool_stalls -gt 0
done
within_limit
# The largest request needs the whole floor. It must also succeed if the free space of the floor is
# in several extents.
for ((i = 0; i < NR; i++)); do need "${dev[i]}" pool_grants -eq 0; done
scattered=0
for ((i = 0; i < NR; i++)); do scattered=$((scattered + $(counter "${dev[i]}" fragmented))); done
need_counter $scattered -gt 0 "requests in several extents"

note "memory of a session that ends goes to the others, except for the reserve for floors"
checker_end disk0 "${dev[0]}"
checker_end disk1 "${dev[1]}"
detach "${dev[0]}"
detach "${dev[1]}"
grown() {
	local i

	for ((i = 2; i < NR; i++)); do counter_over "${dev[i]}" pool_grants 0 && return; done
	return 1
}
if ! wait_quietly 30 grown; then
	grep . "$SESSIONS"/*/{pool*,state} /sys/kernel/rnbd-target/limits/* 2>/dev/null
	grep . /sys/block/rnbd*/rnbd/pool* /sys/block/rnbd*/rnbd/completed
	die "no session has grown within 30 s"
fi
within_limit
[ "$(pools_charged)" -le $((LIMIT - LIMIT / 16)) ] || die "memory that is reserved for floors was granted"

note "a session that needs its floor gets it"
dev[0]=$(attach disk0 --new-session --queues 2 --pool 4M) || exit 1
need "${dev[0]}" pool_units -gt 15
verify "${dev[0]}" --rw=randwrite --bsrange=4k-64k --iodepth=16 --size=2m
detach "${dev[0]}"
within_limit
for ((i = 2; i < NR; i++)); do
	checker_end "disk$i" "${dev[i]}"
	detach "${dev[i]}"
done
no_charge() { [ "$(pools_charged)" = 0 ]; }
wait_for 20 no_charge
configfs_clear
unload
