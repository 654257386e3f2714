# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Run the commands of a document exactly as it shows them: sourced after lab.sh. In literal blocks a
# line with the prompt MACHINE# is a command for the machine or machines of that name. A command
# continues on the next line after a backslash; a command with "<<END" continues up to the line END.
# Lines without a prompt are the output of the command before them, in which "..." matches anything.
# A line that begins with "[", such as a prompt in brackets, is skipped together with the lines
# after it up to the next command.

# read_commands FILES [SECTION]: set machines[], commands[] and outputs[] to the commands in FILES,
# a list or pattern of file names; with SECTION only those of the section with this title
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

# need_commands TEXT...: fail unless each TEXT occurs in a command: a test must not pass because the
# document has changed and no longer has the commands that the test is about
need_commands() {
	local want

	for want; do
		[[ $(printf '%s\n' "${commands[@]}") = *"$want"* ]] || die "the document has no command: $want"
	done
}

# as_shown OUTPUT SHOWN: succeed if OUTPUT matches the text SHOWN of the document; if SHOWN is
# empty, any output matches. Several blanks count as one, and blanks at the start of a line do not
# count.
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

# walk NAME MACHINE...: run those commands of commands[] that are for this machine, which has the
# names MACHINE. All machines of the test call walk concurrently, and wait for each other before
# each command whose machine name differs from that of the command before it. A function
# before_command, if it exists, is called before each command of this machine, with the command as
# argument.
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
			# Retry: the effect of a command on another machine can reach this machine
			# later.
			[[ ${commands[i]} = lsblk* || ${commands[i]} = *quorumtool* ]] &&
				wait_quietly 20 did_as_shown "$i"
		} || die "exit $status: ${commands[i]}; output in the document: ${outputs[i]}"
	done
	note "${#commands[@]} commands"
}
