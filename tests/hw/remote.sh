# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with tests/hw/run
# SPDX-License-Identifier: GPL-2.0-only
# Access to the two machines from the machine that runs the check: sourced by tests/hw/run.
#
# A side is "target" or "client". Commands run there as root, by ssh or by ssh and "sudo -n". All
# commands of a side share one ssh connection; only the keeper of the side has its own.

declare -A host sudo kit fact
host=([target]=$TARGET [client]=$CLIENT)
sudo=([target]='' [client]='')
kit=()
SIDES="target client"

# quoted WORD...: print the words quoted for the shell at the other side
quoted() { printf '%q ' "$@"; }

# on_input SIDE COMMAND...: run COMMAND there as root, with the standard input of this function
on_input() {
	local side=$1

	shift
	# shellcheck disable=SC2086 # options, and a command or nothing
	$SSH "${SSH_OPTIONS[@]}" "${host[$side]}" "${sudo[$side]} $(quoted "$@")"
}

on() { on_input "$@" </dev/null; }

# at SIDE STEP [ARG...]: run a step of tests/hw/node there
at() { on "$1" "${kit[$1]}/tests/hw/node" "${@:2}"; }

# reach SIDE: fail unless ssh works and commands run as root
reach() {
	local id

	id=$(on "$1" id -u) || die "ssh ${host[$1]} failed; \"$SSH ${host[$1]} id\" must work without a prompt"
	if [ "$id" != 0 ]; then
		sudo[$1]='sudo -n'
		[ "$(on "$1" id -u)" = 0 ] || die "${host[$1]}: neither root nor \"sudo -n\""
	fi
}

# record SIDE DIRECTORY: write the environment to files in DIRECTORY, and the facts to $WORK
record() {
	local side=$1 dir=$2 facts_only=1

	[[ " $PARTS " != *" env "* ]] || facts_only=
	mkdir -p "$dir"
	{
		printf 'HW_BACKEND=%q HW_FACTS=%q\n' "$([ "$side" != target ] || echo "$BACKEND")" "$facts_only"
		cat "$HW/env.sh"
	} | on_input "$side" bash -s 2>"$dir/stderr" |
		awk -v dir="$dir" '/^@@ / { if (file) close(file); file = dir "/" $2 ".txt"; printf "" >file; next }
			file { print >file }' ||
		return 1
	[ -s "$dir/facts.txt" ] || return 1
	# storage is the last topic: without storage.txt, env.sh has not run to its end.
	[ -n "$facts_only" ] || [ -s "$dir/storage.txt" ] || return 1
	mv "$dir/facts.txt" "$WORK/facts.$side"
	sed -n 's/^secret //p' "$WORK/facts.$side" >"$WORK/secrets.$side"
	[ -s "$dir/stderr" ] || rm "$dir/stderr"
}

# facts SIDE KEY: print the values of a key, a line each
facts() { sed -n "s/^$2 //p" "$WORK/facts.$1"; }

# lacks SIDE WHAT: succeed if the machine lacks a tool or module
lacks() { facts "$1" lacks | grep -qx "$2"; }

# find_address: unless the user has set TARGET_ADDR, set it to the first address of the target that
# belongs to an active RDMA port and that the client reaches through an active RDMA port
find_address() {
	local dev port state nd addr

	[ -z "$TARGET_ADDR" ] || return 0
	while read -r dev port state nd addr; do
		[ "$state" = ACTIVE ] || continue
		if facts client rdma | awk '$3 == "ACTIVE" { print $4 }' | sort -u |
				grep -qx "$(on client ip -o route get "$addr" 2>/dev/null |
					sed -n 's/.* dev \([^ ]*\).*/\1/p')"; then
			TARGET_ADDR=$addr
			return 0
		fi
	done < <(facts target rdma)
	return 1
}

# copy_kit SIDE: make a new directory on the machine, with the sources and the settings
copy_kit() {
	local side=$1

	kit[$side]=$(on "$side" mktemp -d /var/tmp/rnbd-hw.XXXXXX) || return
	echo "${kit[$side]}" >"$WORK/kit.$side"
	tar -C "$TOP" --exclude='*.o' --exclude='*.ko' --exclude='*.cmd' --exclude='*.probe' -cf - \
		Kbuild Makefile drivers include userspace tests/lib tests/hw \
		tests/bench/peers.sh tests/tools/gencheck |
		on_input "$side" tar -C "${kit[$side]}" --no-same-owner -xf - || return
	on "$side" mkdir -p "${kit[$side]}/state" || return
	{
		printf 'HW_ADDR=%q HW_HOST=%q HW_BACKEND=%q HW_MODULES=%q HW_RUN=%q HW_SSH=%q\n' \
			"$TARGET_ADDR" "$HOST_UUID" "$([ "$side" != target ] || echo "$BACKEND")" "$MODULES" \
			"$RUN" "$(facts "$side" ssh)"
	} | on_input "$side" tee "${kit[$side]}/state/settings" >/dev/null
}

# keep SIDE: start the keeper of a side. The keeper undoes the changes on that side if this machine,
# which runs the check, fails. Signals from the terminal must not end the ssh connection of the
# keeper.
keep() {
	local side=$1

	(
		trap '' INT HUP TERM
		while [ ! -e "$WORK/end" ] && kill -0 $$ 2>/dev/null; do
			echo alive
			sleep 2
		done
		[ ! -e "$WORK/end" ] || echo end
	) 2>/dev/null | (
		trap '' INT HUP TERM
		# shellcheck disable=SC2086
		exec $SSH -o ControlMaster=no -o ControlPath=none "${SSH_OPTIONS[@]}" "${host[$side]}" \
			"${sudo[$side]} $(quoted "${kit[$side]}/tests/hw/node" keeper)"
	) >/dev/null 2>&1 &
	keepers+=($!)
}

# reset_sides: remove what a failed part of the check has left behind on both sides
reset_sides() {
	at client reset
	at target reset
}

# take SIDE: copy the logs of a side to the results
take() {
	local side=$1 name

	mkdir -p "$DIR/logs/$side"
	for name in dmesg check.log fio.err; do
		on "$side" cat "${kit[$side]}/out/$name" >"$DIR/logs/$side/$name" 2>/dev/null
		[ -s "$DIR/logs/$side/$name" ] || rm -f "$DIR/logs/$side/$name"
	done
}
