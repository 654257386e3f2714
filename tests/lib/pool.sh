# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the tests of pools that grow and shrink: sourced after rnbd.sh.
#
# The attributes of the client have sizes in units of 4 KiB, those of the target in bytes.

SESSIONS=/sys/kernel/rnbd-target/sessions

# param MODULE NAME VALUE: set a parameter of a loaded module
param() { echo "$3" >"/sys/module/$1/parameters/$2" || die "parameter $2 of $1"; }

# session_dir DEV: print the sysfs directory that the target has for the live session of a disk
session_dir() {
	local dir id

	id=$(counter "$1" session_id)
	for dir in "$SESSIONS"/*/; do
		if [ "$(cat "${dir}session_id" 2>/dev/null)" = "$id" ] &&
		   [ "$(cat "${dir}state" 2>/dev/null)" = live ]; then
			echo "$dir"
			return
		fi
	done
	return 1
}

# at_target DEV NAME: print an attribute that the target has for the session of a disk
at_target() {
	local dir

	dir=$(session_dir "$1") && cat "$dir$2"
}

# need_at_target DEV NAME TEST VALUE: fail unless the relation holds for an attribute at the target
need_at_target() { need_counter "$(at_target "$1" "$2")" "$3" "$4" "$1 at the target: $2"; }

# counter_is DEV NAME VALUE, counter_at_most DEV NAME VALUE: succeed if a counter of the disk is
# equal to VALUE, or not greater than VALUE; for wait_for
counter_is() { [ "$(counter "$1" "$2")" = "$3" ]; }
counter_at_most() { [ "$(counter "$1" "$2")" -le "$3" ]; }

# pools_charged: print the bytes that are charged for the pools of all sessions
pools_charged() { cat "$SESSIONS"/*/pool_bytes 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'; }

# reclaiming: succeed if a client has not yet returned all memory that the target reclaims; for
# wait_for; starts no process
reclaiming() {
	local file units

	for file in "$SESSIONS"/*/pool_reclaiming; do
		{ read -r units <"$file"; } 2>/dev/null && [ "$units" -gt 0 ] && return
	done
	return 1
}

# pool_idle DEV: succeed if no request uses the pool of the disk's session, no reclaim is pending,
# the pool has the same size at both ends, and the target charges the session for this size or for
# the floor of the pool, whichever is larger; for wait_for
pool_idle() {
	local size floor

	size=$(at_target "$1" pool_size) && floor=$(at_target "$1" pool_floor) || return
	counter_is "$1" pool_used 0 && [ "$(at_target "$1" pool_reclaiming)" = 0 ] &&
		[ $(($(counter "$1" pool_units) * 4096)) = "$size" ] &&
		[ "$(at_target "$1" pool_bytes)" = $((size > floor ? size : floor)) ]
}

# no_sessions: succeed if the target has no session and no bytes are charged for pools; for wait_for
no_sessions() { [ -z "$(ls "$SESSIONS")" ] && [ "$(pools_charged)" = 0 ]; }

# steadily NAME DISK [FIO-OPTION...]: run fio on DISK in the background until steadily_end NAME
declare -A steady
steadily() {
	fio --name="$1" --filename="$2" --direct=1 --ioengine=libaio --time_based --runtime=3600 \
	    --minimal --output="$OUT/fio.$1" "${@:3}" >/dev/null 2>"$OUT/fio.$1.err" &
	steady[$1]=$!
}
steadily_end() {
	# Do not send SIGINT: fio, as a background process, ignores a SIGINT that arrives before it
	# has installed its handler. fio would continue, and wait would not return.
	kill -TERM "${steady[$1]}" || die "fio $1 has ended: $(cat "$OUT/fio.$1" "$OUT/fio.$1.err")"
	wait "${steady[$1]}"
	if grep -v "terminating on signal" "$OUT/fio.$1.err" | grep .; then die "fio $1 failed"; fi
	unset "steady[$1]"
}

# checker NAME WRITER DISK [GENCHECK-OPTION...]: run the generation checker on DISK in the
# background until checker_end NAME DISK, which fails unless the disk has the expected data
declare -A checkers
checker() {
	gencheck run --journal "/dev/shm/$1" --writer "$2" --time 100000 "${@:4}" "$3" \
		>"$OUT/gencheck.$1" 2>&1 &
	checkers[$1]=$!
}
checker_end() {
	kill "${checkers[$1]}" || die "gencheck on $2 has ended: $(cat "$OUT/gencheck.$1")"
	wait "${checkers[$1]}" || die "$2: $(cat "$OUT/gencheck.$1")"
	gencheck verify --journal "/dev/shm/$1" "$2" >"$OUT/verify.$1" ||
		die "$2: $(cat "$OUT/verify.$1")"
	unset "checkers[$1]"
}
