#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240 --ignore-report rxe_comp.c:[0-9]+.rxe_completer
# turns: 3
# short: lost packets of long RDMA READs on soft-RoCE give wrong data without the read guard and never with it
. ../lib/lab.sh
. ../lib/rnbd.sh

# soft-RoCE of Linux 6.12 cannot resume a READ of several packets after the loss of one of them. It
# prints a WARNING, which the lab ignores, reports success although data are missing, and moves the
# queue pair to the error state. With the read guard the client detects this, reconnects and repeats
# the read. If the lost connection was live for less than 10 s, the client then uses READs of one
# packet, which succeed.

# With the guard the test runs ROUNDS rounds. The test stops earlier, after at least ENOUGH rounds,
# as soon as a connection was lost in one of them.
ROUNDS=10 ENOUGH=10
[ -z "$LAB_SLOW" ] || ENOUGH=3

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	# Send many reply frames, because the error of soft-RoCE occurs when other packets arrive
	# between the packets of a READ response.
	echo 64 >/sys/module/rnbd_target/parameters/reply_gather
	echo N >/sys/module/rnbd_target/parameters/reply_batch
	export_disk disk0 "$(null_disk 64)"
	lab barrier exported
	lab barrier end --timeout 200
	configfs_clear
	unload
	exit 0
fi

lab barrier exported

# lossy: drop on average one in 64 packets of READ responses on arrival
lossy() {
	nft -f - <<-'EOF'
		table ip rnbd_loss {
			chain input {
				type filter hook input priority 0;
				udp dport 4791 @th,64,8 0x0d-0x10 numgen random mod 64 == 0 counter drop
			}
		}
	EOF
}

# read_back: read and verify; print "right" or "wrong"
read_back() {
	fio --name=mix --filename="$dev" --direct=1 --ioengine=libaio --rw=read --bs=64k \
	    --iodepth=8 --size=8m --verify=crc32c-intel --verify_fatal=1 \
	    --verify_state_save=0 --minimal >"$OUT/read" 2>&1 && { echo right; return; }
	grep -q 'verify' "$OUT/read" || die "fio: $(tail -3 "$OUT/read")"
	echo wrong
}

# round: attach, read over the lossy link, detach
round() {
	dev=$(attach disk0 --queues 1) || exit 1
	lossy
	read_back
	nft delete table ip rnbd_loss
	guards=$((guards + $(counter "$dev" read_guards)))
	lost=$((lost + $(counter "$dev" connections_lost)))
	detach "$dev"
}

modprobe rnbd gather=64
dev=$(attach disk0 --queues 1) || exit 1
fio --name=mix --filename="$dev" --direct=1 --ioengine=libaio --rw=write --bs=64k \
    --iodepth=8 --size=16m --verify=crc32c-intel --do_verify=0 --verify_state_save=0 --minimal >/dev/null ||
	die "filling the disk failed"
fio --name=small --filename="$dev" --direct=1 --ioengine=libaio --rw=read --bs=4k \
    --iodepth=1 --size=1m --minimal >/dev/null || die "reading failed"
need "$dev" read_guards -eq 0
detach "$dev"

strike rnbd no_read_guard 1000000000
guards=0 lost=0
rm -f "$OUT/without" "$OUT/with"
for i in $(seq 1 12); do
	round >>"$OUT/without"
	grep -q wrong "$OUT/without" && break
done
echo "without the guard: $(sort "$OUT/without" | uniq -c | tr -s ' \n' ' ')"
grep -q wrong "$OUT/without" || die "no data was wrong: this test proves nothing"
[ "$guards" = 0 ] || die "$guards READs were guarded"

[ "$(hits rnbd no_read_guard)" -gt 0 ] || die "no guard was left out: this test proves nothing"
strike rnbd no_read_guard 0
lost=0
for i in $(seq 1 $ROUNDS); do
	if [ "$i" -gt $ENOUGH ] && [ "$lost" -gt 0 ]; then break; fi
	round >>"$OUT/with"
done
echo "with the guard: $(sort "$OUT/with" | uniq -c | tr -s ' \n' ' ')," \
     "$guards READs guarded, $lost connections replaced"
grep -q wrong "$OUT/with" && die "data was wrong"
[ "$lost" -gt 0 ] || die "no connection was lost: this test proves nothing"
unload
lab barrier end
