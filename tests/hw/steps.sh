# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The steps of a hardware check on one machine: sourced by tests/hw/node; tests/hw/proof.sh,
# paths.sh and bench.sh call them over ssh.

# --- modules and tool

# build client|target: build modules and tool from the sources of the kit for the running kernel, or
# check that they are installed; the client also needs gencheck
step_build() {
	mkdir -p "$KIT/bin"
	if [ "$HW_MODULES" = build ]; then
		make -j"$(nproc)" -C "$KIT" modules || die "the modules cannot be built for $(uname -r)"
		make -j"$(nproc)" -C "$KIT/userspace" || die "the tool cannot be built"
		cp "$KIT/build/userspace/rnbd" "$KIT/bin/" || die "no tool"
	else
		command -v rnbd >/dev/null || die "MODULES=installed, but there is no rnbd"
		modinfo rnbd rnbd-target >/dev/null || die "MODULES=installed, but there is no module rnbd"
	fi
	if [ "$1" = client ] && ! command -v gencheck >/dev/null; then
		make -C "$KIT/tests/tools/gencheck" install PREFIX= DESTDIR="$KIT" ||
			note "gencheck cannot be built: the part gencheck is skipped"
	fi
	return 0
}

# --- the target

# make_backend MIB memory|null: set $backend to the disk that the user has named as BACKEND, or make
# a null_blk of MIB MiB, which stores data only with "memory"; without null_blk, make a ram disk
make_backend() {
	local dir=$NULLB/$HW_NAME setting memory=1

	[ "$2" = memory ] || memory=0

	if [ -n "$HW_BACKEND" ]; then
		backend=$HW_BACKEND
		return
	fi
	if ! modprobe null_blk nr_devices=0; then
		[ ! -e /sys/module/brd ] || grep -qx brd "$STATE/loads" ||
			die "no null_blk, and ram disks are in use: name a BACKEND"
		# The ram disk has the same size for all parts, because brd stays loaded until "node
		# undo".
		modprobe brd rd_nr=1 rd_size=$((1 << 20)) || die "no null_blk and no ram disk: name a BACKEND"
		backend=/dev/ram0
		return
	fi
	need_mount configfs /sys/kernel/config
	if [ ! -d "$dir" ]; then
		mkdir "$dir" || die "null_blk has no configfs: name a BACKEND"
		for setting in size="$1" memory_backed=$memory discard=0 \
			submit_queues="$(nproc)" hw_queue_depth=1024 irqmode=0; do
			echo "${setting#*=}" >"$dir/${setting%%=*}" || die "null_blk refuses $setting"
		done
		echo 1 >"$dir/power" || die "null_blk makes no disk"
	fi
	backend=/dev/$HW_NAME
	wait_for 10 test -b "$backend"
	echo none >"/sys/block/$HW_NAME/queue/scheduler"
}

drop_backend() { [ ! -d "$NULLB/$HW_NAME" ] || rmdir "$NULLB/$HW_NAME"; }

# target_up MIB memory|null: make a backend and export it as "bench"
step_target_up() {
	need_mount configfs /sys/kernel/config
	make_backend "$@"
	target_start
	export_disk bench "$backend"
	echo "export of $backend at $ADDR"
}

step_target_down() {
	rnbd export remove bench --prune || die "the export cannot be removed"
	drop_backend
}

# --- the client

# attach EXPORT [OPTION...]: as in ../lib/rnbd.sh, but with the host id that this run has drawn
attach() {
	modprobe rnbd || die "modprobe rnbd failed"
	rnbd attach "$ADDR" "$@" --host-id "$HW_HOST" --loss-timeout 120 || die "attach of $1 failed"
}

# client_up [OPTION...]: attach the export and print the device
step_client_up() {
	local dev

	need_mount debugfs /sys/kernel/debug
	dev=$(attach bench "$@") || exit 1
	echo "$dev" >"$STATE/dev"
	echo "$dev"
}

step_client_down() {
	detach "$(<"$STATE/dev")"
	rm "$STATE/dev"
}

step_load() { modprobe "$@"; }

# counters: print the counters of the attached disk, lines "NAME VALUE"
step_counters() {
	local file value

	for file in "/sys/block/$(basename "$(<"$STATE/dev")")/rnbd"/*; do
		case ${file##*/} in
		address | session_id | export_id | name | deactivate) continue ;;
		esac
		value=$(cat "$file" 2>/dev/null) && echo "${file##*/} $value"
	done
}

# verify FIO-OPTION...: write and verify on the attached disk
step_verify() { verify "$(<"$STATE/dev")" "$@"; }

# --- probes on the functions that register memory

