#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 420
# turns: 2
# short: early release needs the send fence: if READ responses are lost, the data are wrong without the send fence and right with it
. ../lib/lab.sh
. ../lib/rnbd.sh

# If the response of a READ is lost, the target's device executes the READ once more. With early
# release and without the send fence, another request can overwrite the extent before that, and the
# READ returns wrong data.
#
# Only READs of one packet are disturbed. soft-RoCE of Linux 6.12 cannot resume a READ of several
# packets and would end the connection, see io-read-loss.sh; that would hide the effect of the send
# fence.

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	lab barrier exported
	lab barrier end --timeout 400
	configfs_clear
	unload
	exit 0
fi

lab barrier exported

# Drop on average one in 16 single-packet READ responses on arrival, and not when they are sent,
# because the sending soft-RoCE device would notice that.
nft -f - <<-'EOF'
	table ip rnbd_loss {
		chain input {
			type filter hook input priority 0;
			udp dport 4791 @th,64,8 0x10 numgen random mod 16 == 0 counter drop
		}
	}
EOF

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
}

# gather=64 makes the client send many frames with few requests each. Without the send fence each
# frame can cause the target to overwrite an extent too early.
modprobe rnbd coalesce=0 gather=64
phase 0 0
fill
detach "$dev"

echo "early release, send fence on"
phase 1 0
try on || { cat "$OUT/read.on.err"; die "wrong data although the send fence is on"; }
need "$dev" send_fences -gt 5
detach "$dev"

echo "early release, send fence forced off"
phase 1 1
bad=0
for i in $(seq 10); do
	if ! try "off$i"; then
		bad=$i
		break
	fi
done
need "$dev" send_fences -eq 0
# The number can be as low as 1: fio stops at the first wrong block, and a single missing send fence
# can cause a wrong block.
left_out=$(hits rnbd no_send_fence)
echo "  $left_out send fences left out, wrong data in round $bad (0: none)"
[ "$left_out" -gt 0 ] || die "no send fence was left out"
[ "$(counter "$dev" state)" = live ] || die "the connection was lost: this test proves nothing"
[ "$bad" -gt 0 ] || die "no wrong data without the send fence: this test proves nothing"
grep -h -m1 'verify: bad' "$OUT/read.off$bad.err" || die "fio failed for another reason"
detach "$dev"

echo "early release, send fence on again"
phase 1 0
try again || { cat "$OUT/read.again.err"; die "wrong data although the send fence is on again"; }
need "$dev" send_fences -gt 5
detach "$dev"

echo "late release, no send fence needed"
phase 0 1
try late || die "wrong data with late release"
need "$dev" send_fences -eq 0
detach "$dev"

lost=$(nft list table ip rnbd_loss | grep -o 'packets [0-9]*' | cut -d' ' -f2)
echo "READ responses lost: $lost"
[ "$lost" -gt 50 ] || die "too few READ responses were lost: this test proves nothing"
lab barrier end --timeout 400
unload
