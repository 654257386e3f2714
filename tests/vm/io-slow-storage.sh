#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 150
# turns: 3
# adapter: only
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: storage that does not answer costs no connection; a request that the target has lost is sent again; the queue depth fits the storage
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/storage.sh

TIMEOUT=$((2 * ${LAB_SLOW:-1}))	# seconds; the default is 30
SILENT=$((8 * TIMEOUT))
P=/sys/module/rnbd/parameters

set_host_id
target_start
modprobe rnbd io_timeout=$TIMEOUT
modprobe dm-mod 2>/dev/null
disk=$(null_disk 64) || exit 1
echo "0 131072 linear $disk 0" | dmsetup create back || die "dmsetup failed"
export_disk disk0 /dev/mapper/back
other=$(null_disk 64) || exit 1
echo "0 131072 linear $other 0" | dmsetup create back1 || die "dmsetup failed"
export_disk disk1 /dev/mapper/back1
dev=$(attach disk0 --queues 2 --keepalive $((1000 * ${LAB_SLOW:-1}))) || exit 1

fall_silent() { dmsetup suspend --noflush --nolockfs back || die "suspend failed"
	dmsetup suspend --noflush --nolockfs back1 || die "suspend failed"; }
speak() { dmsetup resume back || die "resume failed"
	dmsetup resume back1 || die "resume failed"; }
