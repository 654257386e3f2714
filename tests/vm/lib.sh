# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Helpers for scripts that run in lab machines: `. ./lib.sh` (they start in
# their own folder; tests in other folders source ../vm/lib.sh).
#
# A test waits for a state or an event with a deadline, never for a bare time.

note() { echo "# $*"; }

die() {
	echo "FAILED: $*" >&2
	exit 1
}

# run COMMAND... - show it, then do it; the test ends if it fails
run() {
	echo "+ $*"
	"$@" || die "exit $?: $*"
}

# refused COMMAND... - it must fail; its message is shown
refused() {
	echo "! $*"
	if "$@"; then die "this must be refused: $*"; fi
}

# wait_for SECONDS COMMAND... - until it succeeds, else the test ends
wait_for() {
	wait_quietly "$@" || die "not within $1 s: ${*:2}"
}

# wait_quietly SECONDS COMMAND... - the same, only says so by its status
wait_quietly() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# same A B [WHAT] - two values must be equal
same() {
	[ "$1" = "$2" ] || die "${3:-values differ}: '$1' is not '$2'"
}

# need_counter VALUE RELATION NUMBER WHAT, e.g. need_counter "$n" -gt 0 "RDMA READs"
need_counter() {
	# shellcheck disable=SC1073,SC1072 # the relation is given by name
	if test "$1" "$2" "$3"; then
		note "$4: $1"
	else
		die "$4: $1, wanted $2 $3"
	fi
}

# rdma_resources - how many RDMA objects stand on the link, one line
rdma_resources() { rdma resource show | tr -s ' \n' ' '; }

# on NODE COMMAND... - only there
on() {
	local node=$1

	shift
	[ "$NODE" != "$node" ] || "$@"
}

# Every barrier of the script, with one default deadline.
barrier() { lab barrier "$1" --timeout "${2:-60}" || die "barrier $1"; }

# Opcodes of RoCE v2 packets that come in, counted by nftables: count_opcodes
# once, then opcode_count 0x0c. The opcode is the first byte after the UDP header.
count_opcodes() {
	local op

	modprobe nf_tables 2>/dev/null
	{
		echo "table inet opcodes {"
		echo "chain in { type filter hook prerouting priority -300;"
		for op in 0x04 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d 0x0e 0x0f 0x10 0x11 0x17; do
			echo "udp dport 4791 @th,64,8 $op counter comment \"$op\""
		done
		echo "}; }"
	} | nft -f - || die "cannot count opcodes"
}

opcode_count() {
	local op total=0 n

	for op; do
		n=$(nft list table inet opcodes |
			sed -n "s/.*counter packets \([0-9]*\) .*comment \"$op\".*/\1/p")
		total=$((total + ${n:-0}))
	done
	echo "$total"
}

# Calls of kernel functions, counted by kprobes: count_calls FUNCTION..., then
# call_count FUNCTION.
count_calls() {
	local f t=/sys/kernel/tracing

	for f; do
		echo "p:lab/$f $f" >>$t/kprobe_events || die "cannot probe $f"
		echo 1 >"$t/events/lab/$f/enable" || die "cannot probe $f"
	done
}

call_count() {
	awk -v f="$1" '$1 == f { print $2 }' /sys/kernel/tracing/kprobe_profile
}
