#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --disk 256M --timeout 280
# turns: 3
# short: the target dies and restarts: no acknowledged write is missing, or the disk fails and says so; time limits hold
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=11111111-2222-4333-8444-555555555555

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	mode=through
	[ -e "$SHARED/back" ] && mode=back
	export_disk disk0 /dev/lab/disk0 -- --uuid $UUID --write-cache $mode
	if [ "$LAB_BOOT" = 1 ]; then lab barrier exported; fi
	echo "boot $LAB_BOOT: exported, write cache: $mode"
	: >"$SHARED/up$LAB_BOOT"
	while [ ! -e "$SHARED/end" ]; do sleep 0.2; done
	exit 0
fi

lab barrier exported
modprobe rnbd
sys() { echo "/sys/block/$(basename "$dev")/rnbd"; }

# writer NAME: write numbered blocks in order; $OUT/acked.NAME has the last acknowledged number
writer() {
	local n
	for n in $(seq 0 4000); do
		printf '%08d%4088s' "$n" '' |
			dd of="$dev" bs=4k seek="$n" count=1 iflag=fullblock oflag=direct \
			   status=none 2>>"$OUT/writer.err" || return 1
		echo "$n" >"$OUT/acked.$1"
	done
}

check() {
	local n last
	last=$(cat "$OUT/acked.$1")
	for n in $(seq 0 "$last"); do
		same "$(dd if="$dev" bs=4k skip="$n" count=1 iflag=direct status=none | head -c 8)" \
		     "$(printf %08d "$n")" "block $n of $last"
	done
	echo "  blocks 0 to $last have correct data"
}

echo "write-through: the target is killed under load and restarts"
dev=$(attach disk0 --keepalive 500) || exit 1
writer through &
pid=$!
wait_for 60 sh -c "[ \"\$(cat $OUT/acked.through 2>/dev/null)\" -gt 50 ]"
lab kill 1
wait_for 20 grep -q reconnecting "$(sys)/state"
at=$(cat "$OUT/acked.through")
lab start 1
wait_for 60 grep -q live "$(sys)/state"
need "$dev" target_restarts -eq 1
wait_for 30 sh -c "[ \"\$(cat $OUT/acked.through)\" -gt $((at + 20)) ]"
kill $pid
wait $pid 2>/dev/null
[ -s "$OUT/writer.err" ] && die "I/O error: $(head -1 "$OUT/writer.err")"
check through
detach "$dev"

echo "write-back: unflushed writes are lost with the target, and the disk reports it"
: >"$SHARED/back"
lab reset 1
wait_for 60 test -e "$SHARED/up3"
dev=$(attach disk0 --keepalive 500) || exit 1
dd if=/dev/urandom of="$dev" bs=64k count=8 oflag=direct conv=fsync status=none || die "write failed"
lab reset 1
wait_for 60 counter_over "$dev" target_restarts 0
wait_for 20 grep -q live "$(sys)/state"
echo "  everything was flushed: the disk continues after the restart"
dd if=/dev/urandom of="$dev" bs=64k count=8 oflag=direct status=none || die "write failed"
lab reset 1
wait_for 60 grep -q failed "$(sys)/state"
grep -q 'may have lost' "$(sys)/last_error" || die "reason: $(cat "$(sys)/last_error")"
# The error must not be a path error: multipath would retry over another path, where a flush would
# succeed although writes are lost.
said=$(LC_ALL=C dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>&1) && die "the failed disk still reads"
[[ $said == *"Remote I/O error"* ]] || die "unexpected message: $said"
echo "  not flushed: $(cat "$(sys)/last_error")"
detach "$dev"

echo "detach while reconnecting, with waiting I/O; fast_io_fail; loss_timeout"
wait_for 60 test -e "$SHARED/up5"
dev=$(attach disk0 --keepalive 500) || exit 1
lab kill 1
wait_for 20 grep -q reconnecting "$(sys)/state"
dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null &
pid=$!
wait_for 5 grep -q '^State:.*D' "/proc/$pid/status"
refused rnbd detach "$dev"
rnbd detach "$dev" --force || die "forced detach failed"
wait $pid && die "the waiting read succeeded"
[ ! -e "/sys/block/$(basename "$dev")" ] || die "the disk is still there"

rm -f "$SHARED/back"
lab start 1
wait_for 60 test -e "$SHARED/up6"
limit=$((8 * ${LAB_SLOW:-1}))
dev=$(attach disk0 --keepalive 500 --fast-io-fail 2 --loss-timeout $limit) || exit 1
lab kill 1
wait_for 20 grep -q reconnecting "$(sys)/state"
start=${EPOCHREALTIME/[.,]/}
if dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then die "a read succeeded without a target"; fi
took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
# The script can notice the loss late, so use the timestamps of the kernel log.
logged_at() { dmesg | grep "$1" | tail -n 1 | sed 's/^\[ *\([0-9]*\)\.\([0-9]*\)\].*/\1\2/'; }
since_loss() { echo $((($(logged_at "$1") - $(logged_at "connection lost")) / 1000)); }
gap=$(since_loss "not attached for 2 seconds")
echo "  I/O failed $gap ms after the loss with fast_io_fail 2, and the read after $took ms"
if [ "$gap" -lt 1900 ] || [ "$took" -gt 5000 ]; then die "fast_io_fail was not observed"; fi
grep -q reconnecting "$(sys)/state" || die "state: $(cat "$(sys)/state")"
wait_for 60 grep -q failed "$(sys)/state"
gap=$(since_loss "given up")
echo "  failed $gap ms after the loss with loss_timeout $limit: $(cat "$(sys)/last_error")"
[ "$gap" -ge $((limit * 1000 - 100)) ] || die "loss_timeout was not observed"
detach "$dev"
: >"$SHARED/end"
unload
