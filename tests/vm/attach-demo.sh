#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --disk 1G --timeout 300
# turns: 3
# short: the demo: export, attach, fio with checksums, ext4 with a tree of files, detach, attach and compare; tests/demo/run starts it too
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh

title() { echo "=== $*"; }

# Functions of the RDMA core by which a kernel module registers memory
REGISTRATIONS="ib_alloc_mr ib_map_mr_sg"

# of_session NAME: print a counter of the only session of the target
of_session() { cat /sys/kernel/rnbd-target/sessions/*/"$1"; }

begin_proof() {
	[ "$NODE" = 2 ] || grown=$(of_session pool_registrations)
	count_opcodes
	# shellcheck disable=SC2086 # a list
	count_calls $REGISTRATIONS
}

# end_proof: check how the data was transferred, by the counters of received RoCE packets and of
# calls of kernel functions
end_proof() {
	local f

	if [ "$NODE" = 1 ]; then
		need_counter "$(opcode_count rdma_write)" -gt 0 "target: packets of RDMA WRITE that arrived"
		need_counter "$(opcode_count rdma_read)" -gt 0 "target: requests of RDMA READ that arrived"
	else
		need_counter "$(opcode_count rdma_write)" -eq 0 "client: packets of RDMA WRITE that arrived"
		need_counter "$(opcode_count rdma_read)" -eq 0 "client: requests of RDMA READ that arrived"
		need_counter "$(opcode_count read_response)" -gt 0 "client: packets of RDMA READ responses"
	fi
	# The target registers memory only when the pool of the session grows.
	if [ "$NODE" = 1 ]; then
		grown=$(($(of_session pool_registrations) - grown))
		note "the pool grew by $grown memory regions during $(of_session requests) requests"
	else
		grown=0
	fi
	for f in $REGISTRATIONS; do
		need_counter "$(calls "$f")" -eq "$grown" "calls of $f while I/O ran"
	done
}

# fio_verify BLOCKSIZE SIZE: write at random, read back and verify
fio_verify() {
	title "fio: $2 of random writes of $1, read back and verified"
	run fio --name="verify-$1" --filename="$disk" --rw=randwrite --bs="$1" --size="$2" \
		--ioengine=libaio --iodepth=16 --direct=1 --verify=crc32c --verify_fatal=1 \
		--do_verify=1 --verify_state_save=0 --output-format=json --output="$OUT/fio-$1.json"
	note "$(jq -r '.jobs[0] |
		"read \(.read.io_kbytes) KiB at \(.read.iops | floor) IOPS, " +
		"written \(.write.io_kbytes) KiB at \(.write.iops | floor) IOPS, " +
		"errors \(.error)"' "$OUT/fio-$1.json")"
	same "$(jq '.jobs[0].error' "$OUT/fio-$1.json")" 0 "fio errors"
}

# tree_sum DIR: print one checksum of the names and contents of all files below DIR
tree_sum() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); }

target() {
	barrier ready 120
	title "export /dev/lab/disk0 to the client alone"
	run modprobe rnbd-target
	run rnbd export add disk0 --path /dev/lab/disk0 --host "$(told host)" --port 10.9.0.1
	run rnbd export list
	barrier exported 120
	barrier attached 120
	begin_proof
	barrier counting 120
	barrier io-done 600
	end_proof
	barrier proved 120
	barrier detached 600
	title "remove the export"
	run rnbd export remove disk0 --prune
	run rnbd export list
	run modprobe -r rnbd-target
}

client() {
	run modprobe rnbd
	host=$(rnbd hostid) || die "no host id"
	tell host "$host"
	note "this client is host $host"
	barrier ready 120
	barrier exported 120

	title "attach"
	echo "+ rnbd attach 10.9.0.1 disk0"
	disk=$(rnbd attach 10.9.0.1 disk0) || die "attach"
	note "attached as $disk"
	run rnbd list
	barrier attached 120
	begin_proof
	barrier counting 120

	fio_verify 4k 8m
	fio_verify 1m 64m

	title "a file system with a tree of files"
	run mkfs.ext4 -q -F "$disk"
	run mkdir -p /mnt/demo /tmp/tree
	run mount "$disk" /mnt/demo
	find /usr/share/bash-completion /usr/share/perl /usr/share/perl5 /usr/include/linux \
		-type f -size -256k 2>/dev/null | head -n 2000 | copy_to /tmp/tree
	before=$(tree_sum /tmp/tree)
	note "$(find /tmp/tree -type f | wc -l) files, $(du -sm /tmp/tree | cut -f1) MB, sum ${before%% *}"
	run cp -a /tmp/tree /mnt/demo/
	run umount /mnt/demo
	barrier io-done 600

	title "how the data travelled"
	end_proof
	barrier proved 120

	title "detach, attach again, compare"
	run rnbd detach "${disk#/dev/}"
	[ ! -b "$disk" ] || die "$disk is still there"
	disk=$(rnbd attach 10.9.0.1 disk0) || die "second attach"
	note "attached as $disk"
	run e2fsck -fn "$disk"
	run mount -o ro "$disk" /mnt/demo
	run diff -r /tmp/tree /mnt/demo/tree
	same "$(tree_sum /mnt/demo/tree)" "$before" "checksum of the files"
	note "the files are the same"
	run umount /mnt/demo
	run rnbd detach "${disk#/dev/}"
	run modprobe -r rnbd
	barrier detached 120
}

# copy_to DIR: copy the files named on standard input below DIR
copy_to() { tar -cf - -T - 2>/dev/null | tar -xf - -C "$1"; }

if [ "$NODE" = 1 ]; then target; else client; fi
