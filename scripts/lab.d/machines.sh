# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# The machines of one run: network, start and stop, requests, verdict.
#
# Every run has a directory in the cache (RUN) and a network namespace. The id and the start time of
# the process scripts/lab are part of both names. So any number of runs can exist side by side, and
# the next run recognises and removes the remains of a run whose process was killed.
#
# State of node i: state[i] is
#   up       its QEMU runs and its script has not ended
#   ended    the script has ended (code[i]); the machine stays for the others
#   killed   killed on request
#   dead     ended without a request; why[i] says how, and is empty after "lab may-die"

# Kernel messages that fail the run (regular expression)
readonly REPORTS='WARNING: |BUG: |kernel BUG at|Oops[: ]|general protection fault|Kernel panic'\
'|INFO: task .* blocked for more than|possible (recursive|circular) locking|inconsistent lock state'\
'|suspicious RCU usage|possible irq lock inversion|bad unlock balance|held lock freed|lock held when'\
'|trying to register non-static key|turning off the locking correctness validator'\
'|KASAN: |KCSAN: |KFENCE: |UBSAN: |refcount_t: |rcu: INFO: .*(stall|expedited)'\
'|list_(add|del) corruption|list_add double add|unregister_netdevice: waiting|scheduling while atomic|soft lockup|hard LOCKUP'\
'|sleeping function called|Objects remaining|still has objects|divide error|invalid opcode|DEBUG_LOCKS_WARN_ON'\
'|DMA-API: .*error|ODEBUG: |Unable to handle|Bad page state|stack-protector'\
'|BUG [^ ]+ \(|kmemleak: (Cannot allocate|Memory pool empty|Kernel memory leak detector disabled)'\
'|lab: leaked by our modules'

# Seconds that the scripts still running get to end after the first failure or kernel report
readonly GRACE_FAILED=20 GRACE_REPORT=30
state=() code=() why=() pid=() boots=() mortal=() again=() booting=()
outfd=() errfd=() outpart=() errpart=()
declare -A pending=() wanted=() expiry=()

# find_accel: set MACHINE, and set ACCEL to kvm if KVM boots this kernel on this host, otherwise to
# tcg; KVM is tested once per boot of the host and guest root
find_accel() {
	local id cached line

	# Debian's kernel boots faster on the machine type pc. A debug kernel would spend more than
	# a minute there in the interrupt links of the ACPI tables.
	MACHINE=pc
	[ "$KERNEL" = stock ] || MACHINE=q35
	# On a busy host a kernel hung in the probe of the PS/2 controller, which the lab does not
	# use.
	MACHINE+=,i8042=off

	id=$(cat /proc/sys/kernel/random/boot_id)
	cached=$ROOT/accel-$id
	if [ ! -e "$cached" ]; then
		line=tcg
		if [ -w /dev/kvm ] && timeout 20 qemu-system-x86_64 -M "$MACHINE" -nodefaults -no-user-config \
			-display none -no-reboot -m 512 -accel kvm -cpu host \
			-kernel "$ROOT/vmlinux" -initrd "$ROOT/initrd" -serial stdio \
			-append "console=ttyS0 quiet panic=-1 lab.probe" </dev/null 2>&1 |
			grep -aq 'lab: stage0: alive'; then
			line=kvm
		fi
		rm -f "$ROOT"/accel-*
		echo "$line" >"$cached.$$"
		mv "$cached.$$" "$cached"
	fi
	ACCEL=$(cat "$cached")
}

