#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
# adapter: own
# turns: 3
# short: the device of the target is removed while storage hangs: neither the removal nor other disks wait for the storage
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
modprobe dm-mod 2>/dev/null
adapter_up profile=mlx5
target_start
disk=$(null_disk 64) || exit 1
echo "0 131072 linear $disk 0" | dmsetup create back || die "dmsetup"
export_disk hung /dev/mapper/back
export_disk fine "$(null_disk 64)"
hung=$(attach hung --loss-timeout 0) || exit 1
fine=$(attach fine --loss-timeout 0) || exit 1

state_is() { [ "$(counter "$1" state)" = "$2" ]; }
# requests DEV: succeed if the disk has a write in flight; for wait_for
requests() { [ "$(awk '{ print $2 }' "/sys/block/${1##*/}/inflight")" -ge 1 ]; }
closing_is() { [ "$(cat "$CFG/exports/hung/closing")" = "$1" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }

note "storage hangs with a write in it"
dmsetup suspend --noflush --nolockfs back || die "suspend"
head -c 65536 /dev/urandom >"$OUT/data"
dd if="$OUT/data" of="$hung" bs=64k oflag=direct status=none 2>"$OUT/dd" &
write=$!
wait_for 10 requests "$hung"
verify "$fine" --rw=randwrite --bs=16k --iodepth=8 --size=4m

note "the device of the target is removed"
rdma link delete mdl1 &
removal=$!
wait_for 20 gone $removal
wait $removal || die "the device is not removed"
# The storage still has the write, so the attachment must not end yet.
wait_for 10 closing_is 1
kill -0 $write || die "the write has ended"

note "the device returns, and the disk whose storage works reconnects"
adapter_link mdl1 d1 bounce=N
wait_for 30 state_is "$fine" live
verify "$fine" --rw=randwrite --bs=16k --iodepth=8 --size=4m
closing_is 1 || die "the attachment has ended"
kill -0 $write || die "the write has ended"
state_is "$hung" reconnecting || die "the disk is not reconnecting"

note "the storage completes the write"
dmsetup resume back || die "resume"
wait $write || die "the write failed: $(cat "$OUT/dd")"
wait_for 30 state_is "$hung" live
dd if="$hung" of="$OUT/read" bs=64k count=1 iflag=direct status=none || die "read"
cmp "$OUT/data" "$OUT/read" || die "the data differ"
same "$(find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l)" 1 "sessions"
detach "$hung"
detach "$fine"
own_adapter_end
dmsetup remove back || die "the export is still open"
