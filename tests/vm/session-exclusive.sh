#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 1024 --timeout 400
# turns: 3
# short: the owner of an exclusive export is cut off, another host becomes owner and writes, the first returns and is revoked; target restarts
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=5ca1ab1e-0000-4000-8000-000000000012
A=$(host_id 2) B=$(host_id 3)
SIZE=16

# The owner of an exclusive export stays the owner when it loses its connection and when the target
# restarts. The ownership ends by a detach, a fence, the administrator or a new boot id of the
# owner. Node 1 is the target, node 2 the first client (A), node 3 the second client (B). Each
# owner fills the disk with a different byte.

# pair BARRIER: a barrier of the target and the second client only
pair() { lab barrier "$1" --nodes 1,3 --timeout 120 || die "barrier $1"; }

# --- the clients

state_is() { [ "$(counter "$dev" state)" = "$1" ]; }

# refused_with TEXT EXPORT: an attach must be refused with one line that names the export and
# contains TEXT
refused_with() {
	local said
	said=$(rnbd attach "$ADDR" "$2" 2>&1) && die "$2 is attached"
	echo "  $said"
	same "$(wc -l <<<"$said")" 1 "lines of the error message"
	[[ $said = *"attach $2 at "*"$1"* ]] || die "the error message lacks: $1"
}
owned() { refused_with "another host owns the exclusive export" disk0; }

# writes BYTE: fill the disk with BYTE; waits BYTE: start a process that fills the first MiB of the
# disk with BYTE, and set $writer to the process id
writes() {
	head -c ${SIZE}M /dev/zero | tr '\0' "$1" |
		dd of="$dev" bs=1M iflag=fullblock oflag=direct status=none || die "$dev: write failed"
}
waits() {
	head -c 1M /dev/zero | tr '\0' "$1" |
		dd of="$dev" bs=64k iflag=fullblock oflag=direct status=none 2>"$OUT/writer" &
	writer=$!
}

# holds BYTE: the disk contains only BYTE
holds() {
	same "$(dd if="$dev" bs=1M iflag=direct status=none | tr -d "$1" | wc -c)" 0 \
		"bytes that are not $1"
}

# revoked: the disk must fail and report the reason, and the waiting write and all further I/O must
# fail
revoked() {
	wait_for 60 state_is failed
	rnbd show "$dev" | grep -q 'or lost the export' || { rnbd show "$dev"; die "no reason"; }
	wait_for 20 sh -c "! kill -0 $writer 2>/dev/null"
	wait $writer && die "the writer saw no error"
	dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct 2>/dev/null && die "the disk of the former owner still writes"
	dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && die "the disk of the former owner still reads"
	detach "$dev"
}

# cut_off ROUND: cut the link of this host, start a write that waits, restore the link when another
# host has written, and check that the disk is revoked
cut_off() {
	lab cut 2
	wait_for 30 state_is reconnecting
	waits x
	barrier "cut-$1"
	barrier "moved-$1" 120
	lab join 2
	revoked
	barrier "returned-$1" 120
}

first() {
	barrier exported
	dev=$(attach disk0 --keepalive 500) || exit 1
	writes a
	barrier attached
	barrier looked
	cut_off move
	owned
	barrier released
	barrier free
	dev=$(attach disk0 --keepalive 500) || exit 1
	holds b
	writes a
	barrier again
	# The target restarts and still knows the owner.
	barrier restarted 120
	wait_for 60 state_is live
	holds a
	barrier survived
	cut_off restart
	barrier released-2

	# A new boot id ends the ownership. The detach does not, because the client cannot reach the
	# target.
	barrier free-2
	dev=$(attach disk0 --keepalive 500) || exit 1
	lab cut 2
	wait_for 30 state_is reconnecting
	run rnbd detach "$dev" --force
	rmmod rnbd || die "rmmod rnbd"
	lab join 2
	barrier unloaded
	barrier still-owned
	dev=$(attach other --wait 30) || exit 1
	barrier booted
	barrier taken
	owned
	detach "$dev"
	barrier end-of-boot
	barrier to-fence-free

	# A fence ends the ownership.
	dev=$(attach disk0 --keepalive 500) || exit 1
	barrier to-fence
	waits y
	barrier fenced
	wait_for 60 state_is failed
	wait $writer
	detach "$dev"
	barrier end 120
	unload
}

second() {
	local said
	barrier exported
	modprobe rnbd || die "modprobe rnbd failed"
	barrier attached
	owned
	# A host that may not use the export must not learn that the export has an owner.
	said=$(rnbd attach "$ADDR" disk0 --host-id "$(host_id 4)" 2>&1) && die "disk0 is attached"
	[[ $said = *"no such enabled export"* ]] || die "unexpected message: $said"
	barrier looked
	barrier cut-move
	owned
	pair owner-move
	dev=$(attach disk0 --keepalive 500) || exit 1
	holds a
	writes b
	barrier moved-move
	barrier returned-move 120
	holds b
	barrier released
	detach "$dev"
	barrier free
	barrier again
	owned
	barrier restarted 120
	owned
	barrier survived
	barrier cut-restart
	owned
	pair owner-restart
	dev=$(attach disk0 --keepalive 500) || exit 1
	writes c
	pair owner-saved
	pair restarted-2
	wait_for 60 state_is live
	holds c
	writes d
	barrier moved-restart
	barrier returned-restart 120
	holds d
	barrier released-2
	detach "$dev"
	barrier free-2
	barrier unloaded
	barrier still-owned
	barrier booted
	dev=$(attach disk0 --wait 30) || exit 1
	barrier taken
	barrier end-of-boot
	detach "$dev"
	barrier to-fence-free
	barrier to-fence
	barrier fenced
	dev=$(attach disk0 --wait 30) || exit 1
	writes e
	holds e
	pair end-of-fence
	holds e
	detach "$dev"
	barrier end 120
	unload
}