# find_tsc: set TSC_KHZ, the frequency of the time stamp counter of an emulated machine, see tsc.c.
# With --icount the counter counts instructions.
find_tsc() {
	local id cached

	TSC_KHZ=1000000
	[ -z "$ICOUNT" ] && [ "$ACCEL" != kvm ] || return 0
	id=$(cat /proc/sys/kernel/random/boot_id)
	cached=$RNBD_LAB_CACHE/tsc-$id
	if [ ! -s "$cached" ]; then
		need_commands gcc:gcc /usr/include/stdlib.h:libc6-dev
		{ gcc -O2 -o "$cached.$$.bin" "$LAB_D/tsc.c" && "$cached.$$.bin" >"$cached.$$"; } ||
			die "cannot measure the time stamp counter"
		rm -f "$cached.$$.bin"
		mv "$cached.$$" "$cached"
		find "$RNBD_LAB_CACHE" -maxdepth 1 -name 'tsc-*' -mmin +1 ! -path "$cached*" -delete
	fi
	TSC_KHZ=$(cat "$cached")
}

remove_stale_runs() {
	local dir id ns

	for dir in "$RNBD_LAB_CACHE"/run/*/; do
		[ -d "$dir" ] || continue
		id=$(basename "$dir")
		[ "$(start_time "${id%-*}")" = "${id#*-}" ] && continue
		remove_run "$id"
	done
	for ns in $(ip netns list 2>/dev/null | awk '/^rnbdlab-/ { print $1 }'); do
		id=${ns#rnbdlab-}
		[ "$(start_time "${id%-*}")" = "${id#*-}" ] && continue
		remove_run "$id"
	done
}

remove_run() {
	local ns=rnbdlab-$1 process

	if [ -e "/run/netns/$ns" ]; then
		for process in $(ip netns pids "$ns" 2>/dev/null); do
			kill -KILL "$process" 2>/dev/null
		done
		ip netns del "$ns" 2>/dev/null
	fi
	rm -rf --one-file-system "$RNBD_LAB_CACHE/run/$1"
}

make_network() {
	local i

	ip netns add "$NS" || die "cannot make a network namespace"
	{
		echo "link set lo up"
		echo "link add br0 mtu 9000 type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
		for ((i = 1; i <= NODES; i++)); do
			echo "tuntap add tap$i mode tap"
			echo "link set tap$i mtu 9000 master br0 up"
		done
		echo "link set br0 up"
	} | ip -n "$NS" -batch - || die "cannot make the network of the run"
	# The host itself must have no address in the network of the machines.
	ip netns exec "$NS" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null
}

# make_run_initrd: make the initramfs of this run: stage0, the product, the modules of --peers,
# guest/init and guest/lab
make_run_initrd() {
	local dir=$RUN/initrd.d

	mkdir -p "$dir/product/root/usr/local/bin"
	cp "$LAB_D/guest/init" "$dir/product/init"
	cp "$LAB_D/guest/lab" "$dir/product/root/usr/local/bin/lab"
	chmod 755 "$dir/product/init" "$dir/product/root/usr/local/bin/lab"
	make_cpio "$dir" >"$RUN/guest.cpio" || die "cannot make the initramfs"
	cat "$ROOT/initrd" ${PRODUCT:+"$PRODUCT"} ${PEERS:+"$PEERS"} "$RUN/guest.cpio" >"$RUN/initrd"
}

make_disks() {
	local i k

	for ((i = 1; i <= NODES; i++)); do
		for ((k = 0; k < ${#DISKS[@]}; k++)); do
			truncate -s "${DISKS[k]}" "$RUN/n$i.disk$k" || die "--disk ${DISKS[k]}: not a size"
		done
	done
}

prepare_node() {
	local i=$1 dir=$OUTDIR/n$1 fd

	mkdir -p "$dir/ctl"
	rm -f "$dir"/ctl/* "$dir/console.log" "$dir/qemu.log" "$dir/dmesg"
	: >"$dir/stdout"
	: >"$dir/stderr"
	exec {fd}<"$dir/stdout"
	outfd[i]=$fd
	exec {fd}<"$dir/stderr"
	errfd[i]=$fd
	outpart[i]='' errpart[i]='' boots[i]=0 why[i]='' code[i]='' mortal[i]=0 again[i]=0
}

start_node() {
	local i=$1 k dir=$OUTDIR/n$1 accel console=() disks=() reboot=(-no-reboot) smp=$CPUS
	local append="console=ttyS0 panic=-1 oops=panic mitigations=off nokaslr net.ifnames=0"

	append+=" no_timer_check tsc=reliable rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60"
	# Skip the self-tests of the ciphers: they took half of the instructions of a boot.
	append+=" cryptomgr.notests printk.devkmsg=on lab.node=$i $APPEND"
	[ "$ACCEL" = kvm ] || append+=" tsc_early_khz=$TSC_KHZ"
	boots[i]=$((boots[i] + 1))
	rm -f "$dir"/ctl/*
	{
		printf 'NODE=%q NODES=%q LAB_BOOT=%q\n' "$i" "$NODES" "${boots[i]}"
		printf 'LAB_KERNEL=%q LAB_SLOW=%q\n' "$KERNEL" "$(slow_factor)"
		printf 'LAB_SYSTEMD=%q LAB_AGAIN=%q\n' "$SYSTEMD" "$LAB_AGAIN"
		printf 'LAB_ADAPTER=%q LAB_SIDES=%q LAB_SEED=%q LAB_NASTY=%q\n' \
			"$ADAPTER" "$SIDES" "$SEED" "$NASTY"
		printf 'LAB_SHELL=%q LAB_ROWS=%q LAB_COLS=%q LAB_TERM=%q\n' \
			"$LAB_SHELL" "${ROWS:-24}" "${COLS:-80}" "${TERM:-vt100}"
		printf 'LAB_SCRIPT=%q\nLAB_ARGS=(' "$SCRIPT_REL"
		[ ${#ARGS[@]} -gt 0 ] && printf '%q ' "${ARGS[@]}"
		printf ')\n'
	} >"$dir/ctl/env"

	# QEMU emulates POSSIBLE processors, and the kernel starts CPUS of them. The kernel counts
	# processors that QEMU does not emulate as possible only under a hypervisor that it knows.
	[ -z "$POSSIBLE" ] || smp=$POSSIBLE append+=" maxcpus=$CPUS"
	if [ -n "$ICOUNT" ]; then
		accel=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -cpu "$TCG_CPU")
	elif [ "$ACCEL" = kvm ]; then
		accel=(-accel kvm -cpu host)
	else
		accel=(-accel "tcg,thread=multi" -cpu "$TCG_CPU")
	fi
	# With --systemd, QEMU survives a reboot, so the machine keeps the changes of its root.
	[ -z "$SYSTEMD" ] || reboot=()
	[ -z "$PLUGIN" ] || accel+=(-plugin "file=$PLUGIN,out=$dir/count")
	if [ -n "$LAB_SHELL" ]; then
		console=(-chardev "socket,id=con,path=$RUN/n$i.console,server=on,wait=off,logfile=$dir/console.log,logappend=on")
	else
		console=(-chardev "file,id=con,path=$dir/console.log,append=on")
	fi
	for ((k = 0; k < ${#DISKS[@]}; k++)); do
		disks+=(-drive "if=none,id=d$k,file=$RUN/n$i.disk$k,format=raw,cache=$DISK_CACHE,discard=unmap"
			-device "virtio-blk-pci,drive=d$k,serial=disk$k")
	done
	rm -f "$RUN/n$i.monitor".{in,out}
	mkfifo "$RUN/n$i.monitor".{in,out}
	TMPDIR=$RUN/overlay "${ENTER[@]}" setpriv --pdeathsig KILL -- \
		qemu-system-x86_64 -name "n$i" -uuid "00000000-0000-4000-8000-00000109000$i" \
		-nodefaults -no-user-config -display none "${reboot[@]}" \
		-M "$MACHINE" "${accel[@]}" -smp "$smp" -m "$MEM" \
		-kernel "$ROOT/vmlinux" -initrd "$RUN/initrd" -append "$append" \
		"${console[@]}" -serial chardev:con -device virtio-rng-pci \
		-chardev "pipe,id=mon,path=$RUN/n$i.monitor" -mon chardev=mon \
		-drive "if=none,id=root,file=$IMAGE,format=raw,snapshot=on,cache=unsafe$ROOT_ERRORS" \
		-device virtio-blk-pci,drive=root,serial=root "${disks[@]}" \
		-netdev "tap,id=net,ifname=tap$i,script=no,downscript=no" \
		-device "virtio-net-pci,netdev=net,host_mtu=9000,mac=52:54:00:10:90:0$i,romfile=" \
		-virtfs "local,path=$dir,mount_tag=node,security_model=none,multidevs=remap" \
		-virtfs "local,path=$SHARE,mount_tag=src,security_model=none,readonly=on,multidevs=remap" \
		-virtfs "local,path=$RUN/shared,mount_tag=shared,security_model=none,multidevs=remap" \
		</dev/null >>"$dir/qemu.log" 2>&1 &
	pid[i]=$!
	state[i]=up
	now_ms "booting[$i]"
}

# kill_node NODE: end the machine and drop its requests
kill_node() {
	local i=$1

	if [ -n "${pid[i]}" ]; then
		kill -KILL "${pid[i]}" 2>/dev/null
		wait "${pid[i]}" 2>/dev/null
		pid[i]=
	fi
	rm -f "$OUTDIR/n$i"/ctl/*
	forget_arrivals "$i"
}

# --- output -----------------------------------------------------------------

emit() {
	local prefix=

	[ "$NODES" -gt 1 ] && prefix="n$1: "
	printf '%s%s\n' "$prefix" "$2"
}

# show NODE: print the output that its script has written since the last call
show() {
	local i=$1 line

	while IFS= read -r -u "${outfd[i]}" line; do
		emit "$i" "${outpart[i]}$line"
		outpart[i]=
	done
	outpart[i]+=$line
	while IFS= read -r -u "${errfd[i]}" line; do
		emit "$i" "${errpart[i]}$line" >&2
		errpart[i]=
	done
	errpart[i]+=$line
}

show_rest() {
	show "$1"
	[ -n "${outpart[$1]}" ] && emit "$1" "${outpart[$1]}"
	[ -n "${errpart[$1]}" ] && emit "$1" "${errpart[$1]}" >&2
	outpart[$1]='' errpart[$1]=''
}

# --- requests ---------------------------------------------------------------

# ack NODE ID STATUS [MESSAGE]: answer the request ID of NODE
ack() {
	local ctl=$OUTDIR/n$1/ctl

	printf '%s %s\n' "$3" "${4-}" >"$ctl/tmp.ack" && mv "$ctl/tmp.ack" "$ctl/ack.$2"
}

forget_arrivals() {
	local name item rest

	for name in "${!pending[@]}"; do
		rest=
		for item in ${pending[$name]}; do
			[ "${item%%:*}" = "$1" ] || rest+=" $item"
		done
		pending[$name]=$rest
	done
}

serve() {
	local i=$1 file id verb a b c now

	for file in "$OUTDIR/n$i"/ctl/req.*; do
		[ -e "$file" ] || continue
		id=${file##*/req.}
		read -r verb a b c <"$file"
		rm -f "$file"
		if [ "$verb" = log ]; then
			say "n$i: $a $b $c"
			ack "$i" "$id" 0
			continue
		fi
		if [ "$verb" = barrier ]; then
			if [ -z "${pending[$a]-}" ]; then
				wanted[$a]=${b//,/ }
				[ "$b" = all ] && wanted[$a]=$(seq -s ' ' "$NODES")
				expiry[$a]=
			fi
			pending[$a]+=" $i:$id"
			now_ms now
			[ "$c" != 0 ] && expiry[$a]=$((now + c * 1000))
			continue
		fi
		if [ "$a" -gt "$NODES" ]; then
			ack "$i" "$id" 1 "there is no node $a"
			continue
		fi
		case $verb:${state[a]} in
		kill:up | kill:ended)
			# A node that kills itself needs no answer.
			[ "$a" = "$i" ] || ack "$i" "$id" 0
			kill_node "$a"
			state[a]=killed
			;;
		start:killed | start:dead)
			if [ "${state[a]}" = dead ] && [ "${mortal[a]}" = 0 ]; then
				ack "$i" "$id" 1 "n$a died unexpectedly"
				continue
			fi
			start_node "$a"
			ack "$i" "$id" 0
			;;
		reset:*)
			[ "$a" = "$i" ] || ack "$i" "$id" 0
			kill_node "$a"
			start_node "$a"
			;;
		pause:up | pause:ended)
			ack "$i" "$id" 0
			kill -STOP "${pid[a]}"
			;;
		resume:up | resume:ended)
			kill -CONT "${pid[a]}"
			ack "$i" "$id" 0
			;;
		cut:* | join:*)
			[ "$verb" = cut ] && b=down || b=up
			if ip -n "$NS" link set "tap$a" "$b"; then
				ack "$i" "$id" 0
			else
				ack "$i" "$id" 1 "cannot set the link"
			fi
			;;
		may-die:*)
			mortal[a]=1
			ack "$i" "$id" 0
			;;
		*)
			ack "$i" "$id" 1 "n$a is ${state[a]}"
			;;
		esac
	done
}

