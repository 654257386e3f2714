#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Repeat the file system workloads of the paper "High Performance Block I/O for Global File System
# with InfiniBand RDMA"; runs on two lab machines, node 1 is the target.
#
#   files.sh FILE-SYSTEM,... SYSTEM...
#
# Each result is a line of JSON in $OUT/results: fs, system, work, value, unit.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/bench/peers.sh
. ./peers.sh
# shellcheck source=tests/bench/workloads.sh
. ./workloads.sh

TARGET=$ADDR
POSTMARK=2000		# files, and as many transactions
FILEOP=1000		# files for each operation on names
read -ra kinds <<<"${1//,/ }"
shift

set_host_id
if [ "$NODE" = 1 ]; then
	backend=$(null_disk 512) || exit 1
	for sys; do
		peer_export "$sys"
		lab barrier "exported-${sys//+/-}" --timeout 120 || exit 1
		lab barrier "done-${sys//+/-}" --timeout 3600 || exit 1
		peer_unexport "$sys"
	done
	exit 0
fi

backend=/dev/nullb0
mkdir -p $DIR

# names ENGINE WORK: measure operations on names per second
names() {
	fio --name=n --directory=$DIR/names --ioengine="$1" --nrfiles=$FILEOP --filesize=4k --openfiles=1 \
	    --output-format=json >"$OUT/fio.json" 2>"$OUT/fio.err" || die "fio: $(cat "$OUT/fio.err")"
	result "$2" ops/s "$(jq '.jobs[0] | (.read.iops + .write.iops) | round' "$OUT/fio.json")"
}

workloads() {
	local bs
	for bs in 4k 64k 1m; do
		stream "buffered write" $bs write
		stream "buffered write and flush" $bs write --end_fsync=1
		stream "direct write" $bs write --direct=1
		stream "buffered read" $bs read
		stream "direct read" $bs read --direct=1
	done
	mkdir $DIR/names
	cold
	names filecreate "create"
	names filestat "stat"
	names filedelete "delete"
	mkdir $DIR/pm
	cold
	result "postmark, $POSTMARK files, $POSTMARK transactions" s "$(postmarks $DIR/pm $POSTMARK)"
	cold
	result "untar $TREE MB" s "$(seconds untar)"
}

make_tree all
rm -f "$OUT/results"
uname -r >"$OUT/kernel"
for sys; do
	lab barrier "exported-${sys//+/-}" --timeout 120 || exit 1
	peer_attach "$sys" 2
	for fs in "${kinds[@]}"; do
		case $fs in
		ext4) mkfs=(mkfs.ext4 -q -F) ;;
		gfs2) mkfs=(mkfs.gfs2 -O -q -p lock_nolock -j 1) ;;
		*) die "unknown file system: $fs" ;;
		esac
		"${mkfs[@]}" "$dev" >"$OUT/mkfs" 2>&1 </dev/null || die "mkfs of $fs: $(tail -3 "$OUT/mkfs")"
		mount -t "$fs" "$dev" $DIR || die "mount of $fs failed"
		workloads
		umount $DIR || die "umount failed"
	done
	peer_detach "$sys"
	lab barrier "done-${sys//+/-}" || exit 1
done
