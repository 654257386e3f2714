# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Keep the root disk of machines that count instructions (--icount) in the memory of the host.
#
# The clock of such a machine advances to the next timer whenever its processor is idle. While the
# machine waits for the disk of the host it is idle, and many timers expire within a millisecond of
# the host's time. So a slow disk of the host costs minutes of the guest's time: measurements are
# wrong, and the guest reports hung tasks.
#
# hold.c locks the data of the root image into the page cache, which all runs share. The writes of a
# machine to its root go to a tmpfs of its own, which ends with its QEMU. Scratch disks (--disk) are
# new and small enough for the page cache.

# MiB that a machine may write to its root before it gets I/O errors
readonly OVERLAY_MIB=1024

# choose_storage: set ENTER (the command that starts QEMU in the network namespace), ROOT_ERRORS (a
# drive option) and DISK_CACHE (how QEMU treats flushes of scratch disks)
choose_storage() {
	mkdir -p "$RUN/overlay"
	ENTER=(ip netns exec "$NS") ROOT_ERRORS='' DISK_CACHE=writeback
	[ -n "$ICOUNT" ] || return 0
	need_memory
	hold_image
	# ip-netns makes a mount namespace, and the tmpfs ends with that namespace. With
	# werror=report a full tmpfs is an I/O error in the guest; by default QEMU would stop the
	# machine.
	# shellcheck disable=SC2016 # expanded by the inner shell
	ENTER+=(sh -c 'mount -t tmpfs -o "size=$1m,mode=700" rnbdlab "$TMPDIR" || {
		echo "cannot mount a tmpfs for the writes of the machine"
		exit 1
	}
	shift
	exec "$@"' sh "$OVERLAY_MIB")
	ROOT_ERRORS=,werror=report DISK_CACHE=unsafe
}

# need_memory: fail unless the image and, for each machine, its memory and its overlay fit into the
# available memory
need_memory() {
	local need available

	need=$(($(du -m "$IMAGE" | cut -f 1) + NODES * (MEM + OVERLAY_MIB)))
	available=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
	[ "$available" -ge "$need" ] ||
		die "--icount keeps the root disk in memory: it needs $need MiB, $available MiB are available"
}

# hold_image: return once the image is in memory; the process HOLD_PID keeps it there
hold_image() {
	local hold line fd

	hold=$RNBD_LAB_CACHE/hold-$(sha256sum <"$LAB_D/hold.c" | cut -c 1-16)
	if [ ! -x "$hold" ]; then
		need_commands gcc:gcc /usr/include/stdlib.h:libc6-dev
		gcc -O2 -o "$hold.$$" "$LAB_D/hold.c" || die "cannot build $LAB_D/hold.c"
		find "$RNBD_LAB_CACHE" -maxdepth 1 -name 'hold-*' ! -path "$hold*" -mmin +60 -delete
		mv "$hold.$$" "$hold"
	fi
	exec {fd}< <(exec setpriv --pdeathsig KILL -- "$hold" "$IMAGE")
	HOLD_PID=$!
	read -ru "$fd" line || die "cannot hold the root disk in memory"
}
