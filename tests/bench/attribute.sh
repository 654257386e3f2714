# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Convert instruction counts by address (tests/bench/count) to instructions per I/O. Sourced by the
# benchmarks that count instructions.

# attribute FILE IOS: print a line "MODULE SYMBOL INSTRUCTIONS" per symbol, and a line "user user
# INSTRUCTIONS"; INSTRUCTIONS are per I/O. Addresses are sorted as text, because awk cannot
# represent them exactly as numbers.
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

# breakdown IOS [JSON]: convert the output of attribute to one line of JSON, which begins with the
# members of the object JSON
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
