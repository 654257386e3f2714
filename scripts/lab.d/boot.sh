# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Machines that do not come up: found, described, started again.

# Does the last boot of this node go on? Nothing of ours has been loaded by then.
is_booting() {
	awk '
		/Linux version/ { up = 0 }
		/lab: n[1-4]: up after/ { up = 1 }
		END { exit up }
	' "$OUTDIR/n$1/console.log"
}

# Did QEMU end with its own assertion while the kernel of this node booted? The kernel moves
# the address ranges of its PCI devices then, and one thread of QEMU can use a map of the
# memory that another one has freed (QEMU issue 1921; seen once, with 10.0.2).
died_of_qemu() {
	grep -q 'iotlb_to_section: Assertion' "$OUTDIR/n$1/qemu.log" 2>/dev/null && is_booting "$1"
}

# start_again NODE WHY
start_again() {
	local i=$1 dir=$OUTDIR/n$1 log

	again[i]=$((again[i] + 1))
	for log in console.log qemu.log registers; do
		[ ! -e "$dir/$log" ] || mv "$dir/$log" "$dir/${log%.log}.failed-boot-${again[i]}"
	done
	say "n$i: $2 started again"
	boots[i]=$((boots[i] - 1))
	start_node "$i"
}

# Leave the registers of all processors and interrupt controllers in the file "registers":
# where a machine hangs, and what it waits for. Kernels have nokaslr, so System.map of the
# root names the addresses.
show_registers() {
	local monitor=$RUN/n$1.monitor k

	{
		echo "info registers -a"
		for ((k = 0; k < CPUS; k++)); do echo "info lapic $k"; done
		printf '%s\n' "info pic" "info blockstats"
	} >"$monitor.in"
	# QEMU holds the pipe open: it has no end
	timeout 2 cat "$monitor.out" | grep -av '^(qemu)' >"$OUTDIR/n$1/registers"
}

# Kernels were seen to hang while they booted, without a word (twice in some 400 boots under
# load). A machine that systemd may boot again is left alone: it may have loaded our modules.
look_after_boot() {
	local i=$1 now slow

	[ "${state[i]}" = up ] && [ -n "${booting[i]}" ] && [ -z "$SYSTEMD$LAB_SHELL" ] || return 0
	if ! is_booting "$i"; then
		booting[i]=
		return
	fi
	now_ms now
	slow=$(slow_factor)
	[ $((now - booting[i])) -ge $((BOOT_LIMIT * ${slow:-1} * 1000)) ] && [ "${again[i]}" -lt 2 ] || return 0
	show_registers "$i"
	kill_node "$i"
	# its time begins anew
	start=$((start + now - booting[i]))
	deadline=$((deadline + now - booting[i]))
	start_again "$i" "not up after $((BOOT_LIMIT * ${slow:-1})) s,"
}
