#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# short: no write of an old epoch lands after its replay: both guards are needed, and enough
. ../lib/lab.sh
. ../lib/rnbd.sh

# The target holds one write up (a fault point), the client loses its queue
# pair and connects again. Two places can hold it up, and each has its guard:
#
# - after the target has looked at the epoch, as slow storage does: the login
#   must wait until the old write has ended (drain);
# - before that, as a slow thread does: the look at the epoch must drop it
#   (check), although the client was told long ago that the write failed.

HELD=200000		# ms at most: ended when the client says so
BLOCK=7

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 64) || exit 1
	export_disk disk0 "$disk"
	lab barrier exported
	for round in queue-none queue-drain fail-none fail-check; do
		for point in delay_bio delay_submit no_drain no_epoch_check; do
			strike rnbd-target "$point" 0
		done
		case $round in
		queue-*) hold=delay_bio ;;
		fail-*) hold=delay_submit ;;
		esac
		struck=$(hits rnbd-target "$hold")
		stale=$(cat "$CFG/exports/disk0/stale_requests")
		case $round in
		*-drain) strike rnbd-target no_drain 1000 ;;
		*-check) strike rnbd-target no_epoch_check 1000 ;;
		esac
		lab barrier "first-$round" --timeout 60
		strike rnbd-target "$hold" 1 $HELD
		lab barrier "hold-$round"
		wait_for 10 sh -c "grep -q 'hits $((struck + 1))' /sys/kernel/debug/rnbd/rnbd-target/$hold"
		lab barrier "held-$round"
		lab barrier "release-$round" --timeout 60
		strike rnbd-target "$hold" 0
		lab barrier "written-$round" --timeout 60
		# the old session has gone: what was held up has landed, or not
		wait_for 20 grep -qx 1 "$CFG/exports/disk0/sessions"
		[ "$(hits rnbd-target "$hold")" = $((struck + 1)) ] || die "$round: no write was held up"
		stale=$(($(cat "$CFG/exports/disk0/stale_requests") - stale))
		echo "$round: stale requests dropped: $stale"
		case $round in
		fail-none) [ "$stale" -ge 1 ] || die "no stale request was dropped" ;;
		fail-check) [ "$stale" = 0 ] || die "the check is not off" ;;
		esac
		dd if="$disk" bs=4k skip=$BLOCK count=1 iflag=direct status=none |
			head -c 4 >"$SHARED/found-$round"
		lab barrier "checked-$round"
	done
	configfs_clear
	unload
	exit 0
fi

lab barrier exported
modprobe rnbd

# put GENERATION: write the block
put() {
	printf '%04d%4092s' "$1" '' |
		dd of="$dev" bs=4k seek=$BLOCK count=1 iflag=fullblock oflag=direct status=none
}

# one ROUND ATTACH-OPTIONS...: generation 1 is written; 2 is held up while the
# connection is lost; with the policy to queue, 3 follows it
one() {
	local round=$1 pid
	shift
	dev=$(attach disk0 --queues 1 --keepalive 500 "$@") || exit 1
	put 1 || die "$round: first write failed"
	lab barrier "first-$round"
	lab barrier "hold-$round"
	put 2 2>/dev/null &
	pid=$!
	lab barrier "held-$round"
	strike rnbd kill_queue 1
	wait_for 20 counter_over "$dev" lost 0
	case $round in
	queue-none)
		# the login waits for the write that is held up
		wait_for 20 counter_over "$dev" attempt 3
		lab barrier "release-$round"
		wait $pid || die "$round: I/O error in spite of the policy"
		put 3 || die "$round: write failed"
		;;
	queue-drain)
		wait $pid || die "$round: I/O error in spite of the policy"
		put 3 || die "$round: write failed"
		lab barrier "release-$round"
		;;
	fail-*)
		wait $pid && die "$round: the write that was held up succeeded"
		lab barrier "release-$round"
		wait_for 20 counter_over "$dev" reconnects 0
		;;
	esac
	echo "  attempts: $(counter "$dev" attempt), reconnects: $(counter "$dev" reconnects)"
	lab barrier "written-$round" --timeout 60
	lab barrier "checked-$round" --timeout 60
	detach "$dev"
	found=$(cat "$SHARED/found-$round")
	echo "$round: generation $found on the disk"
}

one queue-none
[ "$found" = 0003 ] || die "a newer write was overwritten"
one queue-drain
[ "$found" = 0002 ] || die "nothing is wrong without draining: this test proves nothing"
one fail-none --policy fail
[ "$found" = 0001 ] || die "a write that had failed was executed later"
one fail-check --policy fail
[ "$found" = 0002 ] || die "nothing is wrong without the check: this test proves nothing"
unload
