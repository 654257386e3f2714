# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# A machine that does not come up, or that a known fault of QEMU ends during its boot, is started
# again. If such a fault ends a machine after its boot, the whole run is started again, once. The
# lab keeps the logs of the failed boot or of the first run.

# is_booting NODE: succeed if the last boot of NODE has not finished; the modules under test are
# loaded only after the boot
is_booting() {
	awk '
		/Linux version/ { up = 0 }
		/lab: n[1-4]: up after/ { up = 1 }
		END { exit up }
	' "$OUTDIR/n$1/console.log"
}

# Limit on restarts of one node after a failed boot
readonly BOOTS_AGAIN=3

# ended_by_qemu NODE: succeed if a known fault of QEMU ended NODE; set QEMU_FAULT. Two faults were
# seen with QEMU 10.0.2:
# - The kernel moves the address ranges of its PCI devices, and one thread of QEMU uses a memory
#   map that another thread has freed (QEMU issue 1921): an assertion fails.
# - The kernel changes its code, and puts a breakpoint (int3, byte cc) there until the change is
#   complete. A processor of QEMU executes the breakpoint after the change is complete: the kernel
#   reports an unknown int3. In the line "Code:" of this report, the byte before the brackets is the
#   byte that memory holds at the address of the breakpoint. If it is not cc, QEMU is at fault; if
#   it is cc, the kernel did not remove the breakpoint.
ended_by_qemu() {
	local dir=$OUTDIR/n$1

	if grep -q 'iotlb_to_section: Assertion' "$dir/qemu.log" 2>/dev/null; then
		QEMU_FAULT="an assertion of QEMU failed"
	elif awk '
		/Oops: int3/ { oops = 1 }
		oops && /Code: / { gone = / [0-9a-f][0-9a-f] </ && !/ cc </; exit }
		END { exit !gone }
	' "$dir/console.log" 2>/dev/null; then
		QEMU_FAULT="QEMU executed code that the kernel had changed"
	else
		return 1
	fi
}

# died_of_qemu NODE: succeed if a fault of QEMU ended NODE while its kernel booted, and NODE has had
# fewer than BOOTS_AGAIN restarts
died_of_qemu() {
	ended_by_qemu "$1" && [ "${again[$1]}" -lt "$BOOTS_AGAIN" ] && is_booting "$1"
}

# run_again ARG...: start the whole run again, once, if a known fault of QEMU ended a machine that
# look_after() did not start again. With --out, the files of the first run go to OUTDIR/first-run.
run_again() {
	local i

	[ -z "$LAB_AGAIN" ] || return 0
	for ((i = 1; i <= NODES; i++)); do
		if [ -n "${why[i]}" ] && ended_by_qemu "$i"; then break; fi
	done
	[ "$i" -le "$NODES" ] || return 0
	say "n$i: $QEMU_FAULT, the run is started again"
	VERDICT=$EXIT_DIED
	if [ -n "$KEEP" ]; then
		rm -rf "$OUTDIR/first-run"
		mkdir "$OUTDIR/first-run"
		mv "$OUTDIR"/n[1-4] "$OUTDIR/first-run"
	fi
	clean_up
	trap - INT TERM HUP EXIT
	LAB_AGAIN=1 exec "$TOP/scripts/lab" run "$@"
}

# start_again NODE WHY: boot NODE again and keep the logs of the failed boot
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

# show_registers NODE: write the registers of all processors and interrupt controllers, and the
# counters of the disks, to the file "registers" of NODE. These show where a machine hangs and which
# event it waits for. Kernels boot with nokaslr, so System.map of the root resolves the addresses.
show_registers() {
	local monitor=$RUN/n$1.monitor k

	{
		echo "info registers -a"
		for ((k = 0; k < CPUS; k++)); do echo "info lapic $k"; done
		printf '%s\n' "info pic" "info blockstats"
	} >"$monitor.in"
	# QEMU holds the pipe open, so cat would never end by itself.
	timeout 2 cat "$monitor.out" | grep -av '^(qemu)' >"$OUTDIR/n$1/registers"
}

# look_after_boot NODE: start NODE again if its boot takes longer than BOOT_LIMIT seconds times
# slow_factor(), at most BOOTS_AGAIN times. Kernels were seen to hang in the boot without any
# message (twice in about 400 boots under load). The lab does not start a machine with --systemd
# again: after a reboot, systemd can have loaded the modules under test, which can cause the hang.
look_after_boot() {
	local i=$1 now slow

	[ "${state[i]}" = up ] && [ -n "${booting[i]}" ] && [ -z "$SYSTEMD$LAB_SHELL" ] || return 0
	if ! is_booting "$i"; then
		booting[i]=
		return
	fi
	now_ms now
	slow=$(slow_factor)
	[ $((now - booting[i])) -ge $((BOOT_LIMIT * ${slow:-1} * 1000)) ] && [ "${again[i]}" -lt "$BOOTS_AGAIN" ] || return 0
	show_registers "$i"
	kill_node "$i"
	# Extend the time limit of the run by the time of the failed boot.
	start=$((start + now - booting[i]))
	deadline=$((deadline + now - booting[i]))
	start_again "$i" "not up after $((BOOT_LIMIT * ${slow:-1})) s,"
}
