#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --systemd --nodes 2 --disk 128M --timeout 480
# turns: 3
# short: systemd restores exports at boot, mounts a disk from fstab by UUID, and unmounts and detaches it at shutdown, also without a target
# kernel: stock
#
# Both machines configure themselves and reboot concurrently. The target restores its exports, one
# of them late. The client waits for the target, mounts the disk, reboots while the file system is
# dirty and busy, and finally powers off while it cannot reach the target. After that, the target
# tests the stop of its services and the removal of the package.
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=6ba7b810-9dad-41d1-80b4-00c04fd430c8
MOUNT=/mnt/data
UNIT=rnbd-attach@data.service
LOSS=15
LEAVES="the slow user leaves"
# Limit for a shutdown, in seconds of real time; a shutdown takes 10 to 20 s if the target can be
# reached
DOWN_MAX=$((90 * ${LAB_SLOW:-1}))

reboot_machine() {
	date +%s >"$OUT/went-down"
	# The lab runs this script again after the boot.
	run systemctl reboot
	exit
}

none_failed() {
	local units

	units=$(systemctl list-units --failed --plain --no-legend --no-pager)
	[ -z "$units" ] || {
		journalctl -b --no-pager -p warning | tail -n 40
		die "failed: $units"
	}
}

target() {
	case $LAB_BOOT in
	1)
		set_host_id
		run systemctl enable --now rnbd-rxe@eth0
		run mkfs.ext4 -q -U $UUID -L data /dev/lab/disk0
		mkdir -p $MOUNT
		run mount /dev/lab/disk0 $MOUNT
		echo "written on the target" >$MOUNT/first
		run umount $MOUNT
		truncate -s 16M /srv/image
		target_start
		export_disk data /dev/lab/disk0 2
		export_disk image /srv/image 1 2 -- --read-only
		# rnbd-owners must run although no configuration has been saved yet, because it
		# also records the owners of exports that are in no saved configuration.
		wait_for 10 systemctl is-active rnbd-owners
		run rnbd save
		rnbd save - >/etc/rnbd/saved || die "rnbd save -"
		run mv /srv/image /srv/late
		run systemctl enable rnbd-target
		reboot_machine
		;;
	2)
		none_failed
		run systemctl is-active rnbd-target
		late_device
		same "$(jq -r '.exports | length' /run/saved)" 2 "exports"
		note "restored: $(wc -c </run/saved) bytes of JSON are the same"
		barrier cut 400
		watch_client_go
		stop_half_restored
		remove_package
		;;
	*) die "unexpected boot $LAB_BOOT" ;;
	esac
}

all_restored() {
	rnbd save - >/run/saved && cmp -s /etc/rnbd/saved /run/saved
}

is_enabled() { [ "$(cat "$CFG/exports/$1/enable")" = 1 ]; }

# late_device: while the restore waits for the missing file of one export, the other export must be
# usable
late_device() {
	wait_for 30 is_enabled data
	is_enabled image && die "the export is enabled without its file"
	same "$(systemctl is-active rnbd-restore)" activating "rnbd-restore"
	run mv /srv/late /srv/image
	wait_for 30 systemctl is-active rnbd-restore
	all_restored || die "the target does not have the saved configuration"
}

restore_failed() { [ "$(systemctl is-active rnbd-restore)" = failed ]; }

# stop_half_restored: a stop of the service must remove all exports, even while the restore waits
# for a file, and even after the restore has failed. If the configuration was changed and not saved,
# the stop must store it in target.json.last, and only then.
stop_half_restored() {
	run systemctl restart rnbd-target
	[ ! -e /etc/rnbd/target.json.last ] || die "an unchanged configuration was saved to target.json.last"
	wait_for 30 systemctl is-active rnbd-restore
	run rnbd host allow data "$(host_id 3)"
	rnbd save - >/run/unsaved || die "rnbd save -"
	run mv /srv/image /srv/late
	run systemctl restart rnbd-target
	run cmp /run/unsaved /etc/rnbd/target.json.last
	wait_for 30 is_enabled data
	same "$(systemctl is-active rnbd-restore)" activating "rnbd-restore"
	none_left_after_stop

	mkdir -p /run/systemd/system/rnbd-restore.service.d
	printf '%s\n' "[Service]" "ExecStart=" "ExecStart=rnbd restore --wait 1" \
		>/run/systemd/system/rnbd-restore.service.d/impatient.conf
	systemctl daemon-reload
	run systemctl start rnbd-target
	wait_for 30 restore_failed
	run systemctl is-active rnbd-target
	is_enabled data || die "the other export is not enabled"
	none_left_after_stop

	run systemctl start rnbd-target
	wait_for 30 restore_failed
	run mv /srv/late /srv/image
	run systemctl reload rnbd-target
	all_restored || die "the target does not have the saved configuration"
}