# The functions of the RDMA core by which kernel modules register memory, and the functions of
# soft-RoCE that execute work requests for registration and invalidation
REGISTER="ib_alloc_mr ib_alloc_mr_integrity ib_map_mr_sg ib_map_mr_sg_pi ib_dereg_mr_user
	rxe_reg_fast_mr rxe_invalidate_mr"
# The functions that post work requests, one per driver; probes are set on those that this kernel
# has.
POST="mlx5_ib_post_send mlx4_ib_post_send irdma_post_send bnxt_re_post_send ionic_post_send
	hns_roce_v2_post_send qedr_post_send ocrdma_post_send erdma_post_send c4iw_post_send
	pvrdma_post_send rvt_post_send siw_post_send mdl_post_send rxe_post_send"

has_function() { grep -q " [tT] $1\([[:space:]]\|$\)" /proc/kallsyms; }

# probe NAME SPECIFICATION: add a kprobe
probe() { echo "p:$PROBES/$1 $2" >>"$TRACE/kprobe_events"; }

# probe_posts FUNCTION: count the opcodes of the first four work requests in a posted list. n0, n1
# and n2 are the "next" pointers of the first three requests. An opcode is counted only if all
# pointers that lead to its request are not null.
probe_posts() {
	# shellcheck disable=SC2016 # the second argument of the function
	local name=$1 next='$arg2' fields='' condition='' i

	for i in 0 1 2 3; do
		probe "post_${name}_$i" "$name${fields} op=+28($next):u32" || return
		echo "hist:keys=op${condition:+ if $condition}" >"$TRACE/events/$PROBES/post_${name}_$i/trigger" || return
		fields+=" n$i=+0($next):x64"
		condition+="${condition:+ && }n$i != 0"
		next="+0($next)"
	done
}

step_probes_on() {
	local name

	need_mount tracefs "$TRACE"
	for name in $REGISTER; do
		if has_function "$name"; then
			probe "$name" "$name" || die "no kprobe on $name"
		else
			echo "$name: not in this kernel"
		fi
	done
	for name in $POST; do
		has_function "$name" || continue
		if probe_posts "$name"; then
			echo "opcodes: probes on $name"
		else
			echo "opcodes: not available: no probe on $name"
		fi
	done
	echo 1 >"$TRACE/events/$PROBES/enable" || die "the probes cannot be switched on"
}

# probes: print the counts of the probes as lines "calls FUNCTION N" and "opcode NUMBER N"
step_probes() {
	awk '$1 !~ /^post_/ { print "calls", $1, $2 }' "$TRACE/kprobe_profile"
	cat "$TRACE/events/$PROBES"/post_*/hist 2>/dev/null |
		sed -n 's/^{ op: *\([0-9]*\) *} hitcount: *\([0-9]*\).*/\1 \2/p' |
		awk '{ n[$1] += $2 } END { for (op in n) print "opcode", op, n[op] }' | sort
}

step_probes_off() { remove_probes; }

# --- faults

step_strike() { strike "$@"; }
step_hits() { hits "$@"; }

hits_over() { [ "$(hits "$1" "$2")" -gt "$3" ]; }
step_wait_hits() { wait_for 60 hits_over "$@"; }

state_is() { [ "$(counter "$(<"$STATE/dev")" state)" = "$1" ]; }
step_wait_state() { wait_for "${2-60}" state_is "$1"; }

step_counter() { counter "$(<"$STATE/dev")" "$1"; }
step_wait_over() { wait_for "${3-90}" counter_over "$(<"$STATE/dev")" "$1" "$2"; }

# set_parameter MODULE NAME VALUE: set a parameter until "node reset" or "node undo" restores it
step_set_parameter() {
	local file=/sys/module/$1/parameters/$2

	echo "$file $(<"$file")" >>"$STATE/parameters"
	echo "$3" >"$file" || die "$1 refuses $2=$3"
}

step_export_toggle() {
	rnbd export disable bench || die "the export cannot be disabled"
	rnbd export enable bench || die "the export cannot be enabled"
}

step_port_toggle() {
	local port value

	for port in "$CFG"/ports/*/; do
		{ echo 0 && echo 1; } | while read -r value; do
			echo "$value" >"${port}enable" || die "the port refuses enable=$value"
		done || exit
	done
}

# port_down SECONDS: set the network device of the RDMA port down. A timer sets it up again after
# SECONDS, unless step_port_up has done so before.
step_port_down() {
	local dev mine

	dev=$(ip -o route get "$ADDR" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
	mine=$(awk '{ print $3 }' <<<"${HW_SSH-}")
	if [ -z "$mine" ] || ip -o addr show dev "$dev" | grep -qF " $mine/"; then
		echo "skip: ssh uses $dev, or its address is not known"
		exit 77
	fi
	# The management queue pair of soft-RoCE fails for good if it cannot send a packet.
	if grep -qsx "$dev" /sys/class/infiniband/*/parent; then
		echo "skip: soft-RoCE on $dev makes no connection after its port was down"
		exit 77
	fi
	{
		echo "ip link set dev $dev up"
		ip route show dev "$dev" | grep -v 'proto kernel' | sed "s/^/ip route replace /; s/$/ dev $dev/"
	} >"$STATE/link.new"
	mv "$STATE/link.new" "$STATE/link"
	# shellcheck disable=SC2016 # a program with arguments
	setsid bash -c 'sleep "$1"; [ ! -e "$2" ] || { bash "$2" && rm -f "$2"; }' watchdog "$1" "$STATE/link" \
		</dev/null >/dev/null 2>&1 &
	ip link set dev "$dev" down || die "$dev cannot be set down"
	echo "$dev is down"
}

