# shellcheck shell=bash disable=SC2034 # variables of the script and of the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Run both nodes of a test that needs two machines in one machine with two modelled adapters:
# sourced by adapter.sh.
#
# The script runs twice concurrently, as NODE 1 on mdl1 and as NODE 2 on mdl0. NODE 2 makes the
# devices, starts NODE 1 and determines the result of the run. Both nodes share one kernel, its
# modules, /etc and the kernel log. The functions here therefore replace the command lab and the
# helpers that would affect the other node.

SIDES=/run/lab/sides

# side_device [NODE]: print the device of this node, or of NODE
side_device() { echo "mdl$((2 - ${1-$NODE}))"; }

# sides_begin ARG...: on node 2, start node 1, which runs the same script with the same arguments.
# On node 1 (LAB_SIDE), set only its variables and its exit trap. The devices must exist.
sides_begin() {
	NODES=2
	ADDR=$MDL_TARGET
	if [ -n "${LAB_SIDE-}" ]; then
		NODE=1 UNLOADS=rnbd_target
		trap 'echo $? >$SIDES/ended.1' EXIT
		return
	fi
	NODE=2 UNLOADS=rnbd
	mkdir -p $SIDES
	LAB_SIDE=1 bash "$0" "$@" &
	side_pid=$!
}

# sides_end STATUS: exit with a failure unless both nodes have succeeded; node 1 need not have
# succeeded if the test has killed it
sides_end() {
	local other

	echo "$1" >$SIDES/ended.2
	[ "$1" -eq 0 ] || kill "$side_pid" 2>/dev/null
	wait "$side_pid"
	other=$?
	unset UNLOADS
	unset -f lab
	[ "$1" -eq 0 ] || exit "$1"
	[ -e $SIDES/killed ] || [ $other -eq 0 ] || exit $other
}

# side_came NAME COUNT: succeed if the other node has reached the barrier COUNT times, even
# if the other node has exited since
side_came() {
	local file=$SIDES/barrier.$1.$((3 - NODE)) count=0

	[ ! -e "$file" ] || read -r count <"$file"
	[ "${count:-0}" -ge "$2" ]
}

side_came_or_ended() { [ -e $SIDES/ended.$((3 - NODE)) ] || side_came "$@"; }

# side_barrier NAME [--timeout S]: wait until the other node has reached the barrier
side_barrier() {
	local file=$SIDES/barrier.$1.$NODE count=0

	[ ! -e "$file" ] || read -r count <"$file"
	echo $((count + 1)) >"$file.new"
	mv "$file.new" "$file"
	wait_quietly "${3:-3600}" side_came_or_ended "$1" $((count + 1)) || die "barrier $1: timeout"
	side_came "$1" $((count + 1)) || die "barrier $1: node $((3 - NODE)) has ended"
}

# lab COMMAND...: replaces the command lab. "pause", "cut" and "kill" set the link of the node's
# adapter down, so that the other node gets no answer; "kill" also ends the script of the node.
lab() {
	case $1 in
	barrier) side_barrier "${@:2}" ;;
	cut | pause) link_down "$(side_device "$2")" ;;
	join | resume) link_up "$(side_device "$2")" ;;
	kill)
		[ "$2" = 1 ] || die "lab kill $2: only node 1 can be killed, node 2 reports the result"
		link_down "$(side_device "$2")"
		touch $SIDES/killed
		kill "$side_pid"
		;;
	log) note "${@:2}" ;;
	*) die "lab $1 needs two machines" ;;
	esac
}

rdma_resources() { rdma resource show "$(side_device)" | tr -s ' \n' ' '; }

set_host_id() {
	mkdir -p /etc/rnbd
	host_id 2 >/etc/rnbd/hostid
}