none_left_after_stop() {
	run systemctl stop rnbd-target
	[ -z "$(find $CFG/{exports,ports,hosts} -mindepth 1)" ] || die "exports are left"
	same "$(systemctl is-active rnbd-target)" inactive "rnbd-target"
	[[ $(systemctl is-active rnbd-restore) = @(inactive|failed) ]] || die "rnbd-restore is still running"
	# rnbd-owners must still run: the module is loaded, so an administrator can create exports
	# by hand, and their owners must be recorded.
	run systemctl is-active rnbd-owners
}

# remove_package: after the removal of the package nothing could stop its services. So the removal
# must fail while a disk is in use. Otherwise it must detach the disks, remove the exports and stop
# rnbd-owners.
remove_package() {
	local prerm=(sh ../../debian/rnbd-tools.prerm remove) text

	run systemctl start rnbd-target
	mkdir -p /etc/rnbd/attach.d /run/systemd/system/rnbd-attach@.service.d
	printf '%s\n' "address = n1" "export = image" "read-only = yes" >/etc/rnbd/attach.d/an-image.conf
	printf '%s\n' "[Service]" "ExecStop=" "ExecStop=rnbd detach %i --idempotent --wait 1" \
		>/run/systemd/system/rnbd-attach@.service.d/impatient.conf
	systemctl daemon-reload
	run systemctl start rnbd-attach@an-image
	exec 8</dev/rnbd0
	text=$("${prerm[@]}" 2>&1) && die "the package was removed with a disk in use"
	echo "$text"
	grep -q "still attached: rnbd0; unmount" <<<"$text" || die "the error message names no remedy"
	run systemctl is-active rnbd-target
	run systemctl is-active rnbd-rxe@eth0
	exec 8<&-
	# The remedy that the message names
	run rnbd detach --all
	run "${prerm[@]}"
	[ ! -e /sys/block/rnbd0 ] || die "a disk is left"
	[ -z "$(find $CFG/exports -mindepth 1)" ] || die "exports are left"
	same "$(systemctl is-active rnbd-owners)" inactive "rnbd-owners"
	run systemctl is-active rnbd-rxe@eth0
}

# watch_client_go: wait at a barrier, which must fail within DOWN_MAX seconds because the client has
# powered off
watch_client_go() {
	local start=$SECONDS why

	why=$(lab barrier gone --timeout "$DOWN_MAX" 2>&1) && die "the client did not power off"
	[[ $why == *"n2 cannot reach the barrier: dead"* ]] ||
		die "without a target the client is not off after $DOWN_MAX s: $why"
	need_counter $((SECONDS - start)) -lt "$DOWN_MAX" "seconds until off, without a target"
}

configure_client() {
	set_host_id
	mkdir -p /etc/rnbd/attach.d $MOUNT
	cat >/etc/rnbd/attach.d/data.conf <<-END
		# the disk of this test
		address = n1
		export = data
		queues = 1
		wait = 240
		loss-timeout = $LOSS	# or a shutdown without the target takes ten minutes
	END
	echo "UUID=$UUID $MOUNT ext4 _netdev,x-systemd.requires=$UNIT,x-systemd.device-timeout=240 0 2" \
		>>/etc/fstab
	run systemctl enable rnbd-rxe@eth0 $UNIT
}