# answer_barriers: answer the barriers that all requested nodes have reached, and the barriers that
# fail, because a node can no longer reach them or because their time limit is over
answer_barriers() {
	local name node item missing now problem

	now_ms now
	for name in "${!pending[@]}"; do
		[ -n "${pending[$name]}" ] || continue
		missing='' problem=''
		for node in ${wanted[$name]}; do
			[[ ${pending[$name]} == *" $node:"* ]] && continue
			missing+=" n$node"
			[ "${state[node]-none}" = up ] || problem="n$node cannot reach the barrier: ${state[node]-no such node}"
		done
		if [ -n "$missing" ] && [ -z "$problem" ]; then
			[ "$now" -ge "${expiry[$name]:-$((now + 1))}" ] || continue
			problem="timeout, missing:$missing"
		fi
		for item in ${pending[$name]}; do
			if [ -n "$missing" ]; then
				ack "${item%%:*}" "${item#*:}" 1 "$name: $problem"
			else
				ack "${item%%:*}" "${item#*:}" 0
			fi
		done
		unset "pending[$name]"
	done
}

# --- life and verdict -------------------------------------------------------

# report_of NODE: print the first kernel report in the console log or the saved kernel log of NODE
report_of() {
	local dir=$OUTDIR/n$1

	cat "$dir/console.log" "$dir/dmesg" 2>/dev/null | tr -d '\r' |
		grep -aE "$REPORTS" | grep -avE "${IGNORE:-^$}" | head -n 1 |
		sed 's/^\[[^]]*\] *//'
}

