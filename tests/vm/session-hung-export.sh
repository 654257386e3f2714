#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only
# turns: 4
# without: event, because a lost message costs a retry time-out that is longer than the keep-alive
# short: the storage of 1 of 32 exports hangs while the link flaps: the other 31 disks resume within 3 s, and disks attach and detach
. ../lib/lab.sh
. ../lib/rnbd.sh

# A login waits only for the queue pairs of older epochs, and requests in the storage delay only the
# attachment of their own export. An operation on a disk, such as a detach, does not wait
# for another disk.
DISKS=31

set_host_id
modprobe dm-mod 2>/dev/null
target_start
for ((i = 0; i < DISKS; i++)); do
	disk=$(null_disk 16) || exit 1
	export_disk "disk$i" "$disk"
done
disk=$(null_disk 16) || exit 1
echo "0 32768 linear $disk 0" | dmsetup create back || die "dmsetup"
export_disk hung /dev/mapper/back

modprobe rnbd
common=(--queues 2 --keepalive $((500 * ${LAB_SLOW:-1})) --pool 16M)
devs=()
for ((i = 0; i < DISKS; i++)); do
	devs[i]=$(attach "disk$i" "${common[@]}" --name "d$i") || exit 1
done
hung=$(attach hung "${common[@]}" --loss-timeout 0) || exit 1
# All disks share one session.
same "$(find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l)" 1 "sessions"

# All disks read at depth 1. remember: store the number of reads of each disk in $seen; all_read:
# succeed if each disk has completed reads since the last call of remember; for wait_for
jobs=()
for dev in "${devs[@]}"; do
	jobs+=(--name="${dev##*/}" --filename="$dev")
done
fio --ioengine=libaio --direct=1 --rw=randread --bs=4k --iodepth=1 --time_based --runtime=600 \
	"${jobs[@]}" --minimal >"$OUT/fio" 2>&1 &
load=$!
reads() { awk '{ print $1 }' "/sys/block/${1##*/}/stat"; }
all_read() {
	local dev
	for dev in "${devs[@]}"; do
		[ "$(reads "$dev")" -gt "${seen[$dev]}" ] || return 1
	done
}
declare -A seen
remember() {
	local dev
	for dev in "${devs[@]}"; do seen[$dev]=$(reads "$dev"); done
}
remember
wait_for 30 all_read

note "the storage of one export hangs with a write in it"
trace_requests on
dmsetup suspend --noflush --nolockfs back || die "suspend"
dd if=/dev/zero of="$hung" bs=4k count=1 oflag=direct status=none 2>"$OUT/dd" &
write=$!
wait_for 10 write_received
trace_requests off
remember
wait_for 5 all_read

note "the link flaps"
before=$(counter "${devs[0]}" reconnects)
ip link set d0 carrier off
lost() { [ "$(counter "${devs[0]}" state)" = reconnecting ]; }
wait_for $((10 * ${LAB_SLOW:-1})) lost
remember
# Measure with the timestamps of the kernel log, because polling all disks here takes a second.
echo "test: the link returns" >/dev/kmsg
ip link set d0 carrier on
wait_for 20 all_read
for dev in "${devs[@]}"; do
	same "$(counter "$dev" state)" live "state of $dev"
done
took=$(dmesg | tr -d '[]' | awk '/test: the link returns/ { from = $1; n = 0 }
	/reconnected, attempt/ && from { n++; to = $1 }
	END { if (n == '$DISKS') printf "%d", (to - from) * 1000 }')
note "the last of $DISKS disks is live $took ms after the link's return"
[ -n "$took" ] || die "the log does not report every disk as live"
[ "$took" -lt $((3000 * ${LAB_SLOW:-1})) ] || die "the disks reconnected too late"
[ "$(counter "${devs[0]}" reconnects)" -gt "$before" ] || die "there was no reconnect"

note "the disk of the hung export waits, and reports the reason"
same "$(counter "$hung" state)" reconnecting "state of the hung disk"
asked=$(counter "$hung" attempt)
wait_for 20 counter_over "$hung" attempt "$asked"
counter "$hung" last_error
kill -0 $write || die "the write has ended"

note "attach and detach beside the hung disk"
quick() {
	local began=${EPOCHREALTIME/[.,]/} took
	"$@" || die "failed: $*"
	took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
	[ $took -lt $((3000 * ${LAB_SLOW:-1})) ] || die "took $took ms: $*"
}
kill -INT $load
wait $load
for _ in 1 2 3; do
	quick detach "${devs[5]}"
	devs[5]=$(attach disk5 "${common[@]}" --name d5) || exit 1
done
works "${devs[5]}"

note "the storage completes its requests, and the disk continues"
dmsetup resume back || die "resume"
wait $write || die "the write failed: $(cat "$OUT/dd")"
live() { [ "$(counter "$hung" state)" = live ]; }
wait_for 20 live
works "$hung"
same "$(find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l)" 1 "sessions"
for dev in "${devs[@]}" "$hung"; do detach "$dev"; done
dmsetup_free() { dmsetup remove back 2>/dev/null; }
configfs_clear
wait_for 10 dmsetup_free
unload
