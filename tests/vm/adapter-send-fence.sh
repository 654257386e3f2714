#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
# turns: 2
# adapter: own
# short: early release needs the send fence: if RDMA READs are executed twice, the data are wrong without the send fence and right with it
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

# io-send-fence.sh shows the same on soft-RoCE with lost packets. Here the modelled adapter executes
# each RDMA READ twice. With early release and without the send fence, another request can overwrite
# the extent before the second execution, which then returns wrong data.

set_host_id
adapter_up profile=mlx5 nasty=again nasty_rate=1
ADDR=$MDL_TARGET
target_start
export_disk disk0 "$(null_disk 64)"

# fill: write blocks that contain their offset. The pool is so small that each extent is used again
# as soon as it is free.
fill() {
	fio --name=mix --filename="$dev" --direct=1 --ioengine=libaio --rw=write --bs=4k \
	    --iodepth=16 --size=2m --verify=crc32c-intel --do_verify=0 --minimal >/dev/null ||
		die "filling the disk failed"
}

try() {
	fio --name=mix --filename="$dev" --direct=1 --ioengine=libaio --rw=randread --bs=4k \
	    --iodepth=16 --size=2m --verify=crc32c-intel --verify_fatal=1 \
	    --minimal --output="$OUT/read.$1" >/dev/null 2>"$OUT/read.$1.err"
}

# phase EARLY-RELEASE NO-SEND-FENCE: attach the disk; each argument is 1 or 0 and enables or
# disables early release and the fault point no_send_fence
phase() {
	strike rnbd no_send_fence $(($2 * 1000000000))
	dev=$(attach disk0 --queues 1 --pool 64K --max-io 16K --inline-read 0) || exit 1
	echo "$1" >"/sys/block/$(basename "$dev")/rnbd/early_release"
	again=$(mdl_stat mdl0 nasty_again)
}

# repeated: fail unless RDMA READs were executed twice in this phase
repeated() {
	again=$(($(mdl_stat mdl0 nasty_again) - again))
	need_counter "$again" -gt 50 "READs executed again"
}

# gather=64 makes the client send many frames with few requests each. Without the send fence each
# frame can cause the target to overwrite an extent too early.
modprobe rnbd coalesce=0 gather=64
phase 0 0
fill
detach "$dev"

note "early release, send fence on"
phase 1 0
for i in 1 2 3 4; do
	try on || { cat "$OUT/read.on.err"; die "wrong data although the send fence is on"; }
done
need "$dev" send_fences -gt 0
repeated
detach "$dev"

note "early release, send fence forced off"
phase 1 1
bad=0
for i in $(seq 10); do
	if ! try "off$i"; then
		bad=$i
		break
	fi
done
need "$dev" send_fences -eq 0
left_out=$(hits rnbd no_send_fence)
note "$left_out send fences left out, wrong data in round $bad (0: none)"
[ "$left_out" -gt 0 ] || die "no send fence was left out"
[ "$(counter "$dev" state)" = live ] || die "the connection was lost: this test proves nothing"
[ "$bad" -gt 0 ] || die "no wrong data without the send fence: this test proves nothing"
grep -h -m1 'verify: bad' "$OUT/read.off$bad.err" || die "fio failed for another reason"
detach "$dev"

note "early release, send fence on again"
phase 1 0
for i in 1 2 3 4; do
	try again || { cat "$OUT/read.again.err"; die "wrong data although the send fence is on again"; }
done
need "$dev" send_fences -gt 0
repeated
detach "$dev"

note "late release, no send fence needed"
phase 0 1
try late || die "wrong data with late release"
need "$dev" send_fences -eq 0
repeated
detach "$dev"

own_adapter_end
