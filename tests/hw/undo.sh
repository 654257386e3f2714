# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The changes of a hardware check on a machine and how they are undone: sourced by tests/hw/node.
#
# step_begin records the state before the run. step_undo removes the objects of the run by their
# names, so that it works after an interruption at any point. It unloads the modules that the
# run has loaded, and unmounts the file systems that are not in the recorded state.

# The names of the objects that a run makes; those of nvmet are in ../bench/peers.sh.
HW_NAME=hwcheck
NULLB=/sys/kernel/config/nullb
TRACE=/sys/kernel/tracing
PROBES=rnbdproof

# OWN: modules that are built from the sources of the kit, in the order in which they are loaded
OWN="rnbd-core rnbd rnbd-target"

modules_now() { cut -d ' ' -f 1 /proc/modules | sort; }
mounts_now() { awk '$3 ~ /^(debugfs|tracefs|configfs)$/ { print $2 }' /proc/mounts | sort; }

# objects_now: print the existing objects of the kinds that a run makes or changes, a line each
objects_now() {
	local file

	modules_now | grep -xFf <(sort -u "$STATE/modules" "$STATE/loads") | sed 's/^/module /'
	mounts_now | sed 's/^/mount /'
	find "$CFG"/{exports,hosts,ports} "$NVMET"/{subsystems,ports} "$NULLB" -mindepth 1 -maxdepth 1 -type d \
		-printf 'configfs %p\n' 2>/dev/null
	for file in /sys/class/block/{rnbd,nvme,ram}* "/sys/class/block/$HW_NAME"; do
		[ ! -e "$file" ] || echo "disk ${file##*/}"
	done
	sed 's/^/probe /' "$TRACE/kprobe_events" 2>/dev/null
	for file in /sys/class/net/*/device; do
		[ ! -e "$file" ] || echo "link ${file%/device} flags $(cat "${file%device}flags")"
	done
	for file in /etc/rnbd /etc/rnbd/* /etc/nvme/host*; do
		[ ! -f "$file" ] || echo "file $file $(md5sum <"$file")"
	done
	for file in /sys/module/rnbd*/parameters/*; do
		[ ! -e "$file" ] || echo "parameter $file $(cat "$file")"
	done
	return 0
}

# need_unused: fail if objects that the run would make or change already exist on this machine
need_unused() {
	local file

	for file in "$CFG"/{exports,ports,hosts}/* /sys/block/rnbd* "$NVMET"/{subsystems,ports}/* \
		"$NULLB/$HW_NAME"; do
		[ ! -e "$file" ] || die "in use on this machine: $file"
	done
	[ "$HW_MODULES" != build ] || ! grep -q '^rnbd' /proc/modules ||
		die "modules rnbd* are loaded: unload them, or use MODULES=installed"
}

step_begin() {
	mkdir -p "$STATE/running" "$OUT"
	[ ! -e "$STATE/before" ] || die "this folder was used by an earlier run"
	need_unused
	mounts_now >"$STATE/mounts"
	modules_now >"$STATE/modules"
	: >"$STATE/loads"
	objects_now | sort >"$STATE/before"
	# The results contain the kernel log from this line on.
	echo "rnbd-hw: $HW_RUN begins" >/dev/kmsg
}

# need_mount TYPE PATH: mount the file system unless it is mounted
need_mount() { mountpoint -q "$2" || mount -t "$1" "$1" "$2" || die "$2 cannot be mounted"; }

# depends FILE: print the modules on which a module of the kit depends, except modules of the kit
depends() {
	local name

	for name in $(modinfo -F depends "$1" | tr , ' '); do
		[[ " ${OWN//-/_} " = *" ${name//-/_} "* ]] || echo "$name"
	done
}

# note_load MODULE: record the names of all modules that modprobe might load with it
note_load() {
	command modprobe --show-depends "$1" 2>/dev/null |
		sed -n 's|^insmod .*/\([^/ ]*\)\.ko[.a-z0-9]* .*|\1|p; s|^insmod .*/\([^/ ]*\)\.ko[.a-z0-9]*$|\1|p' |
		tr - _ >>"$STATE/loads"
}

# load MODULE [PARAMETER...]: record the names of MODULE and of the modules on which it depends,
# then load them
load() {
	local name=$1 file=$KIT/$1.ko dep

	shift
	[ ! -e "/sys/module/${name//-/_}" ] || return 0
	if [ "$HW_MODULES" = build ] && [[ " $OWN " = *" $name "* ]]; then
		[ "$name" = rnbd-core ] || load rnbd-core || return
		for dep in $(depends "$file"); do load "$dep" || return; done
		echo "${name//-/_}" >>"$STATE/loads"
		insmod "$file" "$@"
	else
		note_load "$name"
		command modprobe "$name" "$@"
	fi
}

# modprobe: replace the command modprobe, which the test libraries call: record the modules that are
# loaded, and remove none, because "node undo" unloads them
modprobe() {
	local name

	case $1 in
	-r) return 0 ;;
	-a)
		for name in "${@:2}"; do load "$name" || return; done
		;;
	*) load "$@" ;;
	esac
}

# unload_new: unload the modules that the run has loaded and that are not in use
unload_new() {
	local name again=1

	while [ -n "$again" ]; do
		again=
		for name in $(modules_now | comm -13 "$STATE/modules" - |
				grep -xFf <(sort -u "$STATE/loads")); do
			rmmod "$name" 2>/dev/null && again=1
		done
	done
}