end_by() {
	local now

	now_ms now
	[ "$deadline" -gt $((now + $1 * 1000)) ] && deadline=$((now + $1 * 1000))
	return 0
}

# look_after NODE: record the end of the script or of the machine of NODE
look_after() {
	local i=$1 dir=$OUTDIR/n$1 status

	[ "${state[i]}" = up ] || [ "${state[i]}" = ended ] || return 0
	if [ "${state[i]}" = up ] && [ -e "$dir/ctl/end" ]; then
		code[i]=$(cat "$dir/ctl/end")
		state[i]=ended
		if [ "${code[i]}" != 0 ]; then
			failed=1
			end_by "$GRACE_FAILED"
		fi
	fi
	if ! kill -0 "${pid[i]}" 2>/dev/null; then
		wait "${pid[i]}" 2>/dev/null
		status=$?
		pid[i]=
		state[i]=dead
		forget_arrivals "$i"
		if died_of_qemu "$i"; then
			start_again "$i" "$QEMU_FAULT while the kernel booted,"
			return
		fi
		if [ "${mortal[i]}" = 1 ]; then
			return
		elif grep -aq 'Kernel panic' "$dir/console.log" 2>/dev/null; then
			why[i]="died (panic)"
		elif [ "$status" = 0 ]; then
			why[i]="died (reset or power-off)"
		else
			why[i]="died (qemu: $(tail -n 1 "$dir/qemu.log"))"
		fi
		failed=1
		end_by "$GRACE_FAILED"
	fi
}

