# shellcheck shell=bash disable=SC2154 # variables are shared with tests/hw/run
# SPDX-License-Identifier: GPL-2.0-only
# Prove that I/O registers no memory: sourced by tests/hw/run.
#
# On both machines probes count the calls of the kernel's registration functions, and the posted
# work requests by opcode. During I/O there must be no such call, and no work request that registers
# or invalidates memory. A login after the I/O must be counted as a registration at the target,
# which shows that the probes work.

# opcode_name NUMBER: print the name of an opcode of enum ib_wr_opcode
opcode_name() {
	case $1 in
	0) echo "RDMA WRITE" ;;
	1) echo "RDMA WRITE with immediate" ;;
	2) echo "SEND" ;;
	3) echo "SEND with immediate" ;;
	4) echo "RDMA READ" ;;
	7) echo "LOCAL_INV" ;;
	9) echo "SEND with invalidate" ;;
	11) echo "RDMA READ with invalidate" ;;
	32) echo "REG_MR" ;;
	33) echo "REG_MR_INTEGRITY" ;;
	*) echo "opcode $1" ;;
	esac
}

# registrations FILE: print the number of registrations and invalidations of memory in the output of
# step_probes
registrations() {
	awk '$1 == "calls" { n += $3 }
		$1 == "opcode" && ($2 == 7 || $2 == 9 || $2 == 11 || $2 == 32 || $2 == 33) { n += $3 }
		END { print n + 0 }' "$1"
}

# opcodes FILE NUMBER: print how many work requests with this opcode were posted
opcodes() { awk -v op="$2" '$1 == "opcode" && $2 == op { print $3; found = 1 } END { if (!found) print 0 }' "$1"; }

# show_probes SIDE FILE: print the output of step_probes in words
show_probes() {
	local kind what n

	while read -r kind what n; do
		case $kind in
		calls) echo "  $1: calls of $what: $n" ;;
		opcode) echo "  $1: posted $(opcode_name "$what"): $n" ;;
		esac
	done <"$2"
}

# counted FILE NAME: print a counter of the disk from the output of step_counters
counted() { awk -v name="$2" '$1 == name { print $2 }' "$1"; }

# need_value VALUE RELATION NUMBER WHAT: fail unless the relation holds
need_value() {
	test "${1:-none}" "$2" "$3" 2>/dev/null || die "$4: $1, wanted $2 $3"
	echo "  $4: $1"
}

part_proof() {
	local side mib=64 dir=$DIR/results/proof

	if lacks client fio; then
		echo "skip: no fio on the client"
		return 77
	fi
	[ -z "$QUICK" ] || mib=8
	mkdir -p "$dir"
	at target target_up $((mib * 4)) memory || return
	# A pool of fixed size: the target would register memory if the pool grew with the load.
	at client client_up --inline-read 0 --inline-write 0 --pool-floor fixed || return
	for side in $SIDES; do
		at "$side" probes_on >"$dir/$side.probes" || die "$side: $(tail -n 1 "$dir/$side.probes")"
		sed "s/^/  $side: /" "$dir/$side.probes"
	done
	say "proof: writing and reading with checksums"
	at client counters >"$dir/before" || return
	at client verify --rw=randwrite --bs=4k --iodepth=32 --size=$((mib / 4))m || return
	at client verify --rw=write --bs=1m --iodepth=4 --size=${mib}m || return
	at client counters >"$dir/after" || return
	for side in $SIDES; do
		at "$side" probes >"$dir/$side.io" || return
		show_probes "$side" "$dir/$side.io"
	done
	say "proof: logging in again, to check that the probes count"
	at client client_down && at client client_up && at client client_down || return
	for side in $SIDES; do
		at "$side" probes >"$dir/$side.login" || return
		at "$side" probes_off
	done
	at target target_down || return

	echo "The data went by RDMA:"
	need_value $(($(counted "$dir/after" rdma_write_bytes) - $(counted "$dir/before" rdma_write_bytes))) \
		-ge $(((mib + mib / 4) << 20)) "bytes that the client wrote by RDMA WRITE"
	need_value $(($(counted "$dir/after" rdma_read_bytes) - $(counted "$dir/before" rdma_read_bytes))) \
		-ge $(((mib + mib / 4) << 20)) "bytes that the client read by RDMA READ"
	case $(counted "$dir/after" remote_access) in
	0x0) echo "  remote access of the client's queue pairs: 0x0" ;;
	# The driver of the adapter decides whether remote access is disabled
	# (Documentation/explanation/overview.rst), so this is no failure.
	0x*) echo "  NOTE: remote access of the client's queue pairs: $(counted "$dir/after" remote_access), the driver does not disable it" ;;
	*) echo "  remote access of the client's queue pairs: not reported by the device" ;;
	esac
	echo "No memory was registered during I/O:"
	for side in $SIDES; do
		need_value "$(registrations "$dir/$side.io")" -eq 0 "registrations and invalidations at the $side"
	done
	if grep -q '^opcode' "$dir/client.io" && grep -q '^opcode' "$dir/target.io"; then
		need_value "$(opcodes "$dir/client.io" 0)" -gt 0 "RDMA WRITEs that the client posted"
		need_value "$(opcodes "$dir/client.io" 4)" -gt 0 "RDMA READs that the client posted"
		need_value $(($(opcodes "$dir/target.io" 0) + $(opcodes "$dir/target.io" 4))) -eq 0 \
			"RDMA WRITEs and READs that the target posted"
	else
		echo "  opcodes of work requests: not available on this kernel or adapter"
	fi
	echo "The probes count:"
	need_value "$(registrations "$dir/target.login")" -gt 0 "registrations at the target for another login"
	need_value "$(registrations "$dir/client.login")" -eq 0 "registrations at the client for another login"
}
