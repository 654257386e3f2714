#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# adapter: only
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: no old write overwrites newer data from any path; each of three mechanisms is necessary, and together they suffice
. ../lib/lab.sh
. ../lib/rnbd.sh

# A fault point delays one write at the target. During the delay the client loses its queue pair, or
# the disk is deactivated. Each of three mechanisms prevents that this write overwrites newer data.
# A round without the mechanism shows the damage:
#
# - drain: the client reconnects. The target must not grant the new attachment until a write that is
#   delayed after the check of the epoch, as by slow storage, has ended.
# - check: the administrator deactivates the disk, so the write fails at the client. If the write is
#   delayed at the target before the check of the epoch, as by a slow thread, the check must drop
#   it.
# - hold: the disk has the policy fail. The application repeats a failed write over another
#   attachment (another host id) and then writes newer data there. The client must not fail the
#   write until the target has confirmed that it no longer executes the write.

HELD=200000		# ms at most; the delay ends when the client requests it
BLOCK=7
ROUNDS="queue-none queue-drain gone-none gone-check path-none path-hold"

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 64) || exit 1
	export_disk disk0 "$disk" 1 2 3
	lab barrier exported
	for round in $ROUNDS; do
		for point in delay_bio delay_submit no_drain no_epoch_check; do
			strike rnbd-target "$point" 0
		done
		case $round in
		queue-*) hold=delay_bio left=1 ;;
		gone-*) hold=delay_submit left=0 ;;
		path-*) hold=delay_bio left=2 ;;
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
		# Wait until the old attachment has ended: the delayed write was executed or
		# dropped.
		wait_for 20 grep -qx "$left" "$CFG/exports/disk0/sessions"
		[ "$(hits rnbd-target "$hold")" = $((struck + 1)) ] || die "$round: no write was delayed"
		stale=$(($(cat "$CFG/exports/disk0/stale_requests") - stale))
		echo "$round: stale requests dropped: $stale"
		case $round in
		gone-none) [ "$stale" -ge 1 ] || die "no stale request was dropped" ;;
		gone-check) [ "$stale" = 0 ] || die "the check is not disabled" ;;
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

# put DEV GENERATION: write the block
put() {
	printf '%04d%4092s' "$2" '' |
		dd of="$1" bs=4k seek=$BLOCK count=1 iflag=fullblock oflag=direct status=none
}

# both: like an application, write generation 2 over the first path, repeat the write over the other
# path if it fails, and after that write generation 3 over the other path
both() {
	put "$dev" 2 2>/dev/null || put "$other" 2 || return 1
	put "$other" 3
}

# one ROUND ATTACH-OPTIONS...: write generation 1, and then generation 2, which the target delays
# while the connection is lost or the disk is deactivated. Except in the gone rounds, write
# generation 3 when the write of generation 2 has ended at the client. Set $found to the generation
# on the disk.
one() {
	local round=$1 pid
	shift
	dev=$(attach disk0 --queues 1 --keepalive 500 "$@") || exit 1
	put "$dev" 1 || die "$round: first write failed"
	lab barrier "first-$round"
	lab barrier "hold-$round"
	case $round in
	path-*)
		# With this long keep-alive interval kill_queue does not act on the session of this
		# disk.
		other=$(attach disk0 --queues 1 --keepalive 60000 --host-id "$(host_id 3)") || exit 1
		both &
		;;
	*) put "$dev" 2 2>/dev/null & ;;
	esac
	pid=$!
	lab barrier "held-$round"
	case $round in
	gone-*)
		rnbd deactivate "$dev" || die "rnbd deactivate failed"
		wait $pid && die "$round: the delayed write succeeded"
		lab barrier "release-$round"
		;;
	*)
		strike rnbd no_hold 0
		[ "$round" != path-hold ] || strike rnbd no_hold 1
		strike rnbd kill_queue 1
		wait_for 20 counter_over "$dev" connections_lost 0
		;;
	esac
	case $round in
	queue-none | path-none)
		# The target answers each ATTACH with BUSY until the delayed write has ended.
		wait_for 20 counter_over "$dev" attempt 3
		need "$dev" held_writes -eq 1
		kill -0 $pid || die "$round: the write has ended"
		if [ "$round" = path-none ] && dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then
			die "$round: a read waits in spite of the policy"
		fi
		lab barrier "release-$round"
		wait $pid || die "$round: I/O error"
		need "$dev" held_writes -eq 0
		need "$dev" resent_requests -eq 1
		;;
	queue-drain)
		wait $pid || die "$round: I/O error in spite of the policy"
		put "$dev" 3 || die "$round: write failed"
		lab barrier "release-$round"
		;;
	path-hold)
		wait $pid || die "$round: the application saw an error on both paths"
		lab barrier "release-$round"
		wait_for 20 counter_over "$dev" reconnects 0
		# The session can be live while the target still answers ATTACH with BUSY because
		# of the old write.
		wait_for 20 grep -qx live "/sys/block/${dev##*/}/rnbd/state"
		;;
	esac
	[ "$round" != queue-none ] || put "$dev" 3 || die "$round: write failed"
	echo "  attempts: $(counter "$dev" attempt), reconnects: $(counter "$dev" reconnects)"
	lab barrier "written-$round" --timeout 60
	lab barrier "checked-$round" --timeout 60
	detach "$dev"
	[ -z "$other" ] || detach "$other"
	other=
	found=$(cat "$SHARED/found-$round")
	echo "$round: generation $found on the disk"
}

other=
one queue-none
[ "$found" = 0003 ] || die "a newer write was overwritten"
one queue-drain
[ "$found" = 0002 ] || die "the data are correct without draining: this test proves nothing"
one gone-none
[ "$found" = 0001 ] || die "a write that had failed was executed later"
one gone-check
[ "$found" = 0002 ] || die "the data are correct without the check: this test proves nothing"
one path-none --policy fail
[ "$found" = 0003 ] || die "a newer write was overwritten over another path"
one path-hold --policy fail
[ "$found" = 0002 ] || die "the data are correct although writes are not held: this test proves nothing"
unload
