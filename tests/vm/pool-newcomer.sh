#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# turns: 4
# adapter: only mlx5 irdma bnxt_re ionic
# short: a new session gets its share of the memory even if every segment of the other sessions is larger than their surplus
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# The target reclaims segments for a session below its share, even if no other session exceeds its
# share by a whole segment. Here segments have at most 1 MiB, an eighth of a pool. Four sessions
# hold three segments each, and the fifth only its floor of one segment; together they use all
# memory except the reserve for floors. When the fifth session begins I/O and requests memory, each
# of the four has only 0.4 MiB more than its share.
OLD=4
MIB=$((1 << 20))
FLOOR=256 ENOUGH=512	# units of 4 KiB

set_host_id
target_start
param rnbd_target pool_limit_mb 14
param rnbd_target claim_timeout 0
# Each request takes long, so that the requests use all memory even on a slow machine. A request
# must take less than 1 s, because after 1 s the target counts its memory as used by slow storage.
ms=$((LAB_SLOW ? 700 : 300))
for ((i = 1; i <= OLD + 1; i++)); do
	disk=$(null_disk 16 memory_backed=0 discard=0 irqmode=2 completion_nsec=${ms}000000) || exit 1
	export_disk "disk$i" "$disk" "$i"
done
modprobe rnbd || die "modprobe rnbd failed"
dev=()
for ((i = 1; i <= OLD + 1; i++)); do
	dev[i]=$(attach "disk$i" --host-id "$(host_id "$i")" --queues 1 --pool 8M) || exit 1
	need "${dev[i]}" pool_units -eq $FLOOR
done

# no_more_free: succeed if the pools use more than 12 MiB, so that hardly a segment is free apart
# from the reserve for floors, and nothing is being reclaimed; for wait_for
no_more_free() {
	[ "$(pools_charged)" -gt $((12 * MIB)) ] && ! reclaiming
}
note "all memory is in use"
for ((i = 1; i <= OLD; i++)); do steadily "disk$i" "${dev[i]}" --rw=randread --bs=1m --iodepth=16 --size=16m; done
# Wait for each disk separately: on a slow machine the fio processes start at different times.
for ((i = 1; i <= OLD; i++)); do wait_for 60 counter_over "${dev[i]}" pool_units $ENOUGH; done
wait_for 30 no_more_free
# The four sessions must still have their memory after 2 s.
sleep 2
for ((i = 1; i <= OLD; i++)); do need "${dev[i]}" pool_units -gt $ENOUGH; done

note "another session logs in"
steadily newcomer "${dev[OLD + 1]}" --rw=randread --bs=1m --iodepth=16 --size=16m
wait_for 20 counter_over "${dev[OLD + 1]}" pool_units $((ENOUGH - 1))
for ((i = 1; i <= OLD + 1; i++)); do note "host $i: $(counter "${dev[i]}" pool_units) units"; done

note "the sessions then keep their memory"
wait_for 20 no_more_free
reclaims=$(cat "$SESSIONS"/*/pool_reclaims | awk '{ n += $1 } END { print n }')
sleep 5
again=$(cat "$SESSIONS"/*/pool_reclaims | awk '{ n += $1 } END { print n }')
need_counter $((again - reclaims)) -le 2 "segments reclaimed within 5 s"
for ((i = 1; i <= OLD + 1; i++)); do need "${dev[i]}" pool_units -ge $ENOUGH; done

for ((i = 1; i <= OLD; i++)); do steadily_end "disk$i"; done
steadily_end newcomer
for ((i = 1; i <= OLD + 1; i++)); do
	need "${dev[i]}" connections_lost -eq 0
	detach "${dev[i]}"
done
configfs_clear
unload
