# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands of documents, typed as they stand there: sourced after lab.sh. In literal
# blocks a line with the prompt MACHINE# is a command, for the machine of that name or for
# all that have that name; it goes on behind a backslash, and up to END if it has "<<END".
# Lines without a prompt are output, "..." being anything. Prompts in brackets are left out.

# read_commands FILES [SECTION]: read the files of a list or pattern into machines, commands and
# outputs; only the section with that title, if one is given
# shellcheck disable=SC2086 # a list or pattern
read_commands() {
	local line last='' indent prompt='' section='' want=${2-}

	machines=() commands=() outputs=()
	while IFS= read -r line; do
		[[ ! $line =~ ^(===+|---+)$ ]] || section=$last
		last=$line
		[ "${section:-$want}" = "$want" ] || [ -z "$want" ] || continue
		if [[ $prompt = text ]]; then
			commands[-1]+=$'\n'${line#"$indent"}
			[ "${line#"$indent"}" != END ] || prompt=1
		elif [[ $line =~ ^(\ \ |\ \ \ \ )([a-z][a-z0-9]*)#\ (.*) ]]; then
			indent=${BASH_REMATCH[1]}
			machines+=("${BASH_REMATCH[2]}")
			commands+=("${BASH_REMATCH[3]}")
			outputs+=("")
			prompt=1
			[[ ${commands[-1]} != *"<<END"* ]] || prompt=text
		elif [[ $line =~ ^\ *\[ || $line != "  "* ]]; then
			prompt=
		elif [ "$prompt" ]; then
			if [[ ${commands[-1]} = *\\ ]]; then
				commands[-1]+=$'\n'$line
			else
				outputs[-1]+=${line#"$indent"}$'\n'
			fi
		fi
	done < <(cat -- $1)
	[ ${#commands[@]} -gt 0 ] || die "$1 has no commands in ${want:-it}"
}

# A text that was written in another way must not pass for want of commands.
need_commands() {
	local want

	for want; do
		[[ $(printf '%s\n' "${commands[@]}") = *"$want"* ]] || die "there is no command: $want"
	done
}

# as_shown OUTPUT SHOWN: every line is as it is shown; blanks count as one
as_shown() {
	local pattern

	[ "$2" ] || return 0
	pattern=$(sed -E 's/^ +//; s/ +/ /g; s/[][*?\\]/\\&/g; s/\.\.\./*/g' <<<"$2")
	# shellcheck disable=SC2053 # a pattern
	[[ $(sed -E 's/^ +//; s/ +/ /g' <<<"$1") = $pattern ]]
}

# did_as_shown NUMBER: the command succeeds and prints what it should
did_as_shown() {
	text=$(bash -c "${commands[$1]}")
	status=$?
	[ -z "$text" ] || echo "$text"
	[ "$status" = 0 ] && as_shown "$text" "${outputs[$1]}"
}

# walk NAME MACHINE...: what was read, on all machines of the test at once; this one is
# called by any of these names. If there is a function before_command, it is told each.
walk() {
	local name=$1 where='' i
	shift

	for ((i = 0; i < ${#commands[@]}; i++)); do
		if [ "${machines[i]}" != "$where" ]; then
			lab barrier "$name-$i" --timeout "${WALK_TIMEOUT:-90}" || die "barrier before: ${commands[i]}"
			where=${machines[i]}
		fi
		[[ " $* " == *" $where "* ]] || continue
		! declare -F before_command >/dev/null || before_command "${commands[i]}"
		echo "$where# ${commands[i]}"
		did_as_shown "$i" || {
			# what another machine did may take a moment to arrive here
			[[ ${commands[i]} = lsblk* || ${commands[i]} = *quorumtool* ]] &&
				wait_quietly 20 did_as_shown "$i"
		} || die "exit $status; shown for ${commands[i]}: ${outputs[i]}"
	done
	note "${#commands[@]} commands"
}
