#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 2
# adapter: only
# short: an export shrinks with requests in flight: requests beyond the new end fail, the others are sent again
. ../lib/lab.sh
. ../lib/rnbd.sh

modprobe dm-mod 2>/dev/null
table() { echo "0 $(($1 * 2048)) linear $disk 0"; }

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 64) || exit 1
	table 64 | dmsetup create back || die "dmsetup failed"
	export_disk disk0 /dev/mapper/back
	lab barrier exported

	# The target delays the first write before its submission to the storage; the second write
	# waits behind the first.
	strike rnbd-target delay_submit 1 100000
	barrier armed
	wait_for 20 hit delay_submit
	barrier sent
	rnbd export disable disk0 &
	# "export disable" has closed the attachment, so the target refuses both writes when the
	# delay ends.
	barrier closed
	strike rnbd-target delay_submit 0
	wait $! || die "disable failed"
	table 16 | dmsetup reload back || die "reload failed"
	dmsetup suspend back || die "suspend failed"
	dmsetup resume back || die "resume failed"
	same "$(dd if="$disk" bs=4k skip=1000 count=1 iflag=direct status=none | tr -d '\0')" "" \
		"the block of a refused write"
	rnbd export enable disk0 || die "enable failed"
	# The session has stayed live, so the target must have answered both writes and dropped
	# none.
	same "$(cat "$CFG/exports/disk0/stale_requests")" 0 "requests that were dropped without a reply"
	barrier enabled

	barrier written
	same "$(dd if="$disk" bs=4k skip=1000 count=1 iflag=direct status=none | head -c 6)" inside \
		"the block before the end"
	same "$(dd if="$disk" bs=1M skip=16 iflag=direct status=none | tr -d '\0' | wc -c)" 0 \
		"bytes beyond the end that are not zero"
	configfs_clear
	dmsetup remove back || die "dmsetup remove failed"
	unload
	barrier end
	exit 0
fi

lab barrier exported
dev=$(attach disk0 --inline-write 0 --queues 1) || exit 1
sys=/sys/block/$(basename "$dev")
barrier armed
printf 'beyond %4089s' '' |
	dd of="$dev" bs=4k seek=10000 count=1 iflag=fullblock oflag=direct 2>"$OUT/beyond" &
beyond=$!
wait_for 10 counter_over "$dev" rdma_write_bytes 4095
printf 'inside %4089s' '' |
	dd of="$dev" bs=4k seek=1000 count=1 iflag=fullblock oflag=direct 2>"$OUT/inside" &
inside=$!
wait_for 10 counter_over "$dev" rdma_write_bytes 8191
barrier sent
wait_for 20 grep -q reconnecting "$sys/rnbd/state"
barrier closed
barrier enabled
wait_for 30 grep -q live "$sys/rnbd/state"
wait $beyond && die "a write beyond the end was acknowledged"
cat "$OUT/beyond"
grep -q 'Remote I/O error' "$OUT/beyond" || die "unexpected error"
wait $inside || die "the write before the end failed: $(cat "$OUT/inside")"
same "$(blockdev --getsize64 "$dev")" $((16 << 20)) "size"
same "$(cat "$sys/size")" $((16 << 11)) "sectors in sysfs"
need "$dev" connections_lost -eq 0
# The target has answered that it did not execute the two writes, and the client has sent both
# again.
need "$dev" resent_requests -eq 2
dd if="$dev" of="$OUT/end" bs=4k skip=4095 count=1 iflag=direct status=none || die "the last block cannot be read"
dd if="$dev" of=/dev/null bs=4k skip=4096 count=1 iflag=direct 2>"$OUT/end"
grep -q '0 bytes' "$OUT/end" || die "a read beyond the last block returned data: $(cat "$OUT/end")"
barrier written
detach "$dev"
barrier end
unload
