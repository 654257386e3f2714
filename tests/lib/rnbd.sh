# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the tests that use the product: sourced after lab.sh.
#
# Host ids are fixed per node, so that the target can allow a client that has not started yet. Node
# 1 is the target. Tests on one node use the loopback of soft-RoCE to the node's own address, or two
# modelled adapters (adapter.sh).

CFG=/sys/kernel/config/rnbd
ADDR=10.9.0.1

host_id() { printf '00000000-0000-4000-8000-%012d' "$1"; }

set_host_id() {
	mkdir -p /etc/rnbd
	host_id "$NODE" >/etc/rnbd/hostid
}

# target_start: load the target; nothing is exported yet
target_start() {
	modprobe rnbd-target || die "modprobe rnbd-target failed"
	# The target uses large pages only with drivers that it knows to support them. It does not
	# know the modelled adapter, which supports them.
	[ ! -d /sys/module/rdma_model ] || echo 2 >/sys/module/rnbd_target/parameters/large_pages
}

# export_disk NAME PATH [NODE...] [-- EXPORT-OPTIONS]: export PATH to the hosts of these nodes, by
# default to all
export_disk() {
	local name=$1 path=$2 hosts=() n
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		hosts+=(--host "$(host_id "$1")")
		shift
	done
	[ "${1-}" = -- ] && shift
	if [ ${#hosts[@]} -eq 0 ]; then
		for n in $(seq 1 "$NODES"); do
			hosts+=(--host "$(host_id "$n")")
		done
	fi
	rnbd export add "$name" --path "$path" "${hosts[@]}" --port "$ADDR" "$@" ||
		die "export of $path as $name failed"
}

# null_disk MIB [NULL_BLK-ATTR=VALUE...]: make a memory-backed block device that takes 1024
# requests, more than a disk has in flight; print its path
null_disk() {
	local size=$1 i=0 dir
	shift
	modprobe null_blk nr_devices=0 || die "modprobe null_blk failed"
	while [ -e /sys/kernel/config/nullb/nullb$i ]; do i=$((i + 1)); done
	dir=/sys/kernel/config/nullb/nullb$i
	mkdir "$dir"
	echo "$size" >"$dir/size"
	echo 1 >"$dir/memory_backed"
	echo 1 >"$dir/discard"
	echo 1024 >"$dir/hw_queue_depth"
	for i in "$@"; do echo "${i#*=}" >"$dir/${i%%=*}"; done
	echo 1 >"$dir/power"
	# An I/O scheduler would limit the device to fewer requests in flight.
	echo none >"/sys/block/${dir##*/}/queue/scheduler"
	echo "/dev/$(basename "$dir")"
}

# attach EXPORT [OPTIONS]: attach EXPORT and print the path of the disk
attach() {
	local dev
	modprobe rnbd || die "modprobe rnbd failed"
	dev=$(rnbd attach "$ADDR" "$@") || die "attach of $1 failed"
	echo "$dev"
}

# detach DEV: detach the disk, which must succeed. The command waits up to 2 s (times LAB_SLOW)
# until no program has the disk open, because udev opens a disk for a short time after a program
# has written to it.
detach() {
	rnbd detach "$1" --wait $((2 * ${LAB_SLOW:-1})) || die "detach of $1 failed"
	[ ! -e "/sys/block/$(basename "$1")" ] || die "$1 is still there"
}

# counter DEV NAME: print a counter of the disk. Starts no process: on machines where the start of a
# process takes a second, waiting for counters would take most of the time of a test.
counter() {
	local value
	read -r value <"/sys/block/${1##*/}/rnbd/$2" && echo "$value"
}

# counter_over DEV NAME VALUE: succeed if a counter of the disk is greater than VALUE; for wait_for
counter_over() { [ "$(counter "$1" "$2")" -gt "$3" ]; }

# Disks that share a session show the same counters of frames, requests and reconnects. The
# following helpers look at one disk.

# completed DEV: print the number of requests of the disk that the block layer has completed;
# completed_over DEV VALUE: succeed if this number is greater than VALUE, for wait_for
completed() {
	local f
	read -ra f <"/sys/block/${1##*/}/stat" && echo $((f[0] + f[4] + f[11] + f[15]))
}
completed_over() { [ "$(completed "$1")" -gt "$2" ]; }

# trace_requests on|off: start or stop to trace each request that the target receives
trace_requests() {
	local tracing=/sys/kernel/tracing

	mountpoint -q $tracing || mount -t tracefs tracefs $tracing || die "no tracefs"
	[ "$1" = off ] || echo >$tracing/trace
	echo "$1" | sed 's/on/1/; s/off/0/' >$tracing/events/rnbd_target/rnbdt_request/enable ||
		die "no tracepoint"
}
# write_received: succeed if the target has received a write since tracing began
write_received() { grep -q 'rnbdt_request: .* write offset=' /sys/kernel/tracing/trace; }

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# back_since DEV MS: succeed if the disk is live and became live after MS, a time of now_ms; for
# wait_for. This shows that the disk has been attached again. The counter of reconnects does not
# show this if the session stayed connected.
back_since() {
	local age
	age=$(rnbd list "$1" --json | jq '.[0] | select(.state == "live") | .state_ms') &&
		[ -n "$age" ] && [ "$age" -lt $(($(now_ms) - $2)) ]
}

# need DEV NAME TEST VALUE: fail unless the relation TEST, such as -gt, holds for a counter of the
# disk
need() {
	local have
	have=$(counter "$1" "$2")
	test "$have" "$3" "$4" || die "counter $2 is $have, wanted $3 $4"
	echo "  $2 = $have"
}

debugfs_ready() { mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug; }

# strike MODULE POINT TIMES [ARG]: let a fault point inject its fault the next TIMES times; 0
# disables it. See Documentation/contributing/fault-points.rst.
strike() {
	debugfs_ready
	echo "$3 ${4-0}" >"/sys/kernel/debug/rnbd/$1/$2" || die "no fault point $2"
}

# arm MODULE: write to all fault points of MODULE, because the first write to a fault point patches
# code; call arm before there is load if the test uses strike under load
arm() {
	local point
	debugfs_ready
	for point in "/sys/kernel/debug/rnbd/$1"/*; do
		echo 0 >"$point" || die "no fault point $point"
	done
}

# hits MODULE POINT: print how often a fault point has injected its fault
hits() {
	local text
	read -r text <"/sys/kernel/debug/rnbd/$1/$2" && echo "${text##*hits }"
}

# hit POINT: succeed if this fault point of the target has injected its fault exactly once; for
# wait_for
hit() { [ "$(hits rnbd-target "$1")" = 1 ]; }

# works DEV: write and read 256 KiB; fail on an error
works() {
	dd if=/dev/urandom of="$1" bs=64k count=4 oflag=direct status=none || die "$1: write failed"
	dd if="$1" of=/dev/null bs=64k count=4 iflag=direct status=none || die "$1: read failed"
}

# verify DEV FIO-OPTIONS...: write with checksums, read back, compare
verify() {
	local dev=$1
	shift
	fio --name=verify --filename="$dev" --direct=1 --ioengine=libaio \
	    --verify=crc32c-intel --verify_fatal=1 --do_verify=1 \
	    --verify_backlog=0 --serialize_overlap=0 --group_reporting \
	    --output="$OUT/fio.$$.log" --minimal "$@" >/dev/null 2>"$OUT/fio.$$.err" ||
		{ cat "$OUT/fio.$$.log" "$OUT/fio.$$.err"; die "fio verify $* failed"; }
}

# rdma_own: print the numbers of RDMA objects of this machine, except completion queues, which the
# RDMA core keeps in a pool after their first use
rdma_own() { rdma_resources | sed 's/ cq [0-9]*//g'; }

# rdma_is TEXT, rdma_own_is TEXT: succeed if rdma_resources or rdma_own prints TEXT; for wait_for
rdma_is() { [ "$(rdma_resources)" = "$1" ]; }
rdma_own_is() { [ "$(rdma_own)" = "$1" ]; }

# memory_kernel: print the memory that the kernel has allocated for itself, as lines "NAME NUMBER":
# KiB of pages that no counter in /proc/meminfo accounts for (the pools consist of such pages), KiB
# of vmalloc and per-cpu memory, and the number of objects in each slab cache. Page cache and memory
# of processes are not included, because a leak test must ignore them.
memory_kernel() {
	local f
	sync
	echo 3 >/proc/sys/vm/drop_caches
	# Free pages and objects in per-cpu lists count as used until they are drained.
	echo 1 >/proc/sys/vm/compact_memory
	for f in /sys/kernel/slab/*/shrink; do echo 1 >"$f"; done
	awk '{ v[$1] = $2 }
	     END {
		print "pages", v["MemTotal:"] - v["MemFree:"] - v["Buffers:"] \
			- v["Cached:"] - v["SwapCached:"] - v["AnonPages:"] \
			- v["Slab:"] - v["KernelStack:"] - v["PageTables:"] \
			- v["SecPageTables:"] - v["Percpu:"] - v["VmallocUsed:"]
		print "vmalloc", v["VmallocUsed:"]
		print "percpu", v["Percpu:"]
	     }' /proc/meminfo
	awk 'NR > 2 { print "slab-" $1, $2 }' /proc/slabinfo
}

# device_remove: remove the RDMA device of this node; device_add: add it again
device_remove() {
	local dev=rxe0
	[ -z "${LAB_ADAPTER-}" ] || dev=$(side_device)
	rdma link delete "$dev" || die "rdma link delete failed"
}
device_add() {
	if [ -n "${LAB_ADAPTER-}" ]; then
		adapter_returns "$(side_device)"
	else
		rdma link add rxe0 type rxe netdev eth0
	fi
}

# netem_ready: install netem; netem OPTION...: set how netem treats the packets that leave from now
# on. Call netem_ready before anything is attached: while a qdisc is being installed, the kernel
# refuses packets, and soft-RoCE ends a queue pair whose packet is refused, even the management
# queue pair, which does not recover (Documentation/explanation/soft-roce.rst).
netem_ready() {
	modprobe sch_netem || die "no netem"
	tc qdisc add dev eth0 root netem limit 10000 || die "no netem"
}
# Set "corrupt" each time, because tc change would keep the corruption rate of the previous call.
netem() {
	tc qdisc change dev eth0 root netem limit 10000 corrupt 0% "$@" || die "netem refuses $*"
}
# netem_packets: print how many packets have passed netem
netem_packets() { tc -s qdisc show dev eth0 | sed -n 's/^ Sent .* \([0-9]*\) pkt.*/\1/p'; }

# unload: unload the modules, which must succeed; a session that never logged in can delay this for
# a minute
unload() {
	local m
	for m in ${UNLOADS-rnbd rnbd_target rnbd_core}; do
		if grep -q "^$m " /proc/modules; then
			wait_for 90 rmmod "$m"
		fi
	done
}

# configfs_clear: remove all exports, ports and hosts of this node
configfs_clear() {
	local e
	for e in "$CFG"/exports/*/; do
		[ -d "$e" ] || continue
		rnbd export remove "$(basename "$e")" --prune || die "export remove failed"
	done
	rmdir "$CFG"/ports/* "$CFG"/hosts/* 2>/dev/null
	return 0
}

# configfs_is_empty: succeed if the target has no exports, hosts or ports
configfs_is_empty() { [ -z "$(find "$CFG"/{exports,hosts,ports} -mindepth 1)" ]; }

# count_opcodes: start to count the RoCE packets that arrive at this machine, by their BTH opcode
count_opcodes() {
	nft -f - <<-'EOF'
	table ip rnbd_proof {
		chain input {
			type filter hook input priority 0;
			udp dport 4791 @th,64,8 0x00-0x05 counter comment "send"
			udp dport 4791 @th,64,8 0x06-0x0b counter comment "rdma_write"
			udp dport 4791 @th,64,8 0x0c counter comment "rdma_read"
			udp dport 4791 @th,64,8 0x0d-0x10 counter comment "read_response"
		}
	}
	EOF
}

# opcode_count KIND: print the number of packets of this kind since count_opcodes
opcode_count() {
	nft list table ip rnbd_proof | awk -v kind="\"$1\"" '
		$NF == kind { for (i = 1; i < NF; i++) if ($i == "packets") print $(i + 1) }'
}

# count_calls FUNCTION...: start to count calls of kernel functions
count_calls() {
	local t=/sys/kernel/tracing f
	for f in "$@"; do
		echo "p:rnbdproof/$f $f" >>$t/kprobe_events || die "no kprobe on $f"
	done
	echo 1 >$t/events/rnbdproof/enable
}

# calls FUNCTION: print the number of calls since count_calls
calls() {
	awk -v f="$1" '$1 == f { print $2 }' /sys/kernel/tracing/kprobe_profile
}

# dmesg_has RE: succeed if the kernel log matches; for wait_for
dmesg_has() { dmesg | grep -q "$1"; }

# prometheus_text FILE: fail unless the file has Prometheus' text format. The check is stricter than
# the format: each metric must have HELP, TYPE and then all its samples, each series must occur only
# once, and the buckets of a histogram must not decrease.
prometheus_text() {
	gawk '
	function bad(why) { print FILENAME ":" FNR ": " why ": " $0; wrong = 1; exit 1 }
	{
		name = "[a-zA-Z_:][a-zA-Z0-9_:]*"
		label = "[a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\]|\\\\[\\\\\"n])*\""
		number = "(0|[1-9][0-9]*)([.][0-9]+)?"
	}
	/^# HELP / {
		if ($0 !~ "^# HELP " name " [^ ].*$") bad("HELP")
		if ($3 in help) bad("HELP again")
		if (expect != "help" && expect != "sample") bad("a metric without samples")
		help[$3] = 1; metric = $3; expect = "type"; next
	}
	/^# TYPE / {
		if (expect != "type" || $3 != metric) bad("TYPE without its HELP")
		if ($0 !~ "^# TYPE " name " (counter|gauge|histogram)$") bad("TYPE")
		if (($4 == "counter") != (metric ~ /_total$/)) bad("the name of a counter")
		type = $4; expect = "first"; next
	}
	{
		if (expect != "first" && expect != "sample") bad("sample without its TYPE")
		if ($0 !~ "^" name "([{]" label "(," label ")*[}])? " number "$") bad("sample")
		series = substr($0, 1, match($0, / [0-9.]+$/) - 1)
		if (series in seen) bad("series again")
		seen[series] = 1
		part = series
		sub(/[{].*/, "", part)
		expect = "sample"
	}
	type == "histogram" {
		if (part !~ "^" metric "_(bucket|sum|count)$") bad("sample of another metric")
		whole = series
		sub(/_(bucket|sum|count)[{]/, "{", whole)
		sub(/,le="[^"]*"/, "", whole)
		if (part ~ /_bucket$/) {
			match(series, /le="[^"]*"/)
			le = substr(series, RSTART + 4, RLENGTH - 5)
			if (whole in total && $NF + 0 < total[whole]) bad("bucket below the one before")
			if (le != "+Inf" && whole in bound && le + 0 <= bound[whole]) bad("order of the buckets")
			bound[whole] = le == "+Inf" ? 1e300 : le + 0
			total[whole] = $NF + 0
		} else if (part ~ /_count$/ && (bound[whole] != 1e300 || total[whole] != $NF + 0)) {
			bad("the last bucket is not the count")
		}
		next
	}
	part != metric { bad("sample of another metric") }
	BEGIN { expect = "help" }
	END { if (!wrong && (expect != "sample" || !FNR)) { print FILENAME ": cut short"; exit 1 } }
	' "$1" || die "$1: not in the Prometheus text format"
}

if [ -n "${LAB_ADAPTER-}" ]; then
	# shellcheck source=tests/lib/adapter.sh
	. ../lib/adapter.sh
	adapter_begin "$@"
fi
