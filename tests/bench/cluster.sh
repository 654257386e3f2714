#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Repeat the workloads that papers on shared storage use: sequential streams like those of IOzone,
# the random reads of a web server, postmark and untar. Each runs on one node of a cluster file
# system and then on two nodes concurrently. Runs on three lab machines; node 1 is the target.
#
#   cluster.sh FILE-SYSTEM,... SYSTEM...
#
# Each result is a line of JSON in $OUT/results of node 2: fs, system, work, value, unit. For two
# nodes the value is the sum of their MB/s, or the seconds of the slower one.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/bench/peers.sh
. ./peers.sh
# shellcheck source=tests/bench/workloads.sh
. ./workloads.sh

TARGET=10.9.0.1
WEB_FILES=500		# files of 16 KiB each
POSTMARK=300		# files, and as many transactions
FILES=300		# files in the archive that untar unpacks
SIZE=32m
read -ra kinds <<<"${1//,/ }"
shift

set_host_id
if [ "$NODE" = 1 ]; then
	backend=$(null_disk 700) || exit 1
	for sys; do
		peer_export "$sys"
		lab barrier "exported-${sys//+/-}" --timeout 300 || exit 1
		lab barrier "done-${sys//+/-}" --timeout 3600 || exit 1
		peer_unexport "$sys"
	done
	exit 0
fi

both() { lab barrier "$1" --nodes 2,3 --timeout "${2:-300}" || die "barrier $1"; }

# together LAST WORK UNIT COMMAND...: run COMMAND, which prints a number, on nodes 2 to LAST
# concurrently, and record the result
together() {
	local last=$1 work=$2 unit=$3 value

	shift 3
	cold
	both begin
	if [ "$NODE" -le "$last" ]; then "$@" >"$SHARED/value.$NODE"; fi
	both end 1200
	[ "$NODE" = 2 ] || return 0
	value=$(<"$SHARED/value.2")
	[ "$last" = 2 ] || value=$(jq -s --arg unit "$unit" \
		'if $unit == "s" then max else add * 10 | round / 10 end' "$SHARED/value.2" "$SHARED/value.3")
	result "$work, nodes: $((last - 1))" "$unit" "$value"
}

own() { megabytes --filename="stream.$NODE" --size=$SIZE "$@"; }
shared() { megabytes --filename=stream.2 --size=$SIZE "$@"; }
web() { megabytes --directory="$DIR/web.$NODE" --nrfiles=$WEB_FILES --filesize=16k --openfiles=50 "$@"; }

workloads() {
	local n bs

	mkdir "$DIR/web.$NODE" "$DIR/pm.$NODE" "$DIR/tree.$NODE"
	# Node 2 alone, then both nodes
	for n in 2 3; do
		for bs in 4k 64k; do
			together $n "write and flush $bs" MB/s own --rw=write --bs=$bs --end_fsync=1
			together $n "read $bs" MB/s own --rw=read --bs=$bs
		done
		together $n "direct write 64k" MB/s own --rw=write --bs=64k --direct=1
		together $n "direct read 64k" MB/s own --rw=read --bs=64k --direct=1
		together $n "read 64k of one file" MB/s shared --rw=read --bs=64k
		together $n "create web files" MB/s web --rw=write --bs=16k --end_fsync=1
		together $n "read web files at random" MB/s web --rw=randread --bs=16k --file_service_type=random
		together $n "postmark $POSTMARK" s postmarks "$DIR/pm.$NODE" $POSTMARK
		together $n "untar $FILES files" s seconds untar "$DIR/tree.$NODE"
		rm -rf "${DIR:?}/tree.$NODE"/*
	done
}

ocfs2_start() {
	mkdir -p /etc/ocfs2
	printf 'cluster:\n\tnode_count = 2\n\theartbeat_mode = local\n\tname = bench\n' >/etc/ocfs2/cluster.conf
	printf '\nnode:\n\tip_port = 7777\n\tip_address = 10.9.0.%d\n\tnumber = %d\n\tname = n%d\n\tcluster = bench\n' \
		2 2 2 3 3 3 >>/etc/ocfs2/cluster.conf
	modprobe -a ocfs2_stack_o2cb ocfs2_dlmfs || die "no ocfs2"
	echo o2cb >/sys/fs/ocfs2/cluster_stack
	o2cb register-cluster bench || die "o2cb"
}

gfs2_start() {
	local link

	mkdir -p /var/log/corosync /var/lib/corosync /run/dlm_controld /var/log/dlm_controld /dev/misc /etc/corosync /etc/dlm
	cat >/etc/corosync/corosync.conf <<-END
		totem {
		  version: 2
		  cluster_name: bench
		  transport: knet
		  token: 20000
		  crypto_cipher: none
		  crypto_hash: none
		}
		nodelist {
		  node {
		    ring0_addr: 10.9.0.2
		    name: n2
		    nodeid: 2
		  }
		  node {
		    ring0_addr: 10.9.0.3
		    name: n3
		    nodeid: 3
		  }
		}
		quorum {
		  provider: corosync_votequorum
		  two_node: 1
		}
		system {
		  sched_rr: no
		}
	END
	# No node fails in this benchmark, so no fencing agent is needed.
	echo enable_fencing=0 >/etc/dlm/dlm.conf
	modprobe -a dlm gfs2 || die "no gfs2"
	for link in dlm-control dlm-monitor dlm_plock; do ln -sf ../$link /dev/misc/$link; done
	corosync -f >"$OUT/corosync" 2>&1 &
	wait_for 120 corosync-quorumtool -s
	dlm_controld -D >"$OUT/dlm_controld" 2>&1 &
	wait_for 60 dlm_tool status
}

# make_fs FILE-SYSTEM: make the file system on the shared disk; only one node calls this function
make_fs() {
	case $1 in
	ocfs2) mkfs.ocfs2 -q -N 2 --cluster-stack=o2cb --cluster-name=bench --force "$dev" ;;
	gfs2) mkfs.gfs2 -O -q -p lock_dlm -t bench:bench -j 2 -J 32 "$dev" ;;
	esac >"$OUT/mkfs" 2>&1 </dev/null || die "mkfs of $1: $(tail -3 "$OUT/mkfs")"
}

backend=/dev/nullb0
mkdir -p "$DIR"
make_tree $FILES
rm -f "$OUT/results"
uname -r >"$OUT/kernel"
for fs in "${kinds[@]}"; do
	case $fs in
	ocfs2 | gfs2) "${fs}_start" ;;
	*) die "unknown file system: $fs" ;;
	esac
done
for sys; do
	lab barrier "exported-${sys//+/-}" --timeout 300 || exit 1
	peer_attach "$sys" 1
	for fs in "${kinds[@]}"; do
		[ "$NODE" = 3 ] || make_fs "$fs"
		both made
		mount -t "$fs" "$dev" "$DIR" || die "mount of $fs failed"
		both mounted
		workloads
		both worked
		umount "$DIR" || die "umount failed"
		both unmounted
	done
	peer_detach "$sys"
	lab barrier "done-${sys//+/-}" || exit 1
done
