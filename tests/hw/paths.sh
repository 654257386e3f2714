# shellcheck shell=bash disable=SC2154 # variables are shared with tests/hw/run
# SPDX-License-Identifier: GPL-2.0-only
# Run the generation checker while the path fails: sourced by tests/hw/run.
#
# gencheck writes and reads until it is stopped. In each round the faults are injected one after the
# other; after each fault the client must reconnect and complete further requests. At the end
# gencheck compares all blocks with its journal.

# lost BEFORE: wait until the client has more than BEFORE reconnects, and completes further requests
lost() {
	local requests

	at client wait_over reconnects "$1" && at client wait_state live || return
	requests=$(at client counter requests)
	at client wait_over requests $((requests + 20))
}

# hits_of SIDE MODULE POINT: print how often a fault point has injected its fault
hits_of() { at "$1" hits "$2" "$3"; }

# fault KIND: inject a fault and wait until I/O continues; return 77 and set $skip to the reason if
# the fault cannot be injected on these machines
fault() {
	local before seen status

	before=$(at client counter reconnects) || return
	case $1 in
	kill-queue) at client strike rnbd kill_queue 1 0 ;;
	fail-post) at client strike rnbd fail_post 1 ;;
	drop-reply) at target strike rnbd-target drop_reply 1 ;;
	late-write)
		# Let a write wait in the target while the client reconnects.
		seen=$(hits_of target rnbd-target delay_bio) || return
		at target strike rnbd-target delay_bio 1 100000 || return
		at target wait_hits rnbd-target delay_bio "$seen" || return
		seen=$(hits_of client rnbd kill_queue)
		at client strike rnbd kill_queue 1 0 || return
		at client wait_hits rnbd kill_queue "$seen" && at client wait_state reconnecting || return
		at target strike rnbd-target delay_bio 0
		;;
	export) at target export_toggle ;;
	port) at target port_toggle ;;
	link)
		skip=$(at client port_down 60)
		status=$?
		echo "$skip"
		[ $status = 0 ] || return $status
		at client wait_state reconnecting || return
		at client port_up
		;;
	esac || return
	lost "$before"
}

part_gencheck() {
	local kinds="kill-queue fail-post late-write export" round kind status rounds=${ROUNDS:-20} blocks=16384 threads=16
	local start total=0 skip=

	if lacks client gencheck && lacks client gcc; then
		echo "skip: gencheck cannot be built on the client: no gcc"
		return 77
	fi
	if [ -n "$QUICK" ]; then
		blocks=2048 threads=4 rounds=${ROUNDS:-1}
	else
		kinds+=" drop-reply port"
	fi
	[ "$PORT_DOWN" != yes ] || kinds+=" link"
	at target target_up $((blocks / 256)) memory || return
	at client client_up --keepalive 1000 || return
	# io_timeout is the time in seconds after which the client notices a lost reply.
	at client set_parameter rnbd io_timeout 3 || return
	at client check_start $blocks $threads || return
	for ((round = 1; round <= rounds; round++)); do
		for kind in $kinds; do
			start=${EPOCHREALTIME/[.,]/}
			fault "$kind"
			status=$?
			if [ $status = 77 ] && [ $round = 1 ]; then
				kinds=${kinds/ link/}
				say "gencheck: link: ${skip#skip: }"
				continue
			fi
			[ $status = 0 ] || die "round $round, $kind: I/O did not continue"
			total=$((total + 1))
			echo "round $round: $kind: I/O continued after $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) ms (with ssh)"
		done
		say "gencheck: round $round of $rounds: $(at client counter reconnects) reconnects," \
		    "$(at client counter resent_requests) requests resent"
	done
	at client check_stop || return
	say "gencheck: comparing all blocks with the journal"
	at client check_verify || return
	at client counters >"$DIR/results/gencheck-counters.txt"
	need_value "$(counted "$DIR/results/gencheck-counters.txt" reconnects)" -ge "$total" "reconnects after $total faults"
	at client client_down && at target target_down
}
