#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --disk 64M --timeout 240
# turns: 2
# adapter: only
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: if storage hangs, fails, fills up or shrinks, only the affected I/O fails, with the right errno, and the session stays live
. ../lib/lab.sh
. ../lib/rnbd.sh

modprobe dm-mod 2>/dev/null
table() { echo "0 $((64 * 2048)) $1 ${2-}"; }

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 64) || exit 1
	table linear "$disk 0" | dmsetup create back || die "dmsetup failed"
	export_disk disk0 /dev/mapper/back
	mkfs.ext4 -q -F -b 4096 /dev/lab/disk0 || die "mkfs failed"
	mkdir -p /mnt/b
	mount /dev/lab/disk0 /mnt/b
	truncate -s 128M /mnt/b/sparse
	export_disk sparse /mnt/b/sparse
	lab barrier exported

	lab barrier suspend
	dmsetup suspend --nolockfs --noflush back || die "suspend failed"
	lab barrier suspended
	lab barrier cut-off --timeout 60
	# Wait until the first session has ended. The client reconnects while the storage still has
	# the old write.
	wait_for 20 dmesg_has 'session 1: .*on port 1: '
	sleep 3	# the storage stays suspended, and the export must keep its one, old attachment
	[ "$(cat "$CFG/exports/disk0/sessions")" = 1 ] || die "sessions: $(cat "$CFG/exports/disk0/sessions")"
	: >"$SHARED/resumed"
	dmsetup resume back || die "resume failed"
	lab barrier live --timeout 60

	lab barrier fail --timeout 60
	{ echo "0 $((32 * 2048)) linear $disk 0"
	  echo "$((32 * 2048)) $((32 * 2048)) error"; } | dmsetup reload back || die "reload failed"
	dmsetup suspend back || die "suspend failed"
	dmsetup resume back || die "resume failed"
	lab barrier failing
	lab barrier shrink --timeout 60
	echo "0 $((16 * 2048)) linear $disk 0" | dmsetup reload back || die "reload failed"
	dmsetup suspend back || die "suspend failed"
	dmsetup resume back || die "resume failed"
	lab barrier shrunk
	lab barrier end --timeout 120
	configfs_clear
	umount /mnt/b
	dmsetup remove back || die "dmsetup remove failed"
	unload
	exit 0
fi

lab barrier exported
modprobe rnbd
sys() { echo "/sys/block/$(basename "$dev")/rnbd"; }

echo "suspended storage, a write in flight, and a new connection"
dev=$(attach disk0 --inline-write 0 --queues 1 --keepalive 500) || exit 1
lab barrier suspend
lab barrier suspended
printf 'old %4092s' '' | dd of="$dev" bs=4k count=1 iflag=fullblock oflag=direct status=none &
pid=$!
wait_for 10 counter_over "$dev" rdma_write_bytes 4095
strike rnbd kill_queue 1
wait_for 10 grep -q reconnecting "$(sys)/state"
lab barrier cut-off
# The target must answer each new ATTACH with BUSY until the storage has completed the old write.
wait_for 20 grep -q 'drains older requests' "$(sys)/last_error"
wait_for 30 grep -q live "$(sys)/state"
[ -e "$SHARED/resumed" ] || die "the login was granted while the storage had the old write"
wait $pid || die "I/O error"
need "$dev" attempt -gt 5
lab barrier live
same "$(dd if="$dev" bs=4k count=1 iflag=direct status=none | head -c 3)" old "block 0"

echo "a bad range"
lab barrier fail
lab barrier failing
errno() { dd if="$dev" of=/dev/null bs=4k skip="$1" count=1 iflag=direct 2>&1 | head -1; }
out=$(errno 10000)
[[ $out == *"Remote I/O error"* ]] || die "bad block: $out"
dd if="$dev" of=/dev/null bs=4k count=1000 iflag=direct status=none || die "read of good blocks failed"
echo "  error for the bad range only; state $(cat "$(sys)/state")"

echo "storage that shrank"
lab barrier shrink
lab barrier shrunk
out=$(errno 5000)
[[ $out == *"Remote I/O error"* ]] || die "beyond the end: $out"
dd if="$dev" of=/dev/null bs=4k count=1000 iflag=direct status=none || die "read of blocks before the end failed"
grep -q live "$(sys)/state" || die "the session did not survive"
same "$(cat "$(sys)/connections_lost")" 1 "connections lost"
detach "$dev"

echo "no space"
dev=$(attach sparse) || exit 1
out=$(dd if=/dev/urandom of="$dev" bs=1M count=100 oflag=direct 2>&1) && die "100 MiB fit into 64"
[[ $out == *"No space left on device"* ]] || die "no space: $out"
grep -q live "$(sys)/state" || die "the session did not survive"
dd if="$dev" of=/dev/null bs=1M count=10 iflag=direct status=none || die "read failed"
echo "  ENOSPC, and the session is live"
detach "$dev"
lab barrier end
unload
