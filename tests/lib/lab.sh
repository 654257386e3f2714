# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers for scripts that run in lab machines. The working directory of a script is its own
# directory, which is beside tests/lib, so the script sources the helpers with `. ../lib/lab.sh`.
#
# A test waits for a state or an event with a deadline, never for a fixed time. A debug kernel is
# slower, so deadlines are multiplied by LAB_SLOW, which is empty on the stock kernel. A test may
# shorten its loops on a debug kernel.

note() { echo "# $*"; }

die() {
	echo "FAILED: $*" >&2
	exit 1
}

# run COMMAND...: print COMMAND and run it; the test ends if it fails
run() {
	echo "+ $*"
	"$@" || die "exit $?: $*"
}

# refused COMMAND...: print COMMAND and run it; the test ends unless it fails
refused() {
	echo "! $*"
	if "$@"; then die "not refused: $*"; fi
}

# wait_for SECONDS COMMAND...: wait until COMMAND succeeds; the test fails after SECONDS, which are
# multiplied by LAB_SLOW
wait_for() {
	wait_quietly "$@" || die "not within $1 s${LAB_SLOW:+ times $LAB_SLOW}: ${*:2}"
}

# wait_quietly SECONDS COMMAND...: as wait_for, but return 1 instead of ending the test
wait_quietly() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * ${LAB_SLOW:-1} * 1000000))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# same A B [WHAT]: fail unless the two values are equal
same() {
	[ "$1" = "$2" ] || die "${3:-values differ}: '$1' is not '$2'"
}

# need_counter VALUE RELATION NUMBER WHAT: fail unless the relation between VALUE and NUMBER holds;
# for example: need_counter "$n" -gt 0 "RDMA READs"
need_counter() {
	if test "$1" "$2" "$3"; then
		note "$4: $1"
	else
		die "$4: $1, wanted $2 $3"
	fi
}

# rdma_resources: print the number of RDMA objects of each kind in one line
rdma_resources() { rdma resource show | tr -s ' \n' ' '; }

# on NODE COMMAND...: run COMMAND on that node only
on() {
	local where=$1

	shift
	[ "${NODE:?}" != "$where" ] || "$@"
}

# barrier NAME [SECONDS]: wait until all nodes have reached barrier NAME, by default at most 60 s
barrier() { lab barrier "$1" --timeout "${2:-60}" || die "barrier $1"; }

# tell KEY VALUE...: store a value for all nodes; told KEY: print the value. A barrier between the
# two ensures that the value exists.
tell() { printf '%s\n' "${*:2}" >"$SHARED/$1"; }
told() { cat "$SHARED/$1"; }
