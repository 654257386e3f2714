# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Run the commands of a document exactly as it shows them: sourced after lab.sh. In literal blocks a
# line with the prompt MACHINE# is a command for the machine or machines of that name. It continues
# after a backslash, and up to END if it contains "<<END". Lines without a prompt are output, in
# which "..." matches anything. Prompts in brackets are skipped.

# read_commands FILES [SECTION]: read machines[], commands[] and outputs[] from the files of a list
# or pattern, from the section with that title or from all
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
	[ ${#commands[@]} -gt 0 ] || die "$1 has no commands${want:+ in $want}"
}

# need_commands TEXT...: fail unless a command contains TEXT. A document that changed must not pass
# because it has no matching commands.
need_commands() {
	local want

	for want; do
		[[ $(printf '%s\n' "${commands[@]}") = *"$want"* ]] || die "the document has no command: $want"
	done
}

# as_shown OUTPUT SHOWN: succeed if every line is as shown; any number of blanks counts as one
as_shown() {
	local pattern

	[ "$2" ] || return 0
	pattern=$(sed -E 's/^ +//; s/ +/ /g; s/[][*?\\]/\\&/g; s/\.\.\./*/g' <<<"$2")
	# shellcheck disable=SC2053 # a pattern
	[[ $(sed -E 's/^ +//; s/ +/ /g' <<<"$1") = $pattern ]]
}

# did_as_shown NUMBER: run a command; succeed if it succeeds and its output is as shown
did_as_shown() {
	text=$(bash -c "${commands[$1]}")
	status=$?
	[ -z "$text" ] || echo "$text"
	[ "$status" = 0 ] && as_shown "$text" "${outputs[$1]}"
}

# walk NAME MACHINE...: run the commands that were read, on all machines of the test concurrently.
# This machine has these names. If a function before_command exists, it is called with each command
# first.
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
			# The effect of a command on another machine may arrive here with a delay.
			[[ ${commands[i]} = lsblk* || ${commands[i]} = *quorumtool* ]] &&
				wait_quietly 20 did_as_shown "$i"
		} || die "exit $status: ${commands[i]}; output in the document: ${outputs[i]}"
	done
	note "${#commands[@]} commands"
}