step_port_up() { restore_link || die "the link cannot be set up"; }

# --- the generation checker

# check_start BLOCKS THREADS: start gencheck in the background; check_stop ends it
step_check_start() {
	local dev journal=$KIT/out/journal more=() pid

	dev=$(<"$STATE/dev")
	[ -e "$journal" ] || more=(--new --fill any)
	# shellcheck disable=SC2016
	setsid bash -c 'status=$1; shift; "$@"; echo $? >"$status"' check "$OUT/check.status" \
		gencheck run --journal "$journal" "${more[@]}" --blocks "$1" --threads "$2" --io 1-16 \
		--time 1000000 "$dev" </dev/null >"$OUT/check.log" 2>&1 &
	pid=$!
	: >"$STATE/running/$pid"
	echo "$pid" >"$STATE/check"
	rm -f "$OUT/check.status"
	wait_for 30 counter_over "$dev" requests 100
}

# Send the signal to gencheck and not to its process group, because the group contains the bash that
# records the exit status of gencheck.
step_check_stop() {
	local pid

	pid=$(<"$STATE/check")
	pkill -TERM -P "$pid" || die "gencheck has ended: $(cat "$OUT/check.log")"
	wait_for 120 test -s "$OUT/check.status"
	rm -f "$STATE/running/$pid" "$STATE/check"
	cat "$OUT/check.log"
	[ "$(<"$OUT/check.status")" = 0 ] || die "gencheck run ended with $(<"$OUT/check.status")"
}

step_check_verify() {
	gencheck verify --journal "$KIT/out/journal" "$(<"$STATE/dev")" || die "gencheck verify ended with $?"
}

# --- the bench

# busy: print the busy processor time in 1/100 s, and the numbers of interrupts and context
# switches, all since the machine was booted
step_busy() {
	awk '/^cpu / { busy = $2 + $3 + $4 + $7 + $8 } /^intr / { intr = $2 } /^ctxt / { ctxt = $2 }
		END { print busy, intr, ctxt }' /proc/stat
}

# bench_export SYSTEM MIB, bench_attach SYSTEM QUEUES: see ../bench/peers.sh
step_bench_export() {
	need_mount configfs /sys/kernel/config
	make_backend "$2" null
	peer_export "$1"
}

step_bench_unexport() { peer_unexport "$1"; }

step_bench_attach() {
	peer_attach "$@"
	printf '%s\n' "$dev" >"$STATE/dev"
	printf '%q ' "${engine[@]}" >"$STATE/engine"
	echo "$dev, ${engine[*]}"
}

step_bench_detach() {
	dev=$(<"$STATE/dev")
	peer_detach "$1"
	rm -f "$STATE/dev"
}

# bench_fio RW BS DEPTH NUMJOBS BATCH SECONDS MIB: run fio; print a line with the output of
# step_busy from before and from after the run, then the JSON of fio
step_bench_fio() {
	local before opts=() engine=()

	eval "engine=($(<"$STATE/engine"))"
	[ "$5" = 1 ] || opts=(--iodepth_batch_submit="$5" --iodepth_batch_complete_min=1
		--iodepth_batch_complete_max="$3")
	before=$(step_busy)
	fio --name=bench --filename="$(<"$STATE/dev")" --direct=1 "${engine[@]}" --rw="$1" --bs="$2" \
	    --iodepth="$3" --numjobs="$4" --group_reporting --norandommap --size="$7m" --randrepeat=1 \
	    --time_based --runtime="$6" --lat_percentiles=1 --clat_percentiles=0 \
	    --percentile_list=50:90:99:99.9 --output-format=json "${opts[@]}" \
	    >"$OUT/fio.json" 2>"$OUT/fio.err" || die "fio: $(head -n 3 "$OUT/fio.err")"
	echo "$before $(step_busy)"
	cat "$OUT/fio.json"
}

# read_out FILE: print a file that a step has written
step_read_out() { cat "$OUT/$1"; }
