#!/bin/bash
# lab: --nodes 2 --cpus 1 --mem 1024 --disk 1G --disk 256M --timeout 600
# short: the commands of the administrator's guide and of the README, as they stand there, on two machines
. ./lib.sh

# The rules are those that the guide tells in "What is needed": literal blocks with the
# prompts target#, client# and both#; lines without a prompt are output, "..." being
# anything; prompts in brackets are left out.
GUIDE=../../Documentation/admin-guide.rst
README=../../README.md

# read_commands FILE: into machines, commands and outputs
read_commands() {
	local line indent prompt=

	machines=() commands=() outputs=()
	while IFS= read -r line; do
		if [[ $line =~ ^(\ \ |\ \ \ \ )(target|client|both)#\ (.*) ]]; then
			indent=${BASH_REMATCH[1]}
			machines+=("${BASH_REMATCH[2]}")
			commands+=("${BASH_REMATCH[3]}")
			outputs+=("")
			prompt=1
		elif [[ $line =~ ^\ *\[ || $line != "  "* ]]; then
			prompt=
		elif [ "$prompt" ]; then
			if [[ ${commands[-1]} = *\\ ]]; then
				commands[-1]+=$'\n'$line
			else
				outputs[-1]+=${line#"$indent"}$'\n'
			fi
		fi
	done <"$1"
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

# walk NAME: what was read
walk() {
	local where='' i

	for ((i = 0; i < ${#commands[@]}; i++)); do
		if [ "${machines[i]}" != "$where" ]; then
			lab barrier "$1-$i" --timeout 90 || die "barrier before: ${commands[i]}"
			where=${machines[i]}
		fi
		[ "$where" = "$me" ] || [ "$where" = both ] || continue
		echo "$me# ${commands[i]}"
		did_as_shown "$i" || {
			# what the other machine did may take a moment to arrive here
			[[ ${commands[i]} = lsblk* ]] && wait_quietly 10 did_as_shown "$i"
		} || die "exit $status; shown for ${commands[i]}: ${outputs[i]}"
	done
	note "${#commands[@]} commands"
}

# What they start from: an Ethernet card, the host id that is shown, the disk /dev/sdb,
# a file system for /srv.
read_commands "$GUIDE"
rdma link del rxe0 || die "rxe0 cannot be removed"
if [ "$NODE" = 1 ]; then
	me=target
	run ln -s lab/disk1 /dev/sdb
	run mkfs.ext4 -q -F /dev/lab/disk0
	run mount /dev/lab/disk0 /srv
else
	me=client
	for ((i = 0; i < ${#commands[@]}; i++)); do
		[ "${commands[i]}" = "rnbd hostid" ] || continue
		mkdir -p /etc/rnbd
		echo "${outputs[i]}" >/etc/rnbd/hostid
	done
fi

need_commands 'rdma link add ' 'rnbd export add ' 'rnbd attach ' mkfs. 'mount ' 'rnbd save' \
	'rnbd export resize ' 'rnbd detach ' 'rnbd export remove '
walk guide
for module in rnbd rnbd_target; do
	! grep -q "^$module " /proc/modules || die "$module is still loaded"
done

read_commands "$README"
need_commands 'rnbd export add ' 'rnbd attach ' mkfs. 'mount ' 'rnbd detach '
walk readme
