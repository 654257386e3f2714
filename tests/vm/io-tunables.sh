#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 400
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 2
# short: verified I/O with each optimisation switched off or set to its extreme; counters prove that the setting took effect
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
target_start
export_disk disk0 "$(null_disk 128)"
modprobe rnbd

# param MODULE NAME VALUE: set a module parameter; restore sets all these parameters to their old
# values
saved=()
param() {
	local file=/sys/module/$1/parameters/$2
	saved+=("$file" "$(cat "$file")")
	echo "$3" >"$file" || die "$file rejects $3"
}

restore() {
	set -- "${saved[@]}"
	saved=()
	for ((; $# > 1; )); do
		echo "$2" >"$1"
		shift 2
	done
}

# job NAME FIO-OPTION...: add a job to the next run of fio, which runs its jobs one after the
# other. They share a run because fio is slow to start.
job() {
	jobs+=("--name=$1" --stonewall --filename="$dev" --direct=1 --ioengine=libaio --verify=crc32c-intel
		--verify_fatal=1 --do_verify=1 --verify_backlog=0 --serialize_overlap=0 "${@:2}")
}

# with ATTACH-OPTION...: attach a disk and verify several kinds of I/O; the disk stays attached
# for checks of its counters
with() {
	dev=$(attach disk0 --queues 2 "$@") || exit 1
	jobs=()
	job deep --rw=randwrite --bs=4k --iodepth=32 --size=2m
	job batches --rw=randwrite --bs=4k --iodepth=64 --size=2m --iodepth_batch_submit=8
	job odd --rw=randwrite --bsrange=512-8k --iodepth=32 --size=1m
	job large --rw=write --bs=1m --iodepth=4 --size=8m
	verify "$dev" --rw=randwrite --bs=4k --iodepth=1 --size=512k "${jobs[@]}"
	need "$dev" pool_used -eq 0
	need "$dev" connections_lost -eq 0
}

over() {
	restore
	detach "$dev"
}

echo "default options"
with
need "$dev" inline_writes -gt 100
need "$dev" inline_reads -gt 100
need "$dev" coalesced -gt 100
need "$dev" frames_unsignaled -gt 100
over

# Number of RDMA operations that 8 requests of one page each need; on bnxt_re one operation gathers
# 6 pages.
case ${LAB_ADAPTER-} in
bnxt_re) rdma_ops=2 ;;
*) rdma_ops=1 ;;
esac

# dispatches RW COUNTER: make 100 dispatches of 8 requests each, and check how many frames and RDMA
# operations (COUNTER) they need
dispatches() {
	local name frames replies ops guards requests
	dev=$(attach disk0 --queues 2 --inline-read 0) || exit 1
	for name in requests frames_sent frames_received "$2" read_guards; do
		echo "$name $(counter "$dev" "$name")"
	done >/tmp/before
	taskset -c 0 fio --name=batch --filename="$dev" --direct=1 --ioengine=libaio --rw="$1" \
		--bs=4k --size=64m --norandommap --number_ios=800 --iodepth=8 --iodepth_batch_submit=8 \
		--iodepth_batch_complete_min=8 --iodepth_batch_complete_max=8 >/tmp/fio 2>&1 ||
		die "fio: $(cat /tmp/fio)"
	while read -r name ops; do
		echo "$name $(($(counter "$dev" "$name") - ops))"
	done </tmp/before >/tmp/counted
	cat /tmp/counted
	{
		read -r _ requests && read -r _ frames && read -r _ replies &&
			read -r _ ops && read -r _ guards
	} </tmp/counted
	# Subtract the read guards, which are additional READs on soft-RoCE, see rnbdc_read_guard().
	ops=$((ops - guards))
	[ "$requests" -gt 700 ] || die "no 800 requests"
	# The 4 additional frames are for reads by which fio examines the disk before it starts.
	[ "$frames" -le $((requests / 8 + 4)) ] || die "more than one frame for 8 requests"
	[ "$replies" -le $((requests / 4 + 4)) ] || die "more than two reply frames for 8 requests"
	[ "$ops" -le $((requests * rdma_ops / 8 + 4)) ] ||
		die "more RDMA operations for 8 requests than entries of the device need"
	detach "$dev"
}

echo "one frame, one or two replies and one RDMA operation for the 8 requests of a dispatch (two if it gathers less)"
dispatches randwrite rdma_writes
dispatches randread rdma_reads

echo "requests that arrive one by one do not share frames, and no reply waits for another"
param rnbd gather 65535
param rnbd_target reply_gather 65535
param rnbd_target reply_batch N
with
over

echo "every frame waits for the previous one"
param rnbd gather 1
param rnbd_target reply_gather 1
param rnbd frame_kb 100000
with
over

echo "no RDMA operation serves two requests"
param rnbd coalesce N
with
need "$dev" coalesced -eq 0
over

echo "no inline data"
with --inline-read 0 --inline-write 0
need "$dev" inline_reads -eq 0
need "$dev" inline_writes -eq 0
over

echo "inline data of all that fits a large slot"
param rnbd inline_depth 65535
with --slot-size 16384 --inline-read 8192 --inline-write 8192
need "$dev" inline_reads -gt 100
need "$dev" inline_writes -gt 500
over

echo "every frame is signalled"
param rnbd_core signal_all Y
with
need "$dev" frames_unsignaled -eq 0
over

echo "the storage gets requests on the processor that the frame came in on"
again() {
	rnbd export disable disk0 || die "the export stays enabled"
	rnbd export enable disk0 || die "the export cannot be enabled again"
}
param rnbd_target submit_unbound N
again
with
over
again

echo "early release"
with --early-release
need "$dev" send_fences -gt 0
over

echo "options that are constant stay so, even if their files are made writable"
with
files=/sys/block/$(basename "$dev")/rnbd
for option in transfer queues depth name; do
	before=$(cat "$files/$option")
	chmod u+w "$files/$option"
	echo 1 2>/dev/null >"$files/$option" && die "$option can be changed"
	[ "$(cat "$files/$option")" = "$before" ] || die "$option was changed"
done
echo maybe 2>/dev/null >"$files/early_release" && die "early_release accepts a word"
over

echo "chunks of 32 KiB, and none"
param rnbd chunk_kb 32
with
[ "$(cat "/sys/block/$(basename "$dev")/queue/max_sectors_kb")" = 32 ] || die "chunks are not of 32 KiB"
over
param rnbd chunk_kb 0
with
over

echo "bounce buffers"
with --transfer copy
over
with --transfer copy --inline-read 0 --inline-write 0 --pool 1M --max-io 64K
over
configfs_clear
unload
