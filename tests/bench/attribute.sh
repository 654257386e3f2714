# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What was counted by address (tests/bench/count) as instructions per I/O. Sourced by the
# scripts of make bench that count.

# attribute FILE IOS: a line "MODULE SYMBOL INSTRUCTIONS" per symbol, and one "user user
# INSTRUCTIONS". Addresses are compared as text, for no awk counts that far.
attribute() {
	{
		awk '$2 ~ /^[tTwW]$/ { print $1, "symbol", $3, ($4 == "" ? "[kernel]" : $4) }' /proc/kallsyms
		grep -v '^user' "$1" | awk '{ print $1, "x", $2 }'
	} | LC_ALL=C sort | awk -v ios="$2" '
		$2 == "symbol" { name = $3; module = $4; next }
		{ sum[module " " name] += $3 }
		END { for (s in sum) printf "%s %.1f\n", s, sum[s] / ios }'
	awk -v ios="$2" '$1 == "user" { printf "user user %.1f\n", $2 / ios }' "$1"
}

# breakdown IOS [JSON]: what attribute printed as a line of JSON, with the members of
# the object JSON in front
breakdown() {
	jq -Rnc --argjson ios "$1" --argjson more "${2-{\}}" '
		[inputs | split(" ") | {module: .[0] | gsub("[][]"; ""), name: .[1], insns: .[2] | tonumber}] |
		$more + {
			ios: $ios,
			insns: (map(.insns) | add),
			modules: (group_by(.module) | map({key: .[0].module, value: (map(.insns) | add)}) |
				  from_entries),
			functions: (sort_by(-.insns) |
				    .[:80] + (.[80:] | map(select(.module | test("rnbd|rtrs|nvme|ib_core")))))
		}'
}
