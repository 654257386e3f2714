#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 1 --mem 1024 --timeout 400
# short: text and JSON output of the tool is byte for byte that of the golden files in tests/vm/golden
. ../lib/lab.sh
. ../lib/rnbd.sh

# The output goes to $OUT/golden. Values that differ between runs are masked. "Golden files" in
# Documentation/contributing/tests.rst describes how to update tests/vm/golden from it.
GOLDEN=golden
mkdir -p "$OUT/golden"

# mask: replace times, counters and UUIDs, but not the UUIDs that host_id returns
mask() {
	sed -E 's/\b00000000-0000-4000-8000-([0-9]{12})\b/<host>\1/g
		s/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/<uuid>/g
		s/<host>/00000000-0000-4000-8000-/g
		s/\b[0-9]{4}-[0-9]{2}-[0-9]{2}([ T])[0-9:]{8}(\.[0-9]+)?/<date>\1<time>/g
		s/^rnbd [0-9.]+ - /rnbd <version> - /
		s/("(seconds|live_seconds|requests|read_bytes|write_bytes|next_try_ms|attached_ms|state_ms|pool_registrations)": ?)[0-9]+(\.[0-9]+)?/\1<number>/g'
}

# golden NAME COMMAND...: store the masked output of the command as golden file NAME
golden() {
	local name=$1
	shift
	"$@" >"$OUT/raw.$name" || die "exit $?: $*"
	mask <"$OUT/raw.$name" >"$OUT/golden/$name"
}

# golden_columns NAME HEAD... -- COMMAND...: do the same for a command that prints a table. Mask the
# columns with these heads, and replace several blanks by one, because the width of these columns
# varies.
golden_columns() {
	local name=$1 heads=
	shift
	while [ "$1" != -- ]; do
		heads+=" $1"
		shift
	done
	shift
	"$@" >"$OUT/raw.$name" || die "exit $?: $*"
	mask <"$OUT/raw.$name" | awk -v heads="$heads " '
		NR == 1 { for (i = 1; i <= NF; i++) masked[i] = index(heads, " " $i " ") }
		{ for (i = 1; i <= NF; i++) if (NR > 1 && masked[i]) $i = "<" masked[i] ">"; $1 = $1; print }
	' | sed -E 's/<[0-9]+>/<number>/g' >"$OUT/golden/$name"
}

# shown COMMAND...: print the output of the command; mask the times, and the counters at the end of
# the output, and replace several blanks by one
shown() {
	"$@" >"$OUT/raw.shown" || return
	sed -E '/counters/,$ s/[0-9]+(,?)$/<number>\1/
		s/^( *(in this state|attached):? ).*/\1<time>/
		s/ +/ /g' "$OUT/raw.shown"
}

# counted COMMAND...: print the output of the command; mask all numbers, and replace several blanks
# by one
counted() {
	"$@" >"$OUT/raw.counted" || return
	mask <"$OUT/raw.counted" | sed -E 's/\b[0-9]+(\.[0-9]+)?\b/<number>/g; s/ +/ /g'
}

# Print only the last bucket of each histogram, because all buckets look the same when their bounds
# are masked.
prometheus() { rnbd stat --prometheus | grep -v 'le="[0-9]'; }

all_help() {
	local command
	rnbd help
	rnbd help | sed -n 's/^  \([a-z]\+ \?[a-z-]*\)  .*/\1/p' | while read -r command; do
		printf '\n'
		# shellcheck disable=SC2086 # one word or two
		rnbd help $command
	done
}

golden help.txt all_help

set_host_id
golden hostid.txt rnbd hostid
golden hostid.json rnbd hostid --json
target_start
modprobe rnbd || die "modprobe rnbd failed"
golden empty-list.txt rnbd list
golden empty-list.json rnbd list --json
golden empty-export-list.txt rnbd export list
golden empty-export-list.json rnbd export list --json
golden empty-session-list.txt rnbd session list
golden empty-session-list.json rnbd session list --json

first=$(null_disk 64) && second=$(null_disk 16) || exit 1
export_disk disk0 "$first" 1 2
export_disk archive "$second" 1 -- --read-only
golden export-list.txt rnbd export list
golden export-list.json rnbd export list --json
golden export-list-one.json rnbd export list archive --json
golden export-show.txt rnbd export show disk0
golden export-show.json rnbd export show disk0 --json
golden export-stat.txt rnbd export stat
golden export-stat.json rnbd export stat --json
golden host-stat.txt rnbd host stat
golden host-stat.json rnbd host stat --json
golden host-list.txt rnbd host list
golden host-list.json rnbd host list --json
golden fenced.txt rnbd fenced
golden fenced.json rnbd fenced --json
golden port-list.txt rnbd port list
golden port-list.json rnbd port list --json
golden save.json rnbd save -
golden discover.txt rnbd discover "$ADDR"
golden discover.json rnbd discover "$ADDR" --json
golden attach.txt rnbd attach "$ADDR" disk0
golden attach.json rnbd attach "$ADDR" archive --name old --json --pool 16M --queue-depth 64 --new-session
golden list.txt rnbd list
golden list.json rnbd list --json
golden list-one.txt rnbd list rnbd1
golden show.txt shown rnbd show rnbd1
golden show.json shown rnbd show rnbd1 --json
golden stat.txt counted rnbd stat
golden stat.json counted rnbd stat --json
golden stat.prom counted prometheus
golden session-list-client.txt shown rnbd session list --client
golden_columns session-list.txt REQUESTS READ WRITTEN -- rnbd session list --target
golden session-list.json rnbd session list --json

rnbd monitor >"$OUT/monitor.txt" 2>>"$OUT/monitor.err" &
monitors=$!
rnbd monitor --json >"$OUT/monitor.json" 2>>"$OUT/monitor.err" &
monitors+=" $!"
heard() { [ "$(grep -c 'listening to rnbd$' "$OUT/monitor.err")" = 2 ]; }
told() { grep -q 'closing' "$OUT/monitor.txt" && grep -q '"closing"' "$OUT/monitor.json"; }
wait_for 10 heard
golden detach.txt rnbd detach rnbd1
wait_for 10 told
# shellcheck disable=SC2086 # two
kill $monitors && wait
golden monitor.txt grep ' disk ' "$OUT/monitor.txt"
# When the kernel builds the message, the detach can have removed the disk already. So mask the size
# and the session state of the disk in the message.
golden monitor.json sed -n '/"family":"rnbd"/s/"size":[0-9]*/"size":<number>/; s/"session_state":"[a-z]*"/"session_state":"<state>"/p' "$OUT/monitor.json"

detach rnbd0
configfs_clear
unload

diff -ru "$GOLDEN" "$OUT/golden" || die "output differs from tests/vm/golden; if that is intended, update the files"
note "$(find "$OUT/golden" -type f | wc -l) files"
