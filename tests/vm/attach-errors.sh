#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 1 --mem 1024 --timeout 200
# short: an attach that must fail prints one line with the reason and leaves no disk and no RDMA objects behind
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 64)
	export_disk disk0 "$disk" 2
	export_disk secret "$(null_disk 16)" 3
	# Host 4 may have 64 KiB of pool memory, and its first session takes all of it.
	mkdir "$CFG/hosts/$(host_id 4)"
	echo 65536 >"$CFG/hosts/$(host_id 4)/max_pool_bytes"
	export_disk small "$(null_disk 16)" 4
	export_disk other "$(null_disk 16)" 4
	lab barrier exported
	lab barrier end --timeout 150
	configfs_clear
	[ -z "$(ls "$CFG/exports")" ] || die "exports are left over"
	unload
	exit 0
fi

modprobe rnbd
lab barrier exported
before=$(rdma_own)

# refuse PATTERN ATTACH-ARGUMENT...: rnbd attach must fail with one line that matches PATTERN, and
# leave no disk and no RDMA objects
refuse() {
	local want=$1 text
	shift
	if text=$(rnbd attach "$@" 2>&1); then
		die "attach $* succeeded: $text"
	fi
	[ "$(echo "$text" | wc -l)" = 1 ] || die "attach $*: more than one line: $text"
	echo "$text" | grep -qi "$want" || die "attach $*: unexpected message: $text"
	echo "  $text"
	[ "$(rdma_own)" = "$before" ] ||
		wait_for 5 rdma_own_is "$before"
	[ -z "$(ls -d /sys/block/rnbd* 2>/dev/null)" ] || die "a disk is left over"
}

refuse 'no such\|offers no' 10.9.0.1 nosuch
refuse 'not allowed\|no such' 10.9.0.1 secret
refuse 'not allowed' 10.9.0.1 disk0 --host-id "$(host_id 9)"
refuse 'listens' 10.9.0.1:4999 disk0
refuse 'answer\|reach\|resolve\|route' 10.9.0.77 disk0
refuse 'answer\|reach\|resolve\|route' 192.0.2.1 disk0
refuse 'name' 10.9.0.1 'bad/name'
refuse 'slot' 10.9.0.1 disk0 --slot-size 100
refuse 'max-io' 10.9.0.1 disk0 --max-io 1000
refuse 'at least 4 keep-alive intervals' 10.9.0.1 disk0 --loss-timeout 8
refuse 'at least 4 keep-alive intervals' 10.9.0.1 disk0 --loss-timeout 240 --keepalive 60000

echo "a valid attach works afterwards"
dev=$(attach disk0) || exit 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=8 --size=1m

echo "no memory is left for pools"
small=$(attach small --queues 1 --max-io 32K --host-id "$(host_id 4)") || exit 1
need "$small" pool_units -eq 16
if text=$(rnbd attach "$ADDR" other --new-session --queues 1 --host-id "$(host_id 4)" 2>&1); then
	die "a second pool was granted"
fi
echo "  $text"
echo "$text" | grep -q pool || die "unexpected message: $text"

echo "a host attaches an export once"
start=$SECONDS
# Attach an export once more: in the existing session, in a new session, and as host 4, whose limit
# leaves no pool memory for a new session.
for twice in "disk0 2" "disk0 2 --new-session" "small 4"; do
	read -r export id option <<<"$twice"
	# shellcheck disable=SC2086 # an option, or none
	if text=$(rnbd attach "$ADDR" "$export" --queues 1 --read-only --host-id "$(host_id "$id")" $option 2>&1); then
		die "$export is attached twice"
	fi
	echo "  $text"
	echo "$text" | grep -q 'has the export attached; detach that disk' || die "unexpected message: $text"
done
[ $((SECONDS - start)) -lt $((10 * ${LAB_SLOW:-1})) ] || die "the tool retried"
works "$dev"
need "$dev" connections_lost -eq 0
detach "$small"

echo "an open disk is not detached without force"
exec 5<"$dev"
if text=$(rnbd detach "$dev" 2>&1); then die "an open disk was detached"; fi
echo "  $text"
echo "$text" | grep -q 'in use' || die "unexpected message: $text"
rnbd detach "$dev" --force || die "detach --force failed"
if dd if=/dev/fd/5 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then
	die "a detached disk still reads"
fi
exec 5<&-
if text=$(rnbd detach rnbd7 2>&1); then die "a nonexistent disk was detached"; fi
echo "  $text"
[ "$(rdma_own)" = "$before" ] || die "left over: $(rdma_own)"
lab barrier end
unload
