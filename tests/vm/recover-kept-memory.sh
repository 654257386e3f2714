#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 180
# adapter: only
# turns: 3
# without: event, because it makes further reconnects
# short: the client reuses slots, stages and tables of the former connection and pool when it reconnects, and allocates none of them
. ../lib/lab.sh
. ../lib/rnbd.sh

# Writeback can wait for the reconnect, and memory becomes free only by writeback. So the client
# should reconnect without allocating memory. The tracepoint kmalloc shows the allocations of the
# client. The test ignores allocations by the verbs, the connection manager and DMA mapping, because
# each connection needs new queue pairs.
T=/sys/kernel/tracing
LEAST=512	# bytes; no memory of a connection is allocated in smaller pieces
ROUNDS=3

set_host_id
target_start
export_disk disk0 "$(null_disk 64)"
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd
mountpoint -q $T || mount -t tracefs tracefs $T || die "no tracefs"
echo 8192 >$T/buffer_size_kb
echo 1 >$T/options/stacktrace
echo "bytes_alloc >= $LEAST" >$T/events/kmem/kmalloc/filter || die "no trace point"
trace() { echo >$T/trace && echo 1 >$T/events/kmem/kmalloc/enable; }

# allocated NAME: end the trace and print "ALL CONNECTION": the number of all bytes that the client
# has allocated in pieces of at least LEAST bytes, and the number of those for its connections.
# $OUT/allocated.NAME gets a line for each of these allocations.
allocated() {
	echo 0 >$T/events/kmem/kmalloc/enable
	# Two equal numbers ("6/6") show that no event was lost.
	[[ $(grep entries-in-buffer $T/trace) =~ ([0-9]+)/([0-9]+) ]]
	same "${BASH_REMATCH[1]-none}" "${BASH_REMATCH[2]-}" "events in the buffer, of those that happened"
	# Events of several processors are interleaved: a stack trace belongs to the last event of
	# the same processor.
	awk -v list="$OUT/allocated.$1" '
		function processor() { return match($0, /\[[0-9]+\]/) ? substr($0, RSTART, RLENGTH) : "" }
		function ends() {
			if (bytes && client && !foreign) {
				all += bytes
				if (connection) conn += bytes
				print bytes, stack >list
			}
			bytes = 0
		}
		/ kmalloc: / {
			ends()
			for (i = 1; i <= NF; i++)
				if ($i ~ /^bytes_alloc=/) pending[processor()] = substr($i, 13) + 0
			next
		}
		/<stack trace>/ {
			ends()
			bytes = pending[processor()]
			client = foreign = own = connection = 0
			stack = ""
			next
		}
		/ => / && bytes {
			f = $2
			stack = stack " " f
			# An allocation by rnbdc_login_to_target() itself is the table of segments.
			if (!own && f ~ /^rnbdc_login_to_target/) connection = 1
			if (f ~ /^rnbdc?_/) own = 1
			if (f ~ /^rnbdc_/) client = 1
			if (!own && f ~ /^(_*ib_|_*rdma_|cma_|iw_|mdl_|dma_)/) foreign = 1
			if (f ~ /^(rnbd_ring_|rnbdc_queue_alloc|rnbdc_stage_init|rnbdc_orphans_alloc)/) connection = 1
			if (f ~ /^(rnbdc_space_|rnbdc_cache_|rnbd_pool_)/) connection = 1
		}
		END { ends(); printf "%.0f %.0f\n", all, conn }' $T/trace
}
connections_are() { [ "$(counter "$dev" connections)" = "$1" ]; }
live() { [ "$(counter "$dev" state)" = live ] && connections_are 2; }

note "the first connections"
trace
# The login allocates tables of segments and blocks, whose size follows from --pool.
dev=$(attach disk0 --queues 2 --pool 8M --keepalive $((500 * ${LAB_SLOW:-1}))) || exit 1
wait_for 20 live
sums=$(allocated attach) || exit 1
read -r all first <<<"$sums"
note "the client has allocated $all bytes, $first of them for connections"
# If the sum is small, the trace does not see the allocations for connections.
[ "$first" -ge 65536 ] || die "only $first bytes for connections: this test proves nothing"

for ((round = 1; round <= ROUNDS; round++)); do
	# Let the rings grow, so that the kept memory suffices for the slots of a new connection.
	verify "$dev" --rw=randwrite --bs=4k --iodepth=64 --size=8m
	note "reconnect $round"
	lost=$(counter "$dev" connections_lost)
	trace
	strike rnbd kill_queue 1 $((round % 2))
	wait_for 30 counter_over "$dev" connections_lost "$lost"
	wait_for 60 live
	sums=$(allocated "reconnect.$round") || exit 1
	read -r all again <<<"$sums"
	note "the client has allocated $all bytes, $again of them for connections"
	# The allocations of a login that are not for connections are smaller than half of the first
	# sum.
	if [ "$again" -gt 0 ] || [ "$all" -gt $((first / 2)) ]; then
		cat "$OUT/allocated.reconnect.$round"
		die "the reconnect has allocated memory of connections"
	fi
done
echo >$T/events/kmem/kmalloc/filter 0
echo 0 >$T/options/stacktrace
works "$dev"
detach "$dev"
configfs_clear
unload
