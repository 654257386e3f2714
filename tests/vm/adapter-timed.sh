#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --icount --mem 1024 --timeout 400
# kernel: stock
# adapter: own
# turns: 2
# short: a timed modelled adapter adds its configured round-trip time to the latency of inline reads, pool reads and writes
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

# With --icount the clock of the machine counts instructions, so the load of the lab host does not
# change the measured times. All times of the adapter are multiplied by 100, so that the
# instructions of client and target take little time in comparison.
ADDR=$MDL_TARGET
SLOW=100
WINDOW=$MDL_DEBUG/window
set_host_id
adapter_load dma=direct timed=Y slowdown=$SLOW round_trip_ns=2500
adapter_up profile=mlx5
disk=$(null_disk 64) || exit 1
target_start
export_disk disk0 "$disk"

value() { awk -v name="$1" '$1 == name { print $2 }' "$OUT/window"; }

# latency RW COUNT OPTION...: measure COUNT requests of 4 KiB at depth 1; set lat to their median
# latency in us, divided by SLOW
latency() {
	local dev
	dev=$(attach disk0 --queues 1 "${@:3}") || exit 1
	echo "${dev##*/} rw 50 $2" >"$WINDOW" || die "the model does not measure"
	run fio --name=t --filename="$dev" --direct=1 --ioengine=libaio --rw="$1" --bs=4k \
	    --iodepth=1 --size=32m --number_ios=$(($2 + 80)) --minimal --output=/dev/null
	timeout 60 cat "$WINDOW" >"$OUT/window" || die "the measurement does not end"
	detach "$dev"
	lat=$(($(value latency_p50_ns) / SLOW / 1000))
	note "$1 ${*:3}: $lat us, of $(value ios) requests"
	same "$(value ios)" "$2" "requests that were measured"
}

# between VALUE LOW HIGH WHAT: fail unless LOW <= VALUE <= HIGH
between() {
	if [ "$1" -lt "$2" ] || [ "$1" -gt "$3" ]; then die "$4: $1, not $2 to $3"; fi
	echo "  $4: $1"
}

note "round trip of 2.5 us"
latency randread 300
inline=$lat
latency randread 300 --inline-read 0
pool=$lat
latency randwrite 300 --inline-write 0
write=$lat

note "round trip of 50 us"
configfs_clear
unload
adapter_again round_trip_ns=50000
target_start
export_disk disk0 "$disk"
latency randread 300
# An inline read takes one round trip: the request travels one way, and the reply with the data the
# other way.
between $((lat - inline)) 42 54 "an inline read takes longer by us"
latency randread 300 --inline-read 0
# A read through the pool takes two round trips: one for request and reply, and one for the RDMA
# READ.
between $((lat - pool)) 86 108 "a read through the pool takes longer by us"
latency randwrite 300 --inline-write 0
# A write through the pool takes one round trip: the client sends the RDMA WRITE and the request
# together, without a wait between them.
between $((lat - write)) 42 58 "a write takes longer by us"

own_adapter_end