run_machines() {
	local i now start busy ticks=0 tick

	failed=
	now_ms start
	deadline=$((start + TIMEOUT * 1000))
	mkfifo "$RUN/tick"
	exec {tick}<>"$RUN/tick"
	for ((i = 1; i <= NODES; i++)); do
		prepare_node "$i"
		start_node "$i"
	done
	[ -n "$LAB_SHELL" ] && connect_console
	while :; do
		busy=
		for ((i = 1; i <= NODES; i++)); do
			serve "$i"
			look_after "$i"
			show "$i"
			[ "${state[i]}" = up ] && busy=1
		done
		answer_barriers
		[[ -n $busy && -z $INTERRUPTED ]] || break
		if [ -n "$LAB_SHELL" ]; then
			kill -0 "$console_pid" 2>/dev/null || break
			[ "${state[FOCUS]}" = up ] || break
		else
			now_ms now
			[ "$now" -lt "$deadline" ] || break
			# Look for kernel reports every two seconds: after a report the script
			# rarely ends.
			if [ $((++ticks % 40)) -eq 0 ] && [ -z "$failed" ]; then
				for ((i = 1; i <= NODES; i++)); do
					look_after_boot "$i"
					# report_of() starts six processes: call it only if the log
					# has grown.
					[ "$OUTDIR/n$i/console.log" -nt "$RUN/n$i.seen" ] || continue
					: >"$RUN/n$i.seen"
					[ -n "$(report_of "$i")" ] || continue
					# A fault of QEMU during the boot is no failure:
					# look_after() starts the machine again.
					! died_of_qemu "$i" || continue
					failed=1
					end_by "$GRACE_REPORT"
				done
			fi
		fi
		read -rt 0.05 -u "$tick"
	done
	now_ms now
	ELAPSED=$((now - start))
	[ "$now" -lt "$deadline" ] || for ((i = 1; i <= NODES; i++)); do
		[ "${state[i]}" != up ] || show_registers "$i"
	done
	stop_machines
}

