#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure how much I/O a rogue client with a valid session takes from a well-behaved client; runs in
# a lab machine:
#
#   scripts/lab run --icount --mem 1024 --timeout 3000 tests/bench/rogue.sh [SECONDS]
#
# The target, the well-behaved client, which does as much I/O as it can, and the rogue share one
# emulated processor, which executes one instruction per nanosecond. So all processor time that the
# rogue costs is lost for the I/O of the well-behaved client, independent of the load of the real
# machine. The time of the rogue's own program, which would run on another machine, is reported
# apart. The time of the kernel for the rogue's end of its connections is not reported apart, so
# "the rest" is more than the time of the target. "reader" is no rogue but another well-behaved
# client, with as many requests in flight as the rogue "requests".
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh

seconds=${1:-4}
P=/sys/module/rnbd_target/parameters
T=/sys/kernel/rnbd-target
mkdir -p /etc/rnbd
host_id 3 >/etc/rnbd/hostid
target_start
export_disk good "$(null_disk 64 memory_backed=0 discard=0)" 1 3
export_disk fixed "$(null_disk 64 memory_backed=0 discard=0)" 2 3 -- --read-only
# Allow a burst of only 4 logins: it is used up before the measurement begins, and login_rate then
# limits the logins.
echo 4 >$P/login_burst || die "parameter"
dev=$(attach good --queues 1 --pool 4M) || exit 1

# ran PID: print the nanoseconds that PID was on the processor
ran() { [ -z "$1" ] || awk '{ s += $1 } END { printf "%.0f", s }' /proc/"$1"/task/*/schedstat; }
requests() { counter "$dev" requests; }
# asked: print the number of requests of the other client, which attaches the export "fixed"
asked() {
	local s
	for s in "$T"/sessions/*; do
		[ "$(cat "$s/export" 2>/dev/null)" != fixed ] || cat "$s/requests" 2>/dev/null
	done | awk '{ s += $1 } END { print s + 0 }'
}
logins() { dmesg | grep -c ' logged in on port '; }

# load DEV DEPTH: read continuously with fio, which replaces the shell; call it in the background
load() {
	exec fio --name=good --filename="$1" --direct=1 --ioengine=libaio --iodepth="$2" --bs=4k \
		--rw=randread --iodepth_batch_submit=8 --iodepth_batch_complete_min=1 \
		--time_based --runtime=100000 --minimal >/dev/null
}
load "$dev" 32 &
load=$!
before=$(requests)
wait_for 600 counter_over "$dev" requests $((before + 2000))

# measure WAY LOGINS-PER-MINUTE: print the IOPS of the well-behaved client beside a rogue of the
# kind WAY, beside another reader (reader), or alone (none)
quiet=0
measure() {
	local rogue='' other='' took n own=0 put more in
	echo "$2" >$P/login_rate || die "parameter"
	if [ "$1" = reader ]; then
		other=$(attach fixed --read-only --new-session --queues 1 --pool 4M) || exit 1
		load "$other" 14 &
		rogue=$!
	elif [ "$1" != none ]; then
		rnbd-peer client --rogue "$1" --seconds 100000 >"$OUT/rogue" &
		rogue=$!
	fi
	if [ "$1" != none ]; then
		before=$(requests)
		wait_for 600 counter_over "$dev" requests $((before + 8000))
	fi
	put=$(cat $T/limits/logins) more=$(asked) in=$(logins)
	n=$(requests) own=$(ran "$rogue") took=${EPOCHREALTIME/[.,]/}
	sleep "$seconds"
	own=$(($(ran "$rogue") - own)) n=$(($(requests) - n))
	took=$((${EPOCHREALTIME/[.,]/} - took))
	put=$(($(cat $T/limits/logins) - put)) more=$(($(asked) - more)) in=$(($(logins) - in))
	[ -z "$rogue" ] || { kill $rogue; wait $rogue; }
	[ -z "$other" ] || detach "$other"
	awk -v way="$1" -v rate="$2" -v n="$n" -v us="$took" -v own="$own" -v quiet="$quiet" -v put="$put" -v more="$more" -v in_="$in" 'BEGIN {
		iops = n * 1000000 / us
		share = own / us / 1000
		if (!quiet)
			quiet = iops
		printf "rogue %-8s rate %3d: %6.0f IOPS, %5.1f %% fewer; the rogue program itself %4.1f %%, the rest %5.1f %%; logins %d, refused as busy %d, requests %d\n",
			way, rate, iops, 100 - 100 * iops / quiet, 100 * share,
			100 - 100 * iops / quiet - 100 * share, in_, put, more
		print iops >"/tmp/iops"
	}'
	[ "$quiet" != 0 ] || quiet=$(cat /tmp/iops)
}

measure none 240
measure logins 240
measure logins 0
measure requests 240
measure reader 240
measure none 240
need "$dev" reconnects -eq 0
kill $load
wait $load
detach "$dev"
configfs_clear
unload
