# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Helpers for all commands of the lab: messages, the cache, packages of the host.

: "${RNBD_LAB_CACHE:=/var/cache/rnbd-lab}"

# Exit codes of the lab, by kind of failure; with several, the highest wins.
readonly EXIT_SCRIPT=1 EXIT_LAB=2 EXIT_REPORT=3 EXIT_HUNG=4 EXIT_DIED=5

say() { printf 'lab: %s\n' "$*" >&2; }

die() {
	say "$*"
	exit "$EXIT_LAB"
}

# need_commands COMMAND:PACKAGE...: install the packages whose COMMAND is missing. A COMMAND with a
# slash is a file to look for.
need_commands() {
	local pair want packages=()

	for pair; do
		want=${pair%%:*}
		case $want in
		*/*) [ -e "$want" ] && continue ;;
		*) PATH=$PATH:/usr/sbin:/sbin command -v "$want" >/dev/null && continue ;;
		esac
		packages+=("${pair#*:}")
	done
	[ ${#packages[@]} -eq 0 ] && return 0
	command -v apt-get >/dev/null || die "missing on this machine: ${packages[*]}"
	[ "$(id -u)" = 0 ] || die "missing on this machine (not root, cannot install): ${packages[*]}"
	say "installing on this machine: ${packages[*]}"
	mkdir -p "$RNBD_LAB_CACHE"
	(
		flock 9
		export DEBIAN_FRONTEND=noninteractive
		set -- apt-get install -qq -y --no-install-recommends "${packages[@]}"
		"$@" >"$RNBD_LAB_CACHE/apt.log" 2>&1 ||
			{ apt-get update -qq && "$@"; } >>"$RNBD_LAB_CACHE/apt.log" 2>&1
	) 9>"$RNBD_LAB_CACHE/apt.lock" || {
		tail -n 20 "$RNBD_LAB_CACHE/apt.log" >&2
		die "apt-get could not install ${packages[*]}"
	}
}

need_root() { [ "$(id -u)" = 0 ] || die "must run as root (network namespace, chroot)"; }

# now_ms NAME: set the variable NAME to the milliseconds since the epoch
now_ms() {
	local t=${EPOCHREALTIME/[.,]/}

	printf -v "$1" %d "${t%???}"
}

# logged FILE WHAT COMMAND...: run COMMAND with its output in FILE; if it fails, print the end of
# FILE and exit. With PROGRESS=N, report every minute how many of about N steps of a build are done.
logged() {
	local file=$1 what=$2 start=$SECONDS failed='' reporter=

	shift 2
	say "$what ..."
	if [ -n "${PROGRESS-}" ]; then
		report_progress "$file" "$PROGRESS" &
		reporter=$!
	fi
	# mmdebstrap runs dash, which supports no file descriptor above 9: close 3 to 9, so that
	# dash can use them.
	"$@" >"$file" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- || failed=1
	if [ -n "$reporter" ]; then
		kill "$reporter" 2>/dev/null
		wait "$reporter" 2>/dev/null
	fi
	if [ -n "$failed" ]; then
		tail -n 40 "$file" >&2
		die "failed: $what (all of it: $file)"
	fi
	say "$what: done in $((SECONDS - start)) s"
}

report_progress() {
	local start=$SECONDS

	# Wait 60 s with read: a child process such as sleep could outlive this process.
	while read -rt 60 <> <(:) || kill -0 $$ 2>/dev/null; do
		say "... $(grep -acE '^  [A-Z]+ ' "$1") of about $2 steps after $(((SECONDS - start) / 60)) min"
	done
}

# start_time PID: print the start time of the process in clock ticks since the boot of the host; two
# processes with the same PID have different start times
start_time() {
	local stat

	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086 # fields
	set -- $stat
	echo "${20}"
}
