#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only
# turns: 4
# short: the storage of 40 disks hangs at full depth: another disk of the session works; attach, detach and deactivate do not wait
. ../lib/lab.sh
. ../lib/rnbd.sh

# Disks whose storage hangs must not use all tags and pool space of their session, and no operation
# on a disk may wait for another disk. A request that fails before its reply arrives becomes an
# orphan: its tag and its pool space stay reserved until the target has answered the request.
HUNG=40

set_host_id
modprobe dm-mod 2>/dev/null
target_start
for ((i = 0; i < HUNG; i++)); do
	disk=$(null_disk 16) || exit 1
	echo "0 32768 linear $disk 0" | dmsetup create "back$i" || die "dmsetup"
	export_disk "hung$i" "/dev/mapper/back$i"
done
export_disk fine "$(null_disk 16)"
export_disk other "$(null_disk 16)"
modprobe rnbd io_timeout=600
common=(--queues 2 --pool 16M)
hung=()
for ((i = 0; i < HUNG; i++)); do
	hung[i]=$(attach "hung$i" "${common[@]}" --loss-timeout 0) || exit 1
done
fine=$(attach fine "${common[@]}") || exit 1
sessions() { find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l; }
same "$(sessions)" 1 sessions

for ((i = 0; i < HUNG; i++)); do
	dmsetup suspend --noflush --nolockfs "back$i" || die "suspend"
done
# Each disk has a process that keeps 64 requests of 64 KiB in flight.
jobs=()
for dev in "${hung[@]}"; do jobs+=(--name="${dev##*/}" --filename="$dev"); done
# Without disk_util=0 each job looks for its disk in sysfs, which takes minutes on a debug kernel.
fio --ioengine=libaio --direct=1 --disk_util=0 --rw=randrw --bs=64k --iodepth=64 --number_ios=64 \
	"${jobs[@]}" --minimal >"$OUT/fio" 2>&1 &
load=$!
waiting() { awk '{ print $1 + $2 }' "/sys/block/${1##*/}/inflight"; }
all_wait() {
	local dev
	for dev in "${hung[@]}"; do [ "$(waiting "$dev")" -ge 1 ] || return 1; done
}
wait_for 60 all_wait
note "requests in flight: $(for dev in "${hung[@]}"; do waiting "$dev"; done | sort -n | uniq -c | awk '{ printf "%s%d disks with %d", (NR > 1 ? ", " : ""), $1, $2 }')"

# soon COMMAND...: the command must succeed within 30 s. The storage hangs until the test resumes
# it, so a command that waits for the storage never succeeds. RNR NAKs of a nasty adapter can delay
# each command by seconds; "make bench" has limits for an adapter that is not nasty.
soon() {
	local began=${EPOCHREALTIME/[.,]/} limit=$((30000 * ${LAB_SLOW:-1})) took
	"$@" || die "failed: $*"
	took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
	[ $took -lt $limit ] || die "$took ms instead of $limit: $*"
	note "$took ms: $*"
}
note "another disk of the session works"
soon works "$fine"
soon verify "$fine" --rw=randwrite --bs=4k --iodepth=8 --size=1m
note "attach and detach beside the hung disks"
attach_it() { dev=$(attach other "${common[@]}"); }
for _ in 1 2 3; do
	soon attach_it
	soon works "$dev"
	soon detach "$dev"
done
need "$fine" connections_lost -eq 0

note "a hung disk is deactivated: its requests fail, and leave orphans until the replies arrive"
orphans=$(counter "$fine" orphans)
used=$(counter "$fine" pool_used)
soon rnbd deactivate "${hung[0]}"
same "$(cat "/sys/block/${hung[0]##*/}/rnbd/state")" failed state
[ "$(counter "$fine" orphans)" -gt "$orphans" ] || die "no orphan"
need "$fine" pool_used -le "$used"
need "$fine" pool_used -ge 1
soon rnbd detach "${hung[0]}" --force
soon works "$fine"
need "$fine" connections_lost -eq 0

note "the storage completes all requests: all replies arrive, and no orphan is left"
for ((i = 0; i < HUNG; i++)); do dmsetup resume "back$i" || die "resume"; done
wait $load
idle() { [ "$(counter "$fine" pool_used)" = 0 ]; }
wait_for 60 idle
for dev in "${hung[@]:1}" "$fine"; do
	need "$dev" connections_lost -eq 0
	detach "$dev"
done
none() { [ "$(sessions)" = 0 ]; }
wait_for 30 none
configfs_clear
dmsetup_free() { dmsetup remove "back$1" 2>/dev/null; }
for ((i = 0; i < HUNG; i++)); do wait_for 10 dmsetup_free "$i"; done
unload
