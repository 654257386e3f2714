#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test the completion of bash with the script that the tool prints.
# tests/packaging/packaging-debian.sh tests the completion of names that come from the kernel, those
# of disks and exports.
#
#   completion.sh DIR TOOL      DIR is created and kept

. "$(dirname "$0")/../lib/unit.sh"
tool=$(realpath "$2")
script=$("$tool" completion bash) || exit
rm -rf "$1" && mkdir -p "$1/files/a folder" && cd "$1/files" || exit
touch "a folder/disk.img" another
eval "$script"

# complete_line WORD...: complete the last word of the line "rnbd WORD..."
complete_line() {
	COMP_WORDS=(rnbd "$@")
	COMP_CWORD=$#
	_rnbd >../said 2>&1 || fail "rnbd $*<TAB>: status $?"
	[ ! -s ../said ] || fail "rnbd $*<TAB>: prints $(<../said)"
}

# offers WANTED WORD...: exactly the words WANTED must be offered, in any order
offers() {
	local want=$1 got

	shift
	complete_line "$@"
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' ')
	if [ "$got" = "$want" ]; then
		pass
	else
		fail "rnbd $*<TAB>: offers '$got', not '$want'"
	fi
}

# has WANTED... -- WORD...: at least the words WANTED must be offered
has() {
	local wanted=() word

	while [ "$1" != -- ]; do
		wanted+=("$1")
		shift
	done
	shift
	complete_line "$@"
	for word in "${wanted[@]}"; do
		if [[ " ${COMPREPLY[*]} " = *" $word "* ]]; then
			pass
		else
			fail "rnbd $*<TAB>: offers '${COMPREPLY[*]}', without '$word'"
		fi
	done
}

# Every command in the help of the tool, and every option in the help of each command, must be
# offered.
while read -r command; do
	read -ra words <<<"$command"
	if [ ${#words[@]} = 2 ]; then
		has "${words[0]}" -- ""
		has "${words[1]}" --help -- "${words[0]}" ""
	else
		has "${words[0]}" -- ""
	fi
	mapfile -t options < <("$tool" help "${words[@]}" | grep -oE '^  --[a-z-]+' | tr -d ' ')
	has "${options[@]}" --help -- "${words[@]}" --
	[ ${#words[@]} = 1 ] || has "${words[0]}" -- help ""
	has "${words[-1]}" -- help "${words[@]:0:${#words[@]}-1}" ""
done < <("$tool" help | sed -n 's/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  .*/\1/p')
[ "$passed" -gt 50 ] || fail "rnbd help names no commands"

offers "attach" at
offers "--help" --h
offers "export" ex
offers "enable" export en
offers "" export enable no-such-export
offers "" nonsense ""
# Values of options, also after "=", which is a separate word in bash
offers "fail queue" attach 10.0.0.1 disk0 --policy ""
offers "fail" attach --policy f
offers "fail queue" attach --policy =
offers "fail" attach --policy = f
offers "" attach --port ""
offers "pagecache" export add disk0 --cache p
# File names with special characters
offers "a folder another" export add disk0 --path ""
offers "a folder/disk.img" export add disk0 --path "a folder/"
offers "a folder another" export add disk0 --path = a
# Where no operand can follow, options are offered. "ADDRESS:PORT" counts as one operand, although
# bash splits it into words. The value of an option does not count as an operand.
offers "" attach 10.0.0.1 : 4427 ""
has --queues -- attach 10.0.0.1 : 4427 disk0 ""
offers "" attach --queues 4 10.0.0.1 ""
offers "" attach --queues = 4 10.0.0.1 ""
has --json -- session list ""
offers "bash" completion ""
offers "list" help session ""

# Names from configfs must not be executed as shell code: not during the completion, and not when
# the completed line is run.
# shellcheck disable=SC2016
ls() { echo 'plain $(>expanded) *'; }
# shellcheck disable=SC2016
offers '\$\(\>expanded\) \* plain' export enable ""
[ ! -e expanded ] || fail "a name was executed"

summary