stop_machines() {
	local i

	for ((i = 1; i <= NODES; i++)); do
		[ -n "${pid[i]-}" ] || continue
		kill -KILL "${pid[i]}" 2>/dev/null
		wait "${pid[i]}" 2>/dev/null
		pid[i]=
	done
}

# judge: print each failure of each node; set VERDICT, the exit status
judge() {
	local i report kind bad=

	VERDICT=0
	worse() { [ "$1" -gt "$VERDICT" ] && VERDICT=$1; bad=1; }
	for ((i = 1; i <= NODES; i++)); do
		show_rest "$i"
		echo "${code[i]:-${state[i]}}" >"$OUTDIR/n$i/exit"
		[ "${state[i]}" = ended ] && [ "${code[i]}" != 0 ] && bad=1
		[ -n "${why[i]}" ] && bad=1
	done
	for ((i = 1; i <= NODES; i++)); do
		report=$(report_of "$i")
		if [ -n "${why[i]}" ]; then
			kind=${why[i]}
			[ -n "$report" ] && kind+=": $report"
			say "n$i: $kind"
			worse "$EXIT_DIED"
			continue
		fi
		if [ -n "$report" ]; then
			say "n$i: kernel report: $report"
			worse "$EXIT_REPORT"
		fi
		if [ "${state[i]}" = ended ] && [ "${code[i]}" != 0 ]; then
			say "n$i: script failed (exit ${code[i]})"
			worse "$EXIT_SCRIPT"
		elif [ "${state[i]}" = up ]; then
			if [ "$ELAPSED" -ge $((TIMEOUT * 1000)) ]; then
				say "n$i: hung (no end after $TIMEOUT s)"
				worse "$EXIT_HUNG"
			elif [ -n "$bad" ] || [ "$failed" ]; then
				say "n$i: stopped, because another node or a kernel failed"
			fi
		fi
	done
}
