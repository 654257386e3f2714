# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers for scripts that run in lab machines. A script starts in its own folder,
# next to this one, and sources them with `. ../lib/lab.sh`.
#
# A test waits for a state or an event with a deadline, never for a bare time.
# On a debug kernel all is slower: deadlines are multiplied by LAB_SLOW, which is
# empty on the stock kernel. A test may shorten its loops there.

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
	wait_quietly "$@" || die "not within $1 s${LAB_SLOW:+ times $LAB_SLOW}: ${*:2}"
}

# wait_quietly SECONDS COMMAND... - the same, only says so by its status
wait_quietly() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * ${LAB_SLOW:-1} * 1000000))

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

# need_counter VALUE RELATION NUMBER WHAT, for example: need_counter "$n" -gt 0 "RDMA READs"
need_counter() {
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
	local where=$1

	shift
	[ "${NODE:?}" != "$where" ] || "$@"
}

# Every barrier of the script, with one default deadline.
barrier() { lab barrier "$1" --timeout "${2:-60}" || die "barrier $1"; }

# tell KEY VALUE... - leave a value for all nodes; told KEY - the value, once a
# node has left it (a barrier between the two makes that sure)
tell() { printf '%s\n' "${*:2}" >"$SHARED/$1"; }
told() { cat "$SHARED/$1"; }