# try_rxe_unit: the unit rnbd-rxe@ must work for a network device whose name needs escaping. If its
# RDMA link existed before its start, its stop must not delete this link.
try_rxe_unit() {
	local unit

	unit=$(systemd-escape --template=rnbd-rxe@.service by-hand)
	run ip link add by-hand type dummy
	run systemctl start "$unit"
	run rdma link show rxe_by-hand/1
	run systemctl stop "$unit"
	rdma link show rxe_by-hand/1 2>/dev/null && die "the link is left"
	run rdma link add mine type rxe netdev by-hand
	run systemctl start "$unit"
	run systemctl stop "$unit"
	run rdma link delete mine
	run ip link delete by-hand
}

check_mounted() {
	none_failed
	same "$(findmnt -n -o UUID $MOUNT)" $UUID "UUID of the mounted file system"
	same "$(readlink -f /dev/disk/by-uuid/$UUID)" "$(findmnt -n -o SOURCE $MOUNT)" "the link"
	same "$(cat $MOUNT/first)" "written on the target"
}

# keep_busy: write to the file system in the background, until systemd stops the service of the lab,
# which runs this script
keep_busy() {
	local i=0

	while :; do
		dd if=/dev/urandom of=$MOUNT/busy-$((i++ % 8)) bs=64k count=4 status=none
	done &
	wait_for 30 test -e $MOUNT/busy-3
}

# use_out_of_order: start a unit that keeps the disk open until 4 s after the unmount, as a slow
# unmount by hand would. No dependency of systemd makes the detach wait for the end of this unit.
use_out_of_order() {
	run systemd-run --unit=slow-user \
		-p ExecStop="/bin/sh -c 'while mountpoint -q $MOUNT; do sleep 0.1; done; sleep 4; echo $LEAVES'" \
		sh -c "exec sleep infinity <$(findmnt -n -o SOURCE $MOUNT)"
}

# line TEXT: print the number of the last line with TEXT in the journal of the previous boot
line() {
	grep -nF "$1" /run/last | tail -n 1 | cut -d : -f 1
}

check_order() {
	local unmounted detached offline released

	journalctl -b -1 --no-pager -o short-monotonic >/run/last
	unmounted=$(line 'Unmounted mnt-data.mount')
	detached=$(line "Stopped $UNIT")
	offline=$(line 'Stopped lab-network.service')
	released=$(line "$LEAVES")
	grep -E "mnt-data|rnbd|lab-network|$LEAVES|timed out" /run/last | tail -n 30
	[[ -n $unmounted && -n $detached && -n $offline && -n $released ]] || die "the journal lacks an event"
	[ "$unmounted" -lt "$detached" ] || die "the disk was detached before it was unmounted"
	[ "$released" -lt "$detached" ] || die "the disk was detached while it was in use"
	[ "$detached" -lt "$offline" ] || die "the network was stopped before the disk was detached"
	grep -E "$UNIT.*(Failed|failed)|mnt-data.mount.*(timed out|failed)" /run/last &&
		die "something failed at shutdown"
	return 0
}

client() {
	local took

	case $LAB_BOOT in
	1)
		configure_client
		try_rxe_unit
		reboot_machine
		;;
	2)
		check_mounted
		use_out_of_order
		keep_busy
		run dd if=/dev/urandom of=$MOUNT/second bs=1M count=8 status=none
		sha256sum $MOUNT/second >"$OUT/sum"
		reboot_machine
		;;
	3)
		# Seconds from the reboot command to the start of the new kernel
		took=$(($(date +%s) - $(cut -d . -f 1 /proc/uptime) - $(cat "$OUT/went-down")))
		need_counter "$took" -lt "$DOWN_MAX" "seconds for the shutdown with a dirty file system"
		check_mounted
		run sha256sum -c "$OUT/sum"
		check_order
		dmesg | grep -F "EXT4-fs ($(basename "$(findmnt -n -o SOURCE $MOUNT)"))"
		dmesg | grep -E 'EXT4-fs.*(recovery|orphan)' && die "the file system was not clean"
		run dd if=/dev/urandom of=$MOUNT/third bs=1M count=4 status=none
		lab may-die 2
		run lab cut 2
		barrier cut
		run systemctl poweroff
		exec sleep infinity
		;;
	*) die "unexpected boot $LAB_BOOT" ;;
	esac
}

case $NODE in
1) target ;;
2) client ;;
esac
