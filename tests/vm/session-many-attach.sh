#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 200
# adapter: only
# turns: 3
# without: event, because a lost message costs a retry time-out that is longer than the keep-alive
# short: 40 disks of one session attach, reconnect and detach at once: the client never has more control requests open than a target accepts
. ../lib/lab.sh
. ../lib/rnbd.sh

DISKS=40

set_host_id
target_start
for ((i = 0; i < DISKS; i++)); do
	disk=$(null_disk 16) || exit 1
	export_disk "disk$i" "$disk"
done
modprobe rnbd
common=(--queues 2 --keepalive $((500 * ${LAB_SLOW:-1})) --pool 16M)
sessions() { find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l; }

# at_once COMMAND...: run the command for all disks concurrently, with the number of the disk in
# place of %d
at_once() {
	local i pids=() pid
	for ((i = 0; i < DISKS; i++)); do
		"${@//%d/$i}" >"$OUT/at_once.$i" 2>&1 &
		pids+=($!)
	done
	i=0
	for pid in "${pids[@]}"; do
		wait "$pid" || die "disk $i: $(cat "$OUT/at_once.$i")"
		i=$((i + 1))
	done
}

note "all disks attach concurrently"
dev0=$(attach disk0 "${common[@]}" --name d0) || exit 1
detach "$dev0"
at_once rnbd attach "$ADDR" disk%d "${common[@]}" --name d%d
devs=()
for ((i = 0; i < DISKS; i++)); do devs[i]=$(head -1 "$OUT/at_once.$i"); done
same "$(sessions)" 1 sessions
for dev in "${devs[@]}"; do works "$dev"; done

note "all disks reconnect concurrently"
ip link set d0 carrier off
lost() { [ "$(counter "${devs[0]}" state)" = reconnecting ]; }
wait_for $((10 * ${LAB_SLOW:-1})) lost
ip link set d0 carrier on
live() {
	local dev
	for dev in "${devs[@]}"; do
		[ "$(counter "$dev" state)" = live ] || return 1
	done
}
wait_for 20 live
for dev in "${devs[@]}"; do works "$dev"; done
need "${devs[0]}" connections_lost -eq 1
need "${devs[0]}" violations -eq 0

note "all disks detach concurrently"
same "$(sessions)" 1 sessions
detach_it() { rnbd detach "${devs[$1]}" --wait $((5 * ${LAB_SLOW:-1})); }
at_once detach_it %d
none() { [ "$(sessions)" = 0 ]; }
wait_for 30 none
dmesg | grep "protocol error" && die "a protocol error"
configfs_clear
unload
