#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 200
# turns: 2
# short: netlink commands that wait block no other netlink family, attach and discover end when their caller is killed; all need CAP_SYS_ADMIN
. ../lib/lab.sh
. ../lib/rnbd.sh

FOREVER=1000000

held() { [ "$(hits rnbd-target "$1")" = "$2" ]; }

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	for n in 1 2; do
		strike rnbd-target delay_login 1 $FOREVER
		barrier "armed-$n"
		wait_for 20 held delay_login $n
		barrier "held-$n"
		barrier "killed-$n" 120
		strike rnbd-target delay_login 0
		wait_for 20 sh -c "! ls /sys/kernel/rnbd-target/sessions | grep -q ."
		barrier "free-$n"
	done
	barrier attached
	strike rnbd-target delay_bio 1 $FOREVER
	barrier armed-3
	wait_for 20 held delay_bio 1
	barrier held-3
	barrier measured
	strike rnbd-target delay_bio 0
	barrier end
	configfs_clear
	unload
	exit 0
fi

# wrong TEXT: record a failure. The test continues, and fails at its end if a failure was recorded.
failures=0
wrong() {
	echo "WRONG: $*"
	failures=$((failures + 1))
}

# Module that registers a generic netlink family; the rest of this test does not use it.
OTHER=drop_monitor
loaded() { [ "$(cat /sys/module/$OTHER/initstate 2>/dev/null)" = live ]; }

# others_work WHAT: while the command WHAT waits, the module $OTHER must be able to register its
# netlink family, and rnbd list must succeed
others_work() {
	local began=${EPOCHREALTIME/[.,]/}

	modprobe $OTHER &
	prober=$!
	if wait_quietly 5 loaded && timeout 5 rnbd list >/dev/null; then
		note "$1: another netlink family was registered in $(((${EPOCHREALTIME/[.,]/} - began) / 1000)) ms"
	else
		wrong "$1: no other family of netlink can be registered"
	fi
}

others_leave() {
	wait $prober || die "modprobe $OTHER failed"
	run modprobe -r $OTHER
}

modprobe rnbd
before=$(rdma_own)

note "an attach and a discovery wait for a target that does not reply"
barrier armed-1
rnbd attach "$ADDR" disk0 >"$OUT/attach" 2>&1 &
waiting=$!
barrier held-1
others_work attach
kill -INT $waiting
kill -TERM $waiting
wait $waiting && die "the command ended without a signal"
wait_for 10 rdma_own_is "$before"
same "$(rnbd list --json | jq length)" 0 "disks"
others_leave
barrier killed-1
barrier free-1

barrier armed-2
rnbd discover "$ADDR" >"$OUT/discover" 2>&1 &
waiting=$!
barrier held-2
others_work discover
kill -KILL $waiting
wait $waiting && die "the command ended without a signal"
wait_for 10 rdma_own_is "$before"
others_leave
barrier killed-2
barrier free-2

note "a detach waits for a write that the storage does not complete"
dev=$(attach disk0) || exit 1
barrier attached
barrier armed-3
dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct 2>/dev/null &
writer=$!
barrier held-3
rnbd detach "$dev" --force >"$OUT/detach" 2>&1 &
waiting=$!
wait_for 10 sh -c "rnbd list --json | jq -e 'length == 0'"
others_work detach
kill -0 $waiting 2>/dev/null || die "the detach did not wait: $(cat "$OUT/detach")"
barrier measured
wait $waiting || die "detach failed: $(cat "$OUT/detach")"
[ ! -e "/sys/block/${dev##*/}" ] || die "$dev is still there"
wait $writer
others_leave

note "another driver uses the name rnbd0, which a caller without /sys cannot see"
modprobe null_blk nr_devices=0 || die "no null_blk"
mkdir /sys/kernel/config/nullb/rnbd0
echo 1 >/sys/kernel/config/nullb/rnbd0/size
echo 1 >/sys/kernel/config/nullb/rnbd0/power
[ -b /dev/rnbd0 ] || die "null_blk has another name"
if dev=$(unshare --mount sh -c "umount -l /sys && exec rnbd attach $ADDR disk0") && [ "$dev" = /dev/rnbd1 ]; then
	works "$dev"
	detach "$dev"
else
	wrong "not attached as rnbd1: $dev"
fi
rmdir /sys/kernel/config/nullb/rnbd0

note "a caller without CAP_SYS_ADMIN"
container="setpriv --bounding-set -sys_admin --inh-caps -sys_admin"
callers=("$container")
# The debug kernel has no user namespaces.
[ ! -e /proc/self/ns/user ] || callers+=("unshare --user --map-root-user")
# not_permitted COMMAND...: COMMAND must fail for a caller that has all capabilities except
# CAP_SYS_ADMIN, and for root of another user namespace
not_permitted() {
	local text as

	for as in "${callers[@]}"; do
		if text=$($as "$@" 2>&1); then
			wrong "$as: not refused: $*"
		elif [[ $text != *ermitted* && $text != *ermission\ denied* ]]; then
			wrong "unexpected message: $text"
		fi
	done
	echo "  $*: $text"
}
not_permitted rnbd attach "$ADDR" disk0
not_permitted rnbd discover "$ADDR"
[ $failures = 0 ] || die "$failures checks failed"
dev=$(attach disk0) || exit 1
files=/sys/block/${dev##*/}/rnbd
not_permitted bash -c "echo 1 >$files/early_release"
not_permitted bash -c "echo 1 >$files/deactivate"
not_permitted rnbd detach "$dev" --force
[ $failures = 0 ] || die "$failures checks failed"
same "$($container rnbd list --json | jq length)" 1 "disks that an unprivileged caller sees"
works "$dev"
detach "$dev"
wait_for 10 rdma_own_is "$before"
unload
barrier end
