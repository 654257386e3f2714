#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 1024 --timeout 300
# short: two clients write disjoint halves of one export at once, each reads the other's half right
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
	lab barrier end --timeout 200
	configfs_clear
	unload
	exit 0
fi

lab barrier exported
dev=$(attach disk0) || exit 1

# half NODE RW: write or verify the half that belongs to a node
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
echo "the half of node $((5 - NODE)) reads right"
# the check can fail: our own pattern is not what lies in the other half
if half2=$(fio --name=half --filename="$dev" --direct=1 --bs=4k --rw=read \
	   --offset=$(((3 - NODE) * HALF))m --size=64k --verify=pattern \
	   --verify_pattern="%o\"node$NODE\"" --verify_fatal=1 --minimal 2>&1); then
	die "the check does not tell the halves apart: $half2"
fi
detach "$dev"
lab barrier end --timeout 200
unload
