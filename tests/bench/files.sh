#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The file system workloads of "High Performance Block I/O for Global File System with
# InfiniBand RDMA", redone: runs on two lab machines, node 1 is the target.
#
#   files.sh FILE-SYSTEM,... SYSTEM...
#
# Each result is a line of JSON in $OUT/results: fs, system, work, value, unit.
# shellcheck source=tests/vm/lib.sh
. ../vm/lib.sh
# shellcheck source=tests/vm/rnbd.sh
. ../vm/rnbd.sh
# shellcheck source=tests/bench/peers.sh
. ./peers.sh

TARGET=$ADDR
SIZE=32m		# of the file that is written and read
POSTMARK=2000		# files, and transactions
TREE=50			# MB of the tree that is untarred
FILEOP=1000		# files of each operation on names
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
mkdir -p /mnt/t

# result WORK UNIT VALUE
result() {
	jq -nc --arg fs "$fs" --arg system "$sys" --arg work "$1" --arg unit "$2" \
		--argjson value "$3" '{ $fs, $system, $work, $unit, $value }' >>"$OUT/results" ||
		die "$1: $3 is no number"
	lab log "$sys $fs: $1: $3 $2"
}

cold() {
	sync -f /mnt/t
	echo 3 >/proc/sys/vm/drop_caches
}

# stream WORK BS RW FIO-OPTIONS...: MB/s of one file
stream() {
	local work=$1 bs=$2 rw=$3 value
	shift 3
	cold
	fio --name=f --directory=/mnt/t --filename=stream --rw="$rw" --bs="$bs" --size=$SIZE --ioengine=psync \
	    --output-format=json "$@" >"$OUT/fio.json" 2>"$OUT/fio.err" || die "fio: $(cat "$OUT/fio.err")"
	value=$(jq '.jobs[0] | (.read.bw_bytes + .write.bw_bytes) / 1e6 | . * 10 | round / 10' "$OUT/fio.json")
	result "$work $bs" MB/s "$value"
}

# names ENGINE WORK: operations on names per second
names() {
	fio --name=n --directory=/mnt/t/names --ioengine="$1" --nrfiles=$FILEOP --filesize=4k --openfiles=1 \
	    --output-format=json >"$OUT/fio.json" 2>"$OUT/fio.err" || die "fio: $(cat "$OUT/fio.err")"
	result "$2" ops/s "$(jq '.jobs[0] | (.read.iops + .write.iops) | round' "$OUT/fio.json")"
}

# seconds COMMAND...
seconds() {
	local start=${EPOCHREALTIME/[.,]/} took
	"$@" >"$OUT/log" 2>&1 || die "$*: $(tail -3 "$OUT/log")"
	took=$((${EPOCHREALTIME/[.,]/} - start))
	echo "$((took / 1000000)).$(printf %02d $((took % 1000000 / 10000)))"
}

untar() { tar -C /mnt/t -xf /dev/shm/tree.tar && sync -f /mnt/t; }

workloads() {
	local bs
	for bs in 4k 64k 1m; do
		stream "buffered write" $bs write
		stream "buffered write and flush" $bs write --end_fsync=1
		stream "direct write" $bs write --direct=1
		stream "buffered read" $bs read
		stream "direct read" $bs read --direct=1
	done
	mkdir /mnt/t/names
	cold
	names filecreate "create"
	names filestat "stat"
	names filedelete "delete"
	mkdir /mnt/t/pm
	cold
	printf 'set number %d\nset transactions %d\nset location /mnt/t/pm\nset seed 7\nrun %s\nquit\n' \
		$POSTMARK $POSTMARK "$OUT/postmark" >/tmp/pm.conf
	result "postmark, $POSTMARK files, $POSTMARK transactions" s "$(seconds postmark /tmp/pm.conf)"
	cold
	result "untar $TREE MB" s "$(seconds untar)"
}

# a tree of about TREE MB, from what is there, the same for all
make_tree() {
	mkdir -p /dev/shm/tree
	cp -a /usr/share/zoneinfo /usr/include /usr/share/perl /usr/share/doc /dev/shm/tree/ 2>/dev/null
	while [ "$(du -sm /dev/shm/tree | cut -f1)" -lt $TREE ]; do
		cp -a /usr/share/zoneinfo "/dev/shm/tree/more$((i++))"
	done
	tar -C /dev/shm -cf /dev/shm/tree.tar tree
	rm -rf /dev/shm/tree
}

i=0
make_tree
rm -f "$OUT/results"
uname -r >"$OUT/kernel"
for sys; do
	lab barrier "exported-${sys//+/-}" --timeout 120 || exit 1
	peer_attach "$sys" 2
	for fs in "${kinds[@]}"; do
		case $fs in
		ext4) mkfs=(mkfs.ext4 -q -F) ;;
		gfs2) mkfs=(mkfs.gfs2 -O -q -p lock_nolock -j 1) ;;
		*) die "what is $fs?" ;;
		esac
		"${mkfs[@]}" "$dev" >"$OUT/mkfs" 2>&1 </dev/null || die "mkfs of $fs: $(tail -3 "$OUT/mkfs")"
		mount -t "$fs" "$dev" /mnt/t || die "mount of $fs failed"
		workloads
		umount /mnt/t || die "umount failed"
	done
	peer_detach "$sys"
	lab barrier "done-${sys//+/-}" || exit 1
done
