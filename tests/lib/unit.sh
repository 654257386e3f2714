# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the unit tests that are scripts. Such a test counts passed and failed checks, continues
# after a failure, and calls summary at its end.

passed=0 failed=0

pass() { passed=$((passed + 1)); }

# fail TEXT...: count and print a failure
fail() {
	failed=$((failed + 1))
	echo "$*"
}

# same A B WHAT: A and B must be equal
same() {
	if [ "$1" = "$2" ]; then pass; else fail "$3: '$1', not '$2'"; fi
}

# says STATUS TEXT WHAT COMMAND...: COMMAND must exit with STATUS, and its output must contain TEXT
says() {
	local want=$1 text=$2 what=$3 status said

	shift 3
	said=$("$@" 2>&1)
	status=$?
	[ $status = "$want" ] || fail "$what: exit code $status, not $want: $said"
	if [[ $said = *"$text"* ]]; then pass; else fail "$what: prints '$said', not '$text'"; fi
}

summary() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}
