#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 420
# turns: 3
# adapter: only
# short: a disk under load survives a disabled export and a reload of the target module; a forced detach or interrupted attach leaves nothing behind
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=11111111-2222-4333-8444-555555555555
DISABLES=8
RELOADS=4
FORCED=6
if [ -n "$LAB_SLOW" ]; then DISABLES=4 RELOADS=2 FORCED=4; fi

set_host_id
if [ "$NODE" = 1 ]; then
	disk=$(null_disk 64) || exit 1
	target_start
	export_disk disk0 "$disk" -- --uuid $UUID
	lab barrier exported
	for i in $(seq 1 $DISABLES); do
		lab barrier "busy-$i" --timeout 60
		rnbd export disable disk0 || die "disable failed"
		rnbd export enable disk0 || die "enable failed"
	done

	# Close the session while a write waits to be submitted and its connection still exists; the
	# target must drop the write without any reply. Disabling the port closes the session;
	# disabling the export would not.
	port=$(echo "$CFG"/ports/*)
	lab barrier closing --timeout 60
	strike rnbd-target delay_submit 1 100000
	wait_for 20 hit delay_submit
	strike rnbd-target delay_close 1 100000
	sh -c "echo 0 >$port/enable" &
	wait_for 20 hit delay_close
	strike rnbd-target delay_submit 0
	wait_for 20 sh -c "[ \$(cat $CFG/exports/disk0/stale_requests) -gt 0 ]"
	strike rnbd-target delay_close 0
	wait $! || die "disable failed"
	echo 1 >"$port/enable" || die "enable failed"
	lab barrier closed --timeout 60

	for i in $(seq 1 $RELOADS); do
		lab barrier "loaded-$i" --timeout 60
		configfs_clear
		unload
		target_start
		export_disk disk0 "$disk" -- --uuid $UUID
		lab barrier "reloaded-$i" --timeout 60
	done
	lab barrier end --timeout 240
	configfs_clear
	unload
	exit 0
fi

lab barrier exported
modprobe rnbd
before=$(rdma_own)

load() {
	fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw \
	    --bsrange=4k-64k --iodepth=32 --size=32m --time_based --runtime=3600 "$@" \
	    --minimal >"$OUT/load" 2>&1 &
	pid=$!
	wait_for 20 counter_over "$dev" requests 200
}

dev=$(attach disk0 --queues 2) || exit 1
load --verify=crc32c-intel --verify_fatal=1 --verify_backlog=64 --verify_state_save=0
# moves: fio must still run and its requests must complete
moves() {
	local before
	before=$(completed "$dev")
	wait_for 20 completed_over "$dev" $((before + 50))
	kill -0 $pid 2>/dev/null || die "fio ended: $(tail -3 "$OUT/load")"
}
for i in $(seq 1 $DISABLES); do
	start=$(now_ms)
	lab barrier "busy-$i"
	wait_for 20 back_since "$dev" "$start"
	moves
done
need "$dev" reconnects -eq 0
echo "the export was disabled $DISABLES times under load, the session remained"
lab barrier closing
lab barrier closed --timeout 60
wait_for 20 counter_over "$dev" reconnects 0
moves
for i in $(seq 1 $RELOADS); do
	lab barrier "loaded-$i"
	lab barrier "reloaded-$i" --timeout 60
	wait_for 20 counter_over "$dev" target_restarts $((i - 1))
	moves
done
echo "the target's module was reloaded $(counter "$dev" target_restarts) times under load"
kill $pid
wait $pid
if grep -q 'verify\|error' "$OUT/load"; then die "fio: $(grep -m3 'verify\|error' "$OUT/load")"; fi
detach "$dev"
wait_for 10 rdma_own_is "$before"

for i in $(seq 1 $FORCED); do
	dev=$(attach disk0 --queues 2) || exit 1
	load
	rnbd detach "$dev" --force || die "forced detach failed"
	[ ! -e "/sys/block/$(basename "$dev")" ] || die "$dev is still there"
	wait_for 20 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid && die "fio saw no error"
done
echo "detached $FORCED times under load"
wait_for 10 rdma_own_is "$before"

attached=0 interrupted=0
for ms in $(seq 10 25 400); do
	if timeout -s INT "$(printf '0.%03d' "$ms")" rnbd attach "$ADDR" disk0 \
		>"$OUT/attach" 2>&1; then
		attached=$((attached + 1))
	else
		interrupted=$((interrupted + 1))
	fi
	# An attach that is interrupted while it waits for the device node leaves its disk attached.
	rnbd detach --all || die "detach --all failed"
done
echo "attach: $interrupted times interrupted, $attached times not"
[ "$interrupted" -gt 0 ] || die "no attach was interrupted"
wait_for 20 rdma_own_is "$before"
lab barrier end
unload