unloaded() {
	unload_new
	! modules_now | comm -13 "$STATE/modules" - | grep -qxFf <(sort -u "$STATE/loads")
}

# end_running: end the process groups of other steps that still run
end_running() {
	local file pid

	for file in "$STATE"/running/*; do
		[ -e "$file" ] || continue
		pid=${file##*/}
		kill -TERM -- "-$pid" 2>/dev/null && note "ended process group $pid"
		wait_quietly 20 group_ended "$pid" || kill -KILL -- "-$pid" 2>/dev/null
		rm -f "$file"
	done
}
group_ended() { ! kill -0 -- "-$1" 2>/dev/null; }

disarm() {
	local point

	for point in /sys/kernel/debug/rnbd/{rnbd,rnbd-target}/*; do
		[ ! -e "$point" ] || grep -q '^0 ' "$point" || echo 0 >"$point"
	done
}

remove_probes() {
	[ -e "$TRACE/events/$PROBES" ] || return 0
	find "$TRACE/events/$PROBES" -mindepth 2 -maxdepth 2 -name trigger | while read -r file; do
		grep '^hist:' "$file" | sed 's/ \[active\]//; s/^/!/' | while read -r line; do
			echo "$line" >"$file"
		done
	done
	echo 0 >"$TRACE/events/$PROBES/enable"
	sed -n "s|^[a-z0-9]*:\($PROBES/[^ ]*\).*|-:\1|p" "$TRACE/kprobe_events" |
		while read -r line; do echo "$line" >>"$TRACE/kprobe_events"; done
}

remove_client() {
	local disk

	if [ -e /sys/module/rnbd ] && command -v rnbd >/dev/null; then
		for disk in /sys/block/rnbd*; do
			# Each attached disk has this directory. Only this run can have attached the
			# disk, because step_begin refuses a machine that already has one.
			[ -d "$disk/rnbd" ] || continue
			note "detaching ${disk##*/}"
			timeout 90 rnbd detach "${disk##*/}" || timeout 90 rnbd detach "${disk##*/}" --force
		done
	fi
	if grep -qsx bench /sys/class/nvme-subsystem/*/subsysnqn; then
		note "disconnecting nvme"
		timeout 90 nvme disconnect -n bench >/dev/null
	fi
}

remove_target() {
	local dir

	if [ -d "$CFG" ] && command -v rnbd >/dev/null; then
		for dir in "$CFG"/exports/*/; do
			[ -d "$dir" ] || continue
			note "removing export $(basename "$dir")"
			timeout 90 rnbd export remove "$(basename "$dir")" --prune
		done
		rmdir "$CFG"/ports/* "$CFG"/hosts/* 2>/dev/null
	fi
	if [ -d "$NVMET/subsystems/bench" ]; then
		note "removing the subsystem of nvmet"
		nvmet_unexport rdma 2>/dev/null
	fi
	[ ! -d "$NULLB/$HW_NAME" ] || rmdir "$NULLB/$HW_NAME"
}

# restore_link: set up a link that the run has set down; the timer of step_port_down does the same
restore_link() {
	[ -e "$STATE/link" ] || return 0
	bash "$STATE/link" && rm -f "$STATE/link"
}

restore_parameters() {
	local file value

	[ -e "$STATE/parameters" ] || return 0
	while read -r file value; do
		[ ! -e "$file" ] || echo "$value" >"$file"
	done <"$STATE/parameters"
	rm -f "$STATE/parameters"
}

unmount_new() {
	mounts_now | comm -13 "$STATE/mounts" - | while read -r file; do umount "$file"; done
}

# reset: remove what a failed part has left behind, before the next part
step_reset() {
	rm -f "$STATE/running/$$"
	end_running
	disarm
	remove_probes
	remove_client
	restore_parameters
	remove_target
}

# undo: restore the machine; the directory of the kit stays, because it contains the logs
step_undo() {
	exec 9>"$KIT/undo.lock"
	flock 9
	[ -e "$STATE/before" ] || return 0
	: >"$STATE/undone"
	end_running
	restore_link
	disarm
	remove_probes
	remove_client
	restore_parameters
	remove_target
	wait_quietly 90 unloaded
	unmount_new
	dmesg | awk -v run="$HW_RUN" '
		index($0, "rnbd-hw: " run " begins") { found = 1 }
		found && !/audit:|\[UFW|IN=.* OUT=/ { print }' >"$OUT/dmesg"
	step_leftovers
}

# leftovers: print the differences from the state before the run; fail if there are any
step_leftovers() {
	objects_now | sort >"$STATE/after"
	modules_now | comm -13 "$STATE/modules" - | grep -vxFf <(sort -u "$STATE/loads") |
		sed 's/^/also loaded since, by others or on demand: /'
	if diff "$STATE/before" "$STATE/after" >"$STATE/diff"; then
		echo "nothing is left over"
		return 0
	fi
	sed -n 's/^> /left over: /p; s/^< /missing: /p' "$STATE/diff"
	return 1
}

# keeper: tests/hw/run sends a line every few seconds, and the line "end" after it has undone the
# run. If no line arrives for 60 s or the ssh connection ends, this machine restores itself and, if
# nothing is left over, removes the kit.
step_keeper() {
	local line

	trap '' HUP INT
	while read -r -t 60 line; do
		[ "$line" != end ] || exit 0
	done
	logger -t rnbd-hw "lost the machine that runs the check: undoing" 2>/dev/null
	step_undo >"$OUT/undo.log" 2>&1 && rm -rf "$KIT"
}