# --- the target

owner_is() { [ "$(rnbd export owner disk0)" = "$1" ]; }
generation() { cut -d' ' -f1 "$CFG/exports/disk0/owner_state"; }
sessions_of() { [ "$(cat "$CFG/hosts/$1/sessions")" = "$2" ]; }
same_generation() { same "$(generation)" "$1" "generation of the owner"; }
newer_generation() { need_counter "$(generation)" -gt "$1" "generation of the owner"; }

is_kept() { [ "$(cat /var/lib/rnbd/owners/$UUID)" = "$(cat "$CFG/exports/disk0/owner_state")" ]; }

# target_again FILE: reload the target module and restore the configuration in FILE
target_again() {
	run rnbd clear --force
	wait_for 20 rmmod rnbd-target
	target_start
	run rnbd restore "$1"
	run rnbd restore --compare "$1"
}

# target_crashes: reload the target as after a power cut: with a configuration that was saved before
# there was an owner, and with the owner that rnbd export record-owners has stored
target_crashes() {
	wait_for 10 is_kept
	kill "$keeper"
	cp /var/lib/rnbd/owners/$UUID "$OUT/kept" || die "no owner is stored"
	run rnbd clear --force
	cp "$OUT/kept" /var/lib/rnbd/owners/$UUID
	target_again "$OUT/early"
}

target() {
	local before keeper

	target_start
	disk=$(null_disk $SIZE) && other=$(null_disk 4) || exit 1
	export_disk disk0 "$disk" 2 3 -- --uuid $UUID --exclusive
	export_disk other "$other" 2 3 4
	same "$(rnbd export owner disk0)" none "owner of a new export"
	refused rnbd export owner other "$A"
	(echo 0 >"$CFG/exports/disk0/exclusive") 2>/dev/null && die "exclusive was changed while enabled"
	run rnbd save "$OUT/early"
	rnbd export record-owners &
	keeper=$!
	barrier exported
	barrier attached
	owner_is "$A" || die "the owner is $(rnbd export owner disk0)"
	same "$(rnbd export show disk0 --json | jq -r '"\(.exclusive) \(.owner)"')" "true $A" "export show"
	rnbd export list | grep -q "^disk0 .*,excl .*$A$" || die "export list does not show the owner"
	before=$(generation)
	barrier looked

	note "the owner has no connection: it stays the owner until the administrator moves the ownership"
	barrier cut-move
	wait_for 30 sessions_of "$A" 0
	same_generation "$before"
	run rnbd export owner disk0 "$B"
	owner_is "$B" || die "the owner is $(rnbd export owner disk0)"
	newer_generation "$before"
	same "$(cat /var/lib/rnbd/owners/$UUID)" "$(cat "$CFG/exports/disk0/owner_state")" "stored owner"
	pair owner-move
	barrier moved-move
	barrier returned-move 120
	owner_is "$B" || die "the owner is $(rnbd export owner disk0)"
	barrier released
	barrier free
	wait_for 20 owner_is "$A"
	barrier again

	note "the target restarts as after a crash: the owner is the same"
	before=$(generation)
	target_crashes
	owner_is "$A" || die "the owner is $(rnbd export owner disk0)"
	same_generation "$before"
	barrier restarted 120
	barrier survived
	same_generation "$before"

	note "the ownership is ended while the owner has no connection, and the target restarts"
	barrier cut-restart
	wait_for 30 sessions_of "$A" 0
	run rnbd export owner disk0 none
	owner_is none || die "the owner is $(rnbd export owner disk0)"
	pair owner-restart
	pair owner-saved
	owner_is "$B" || die "the owner is $(rnbd export owner disk0)"
	run rnbd save "$OUT/saved"
	target_again "$OUT/saved"
	owner_is "$B" || die "the owner is $(rnbd export owner disk0)"
	pair restarted-2
	barrier moved-restart
	barrier returned-restart 120
	barrier released-2
	barrier free-2

	note "the module of the owner is loaded again"
	barrier unloaded
	owner_is "$A" || die "the owner is $(rnbd export owner disk0)"
	before=$(generation)
	barrier still-owned
	barrier booted
	newer_generation "$before"
	barrier taken
	owner_is "$B" || die "the owner is $(rnbd export owner disk0)"
	barrier end-of-boot

	note "the owner is fenced"
	barrier to-fence-free
	barrier to-fence
	owner_is "$A" || die "the owner is $(rnbd export owner disk0)"
	before=$(generation)
	run rnbd fence "$A"
	newer_generation "$before"
	barrier fenced
	pair end-of-fence
	run rnbd unfence "$A"
	barrier end 120
	configfs_clear
	unload
}

set_host_id
case $NODE in
1) target ;;
2) first ;;
3) second ;;
esac