# put GENERATION: write a block that begins with this number
put() {
	printf '%04d%4092s' "$1" '' |
		dd of="$dev" bs=4k count=1 iflag=fullblock oflag=direct status=none
}
in_flight() { [ "$(awk '{ print $9 }' "/sys/block/${dev##*/}/stat")" -ge 1 ]; }
got() { dd if="$dev" bs=4k count=1 iflag=direct status=none | head -c 4; }

note "the storage hangs for $SILENT s under load, with an io_timeout of $TIMEOUT s"
fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw --bs=4k-64k --iodepth=32 \
	--offset=1m --size=32m --time_based --runtime=3600 --verify=crc32c-intel --verify_fatal=1 \
	--verify_backlog=64 --verify_state_save=0 --minimal >"$OUT/load" 2>&1 &
load=$!
wait_for 20 counter_over "$dev" requests 500
fall_silent
sleep $SILENT
need "$dev" slow_requests -ge 16
need "$dev" connections_lost -eq 0
speak
before=$(counter "$dev" requests)
wait_for 20 counter_over "$dev" requests $((before + 500))
kill -0 $load || die "fio ended: $(tail -5 "$OUT/load")"
kill $load
wait $load
if grep -q 'verify\|error' "$OUT/load"; then die "fio: $(grep -m3 'verify\|error' "$OUT/load")"; fi
need "$dev" connections_lost -eq 0
dmesg_has "${dev##*/}: a request has waited .* for the target's storage" || die "not in the log"
same "$(rnbd stat "$dev" --json | jq -r .slow_requests)" "$(counter "$dev" slow_requests)" "slow_requests of rnbd stat"

note "the target loses a request: a query detects the loss, and the request is resent"
slow=$(counter "$dev" slow_requests)
strike rnbd-target drop_reply 1
start=$SECONDS
put 1 || die "I/O error"
same "$(hits rnbd-target drop_reply)" 1 "replies dropped"
need "$dev" slow_requests -eq $((slow + 1))
need "$dev" connections_lost -eq 1
need "$dev" resent_requests -eq 1
same "$(counter "$dev" reason)" "the target has lost a request" reason
same "$(got)" 0001 "the block"
note "after $((SECONDS - start)) s"

note "after io_limit the disk reattaches, whatever the target replies; the session continues"
echo $((2 * TIMEOUT)) >$P/io_limit || die "parameter"
fall_silent
put 2 &
pid=$!
wait_for $((10 * TIMEOUT)) grep -q reconnecting "/sys/block/${dev##*/}/rnbd/state"
same "$(counter "$dev" reason)" "a request was not answered within io_limit" reason
need "$dev" connections_lost -eq 1
# The target answers each ATTACH with BUSY while the storage of the export has the write.
wait_for 20 counter_over "$dev" attempt 2
kill -0 $pid || die "the write ended"
speak
wait $pid || die "I/O error"
wait_for 20 grep -q live "/sys/block/${dev##*/}/rnbd/state"
same "$(got)" 0002 "the block"
echo 3600 >$P/io_limit || die "parameter"

note "after loss_timeout a write is held while the target reports that it drains"
limit=$((3 * ${LAB_SLOW:-1}))
detach "$dev"
dev=$(attach disk1 --queues 1 --keepalive $((500 * ${LAB_SLOW:-1})) --policy fail --loss-timeout $limit) || exit 1
fall_silent
put 5 &
pid=$!
wait_for 10 in_flight
strike rnbd kill_queue 1
wait_for 30 grep -qx 1 "/sys/block/${dev##*/}/rnbd/held_writes"
wait_for $((4 * limit)) dmesg_has "${dev##*/}: not attached for $limit seconds, I/O fails, 1 writes wait"
kill -0 $pid || die "the write ended"
need "$dev" held_writes -eq 1
fails "Link has been severed" reads "$dev" 1
speak
wait $pid || die "I/O error"
wait_for 20 grep -q live "/sys/block/${dev##*/}/rnbd/state"
same "$(got)" 0005 "the block"
detach "$dev"

note "neither an attach nor the removal of the module waits for hung storage"
fall_silent
start=$SECONDS
fails "" rnbd attach "$ADDR" disk1 --queues 1
[ $((SECONDS - start)) -le $((10 * TIMEOUT)) ] || die "it took $((SECONDS - start)) s"
speak
dev=$(attach disk0 --queues 2) || exit 1

note "a forced detach waits no longer than io_timeout"
fall_silent
put 3 2>/dev/null &
pid=$!
wait_for 10 in_flight
start=$SECONDS
rnbd detach "$dev" --force || die "forced detach failed"
[ $((SECONDS - start)) -le $((5 * TIMEOUT)) ] || die "it took $((SECONDS - start)) s"
wait $pid && die "no error"
speak

note "the queue depth depends on the storage"
small=$(null_disk 16 hw_queue_depth=16) || exit 1
echo none >"/sys/block/${small##*/}/queue/scheduler"
turning=$(null_disk 16) || exit 1
echo 1 >"/sys/block/${turning##*/}/queue/rotational" || die "not rotational"
truncate -s 16M /run/file || die "no file"
export_disk small "$small"
export_disk turning "$turning"
export_disk file /run/file -- --cache pagecache
# grants EXPORT QUEUES DEPTH: attach the export; the target must grant this number of queues and
# this queue depth
grants() {
	dev=$(attach "$1" --queues 2 --queue-depth 128 --keepalive 500) || exit 1
	need "$dev" queues -eq "$2"
	need "$dev" depth -eq "$3"
}
grants small 1 16
echo 8 >/sys/module/rnbd_target/parameters/storage_inflight || die "parameter"
strike rnbd kill_queue 1
wait_for 20 counter_over "$dev" reconnects 0
need "$dev" depth -eq 16
works "$dev"
detach "$dev"
grants small 1 8
detach "$dev"
echo 0 >/sys/module/rnbd_target/parameters/storage_inflight || die "parameter"
grants turning 2 32
detach "$dev"
grants file 2 128
same "$(cat "/sys/block/${dev##*/}/queue/discard_max_hw_bytes")" $((64 << 20)) "bytes of a DISCARD"
same "$(cat "/sys/block/${dev##*/}/queue/write_zeroes_max_bytes")" $((64 << 20)) "bytes of a WRITE_ZEROES"
detach "$dev"
grants disk0 2 128
same "$(cat "/sys/block/${dev##*/}/queue/discard_max_hw_bytes")" $((64 << 20)) "bytes of a DISCARD"
detach "$dev"
configfs_clear
dmsetup remove back back1
unload
