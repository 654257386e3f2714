#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1536 --timeout 240
# turns: 2
# short: data move by RDMA WRITE and READ of the client alone; no memory is registered during I/O; the client allows no remote access
. ../lib/lab.sh
. ../lib/rnbd.sh

# The functions that register or invalidate memory
FUNCS="ib_alloc_mr ib_map_mr_sg ib_dereg_mr_user rxe_invalidate_mr rxe_reg_fast_mr"

set_host_id
modprobe -a rnbd rnbd-target
if [ "$NODE" = 1 ]; then
	export_disk disk0 "$(null_disk 128)"
	lab barrier exported
	lab barrier attached
else
	lab barrier exported
	mrs=$(rdma resource show mr | wc -l)
	# The pool has a fixed size, because the growth of a pool registers segments; pool-grow.sh
	# tests the growth.
	dev=$(attach disk0 --inline-read 0 --inline-write 0 --pool-floor fixed) || exit 1
	[ "$(rdma resource show mr | wc -l)" = "$mrs" ] ||
		die "attaching registered memory on the client"
	lab barrier attached
fi

count_opcodes
# shellcheck disable=SC2086
count_calls $FUNCS
lab barrier counting

if [ "$NODE" = 2 ]; then
	verify "$dev" --rw=randwrite --bs=4k --iodepth=32 --size=8m
	verify "$dev" --rw=write --bs=1m --iodepth=4 --size=32m
	echo "counters of $dev:"
	need "$dev" rdma_writes -gt 0
	need "$dev" rdma_reads -gt 0
	need "$dev" rdma_write_bytes -ge $((40 << 20))
	need "$dev" rdma_read_bytes -ge $((40 << 20))
	[ "$(counter "$dev" remote_access)" = 0x0 ] ||
		die "queue pairs of the client allow remote access"
	echo "  remote_access = 0x0 (as the device reports it)"
fi
lab barrier done-io

echo "RoCE packets that arrived here: send $(opcode_count send), RDMA WRITE" \
     "$(opcode_count rdma_write), RDMA READ $(opcode_count rdma_read)," \
     "READ response $(opcode_count read_response)"
if [ "$NODE" = 1 ]; then
	[ "$(opcode_count rdma_write)" -gt 0 ] || die "no RDMA WRITE reached the target"
	[ "$(opcode_count rdma_read)" -gt 0 ] || die "no RDMA READ reached the target"
	[ "$(opcode_count read_response)" = 0 ] || die "the target sent RDMA READs"
else
	[ "$(opcode_count rdma_write)" = 0 ] || die "an RDMA WRITE reached the client"
	[ "$(opcode_count rdma_read)" = 0 ] || die "an RDMA READ reached the client"
	[ "$(opcode_count read_response)" -gt 0 ] || die "no RDMA READ response reached the client"
fi
for f in $FUNCS; do
	echo "calls of $f during I/O: $(calls "$f")"
	[ "$(calls "$f")" = 0 ] || die "$f was called during I/O"
done
lab barrier counted
# Control: another attach registers memory at the target, and the probe must count that.
if [ "$NODE" = 2 ]; then
	detach "$dev"
	dev=$(attach disk0) || exit 1
	detach "$dev"
	[ "$(calls ib_map_mr_sg)" = 0 ] || die "the client registered memory"
	lab barrier detached
else
	lab barrier detached
	[ "$(calls ib_map_mr_sg)" -gt 0 ] || die "the probe on ib_map_mr_sg does not work"
	echo "calls of ib_map_mr_sg for another attach: $(calls ib_map_mr_sg)"
	configfs_clear
fi
