#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 1024 --timeout 300
# turns: 3
# short: two clients write disjoint halves of one export concurrently, and each reads the other half right; then one host is limited to reads
. ../lib/lab.sh
. ../lib/rnbd.sh

HALF=16
[ -z "$LAB_SLOW" ] || HALF=4
set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk $((2 * HALF)))"
	lab barrier exported
	lab barrier begin
	lab barrier written --timeout 200
	lab barrier halves --timeout 200
	run rnbd export allow disk0 "$(host_id 3)" --read-only
	same "$(rnbd export show disk0 --json | jq -c '[.hosts, .readonly_hosts]')" \
		"[[\"$(host_id 1)\",\"$(host_id 2)\"],[\"$(host_id 3)\"]]" "hosts"
	lab barrier readonly
	lab barrier end --timeout 200
	configfs_clear
	unload
	exit 0
fi

lab barrier exported
dev=$(attach disk0) || exit 1

# half NODE RW [FIO-OPTION...]: write or verify the half of the disk that belongs to node NODE
half() {
	fio --name=half --filename="$dev" --direct=1 --ioengine=libaio --bs=4k --iodepth=16 \
	    --rw="$2" --offset=$((($1 - 2) * HALF))m --size=${HALF}m \
	    --verify=pattern --verify_pattern="%o\"node$1\"" --verify_fatal=1 "${@:3}" \
	    --minimal >/dev/null 2>"$OUT/half.$1.$2.err" ||
		{ cat "$OUT/half.$1.$2.err"; die "$2 of the half of node $1 failed"; }
}

lab barrier begin
half "$NODE" randwrite --do_verify=0
lab barrier written --timeout 200
half $((5 - NODE)) randread
half "$NODE" randread
echo "the half of node $((5 - NODE)) has correct data"
# Control: the check must not find this node's pattern in the other half.
if half2=$(fio --name=half --filename="$dev" --direct=1 --bs=4k --rw=read \
	   --offset=$(((3 - NODE) * HALF))m --size=64k --verify=pattern \
	   --verify_pattern="%o\"node$NODE\"" --verify_fatal=1 --minimal 2>&1); then
	die "the check does not distinguish the halves: $half2"
fi
lab barrier halves --timeout 200
lab barrier readonly
if [ "$NODE" = 3 ]; then
	echo "this host may only read now"
	changed() { rnbd show "$dev" | grep -q 'the export has other properties now'; }
	wait_for 30 changed
	detach "$dev"
	same "$(rnbd discover "$ADDR" --json | jq -r '.[0].readonly')" true "readonly of discover"
	dev=$(attach disk0) || exit 1
	same "$(blockdev --getro "$dev")" 1 "the disk is read-only"
	dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct 2>/dev/null && die "a read-only disk was written"
	half 3 randread
else
	half 2 randwrite --do_verify=0
	half 2 randread
fi
detach "$dev"
lab barrier end --timeout 200
unload
