#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# adapter: only
# turns: 3
# without: event, because a lost message costs a retry time-out that is longer than the keep-alive
# short: a detach ends the ownership of an exclusive export also while the disk is not attached; another host gets it when the storage is done
. ../lib/lab.sh
. ../lib/rnbd.sh

# A detach ends the ownership of an exclusive export even while the disk cannot attach the export
# again. Here the reason is that the storage hangs with an old write, or that the export has other
# properties now. If a newer disk of the same host has attached the export, the host stays the owner
# when the older disk is detached.
ME=$(host_id 1) OTHER=$(host_id 4)

state_is() { [ "$(counter "$1" state)" = "$2" ]; }
owner_is() { [ "$(rnbd export owner excl)" = "$1" ]; }
error_is() { counter "$1" last_error | grep -q "$2"; }
# in_storage: succeed if the target has an attachment of the export that is open or waits for the
# storage
in_storage() { [ "$(cat "$CFG/exports/excl/sessions")" -ge 1 ]; }

set_host_id
modprobe dm-mod 2>/dev/null
target_start
disk=$(null_disk 16) || exit 1
echo "0 32768 linear $disk 0" | dmsetup create back || die "dmsetup"
export_disk excl /dev/mapper/back 1 4 -- --exclusive --port "$ADDR:4428"
export_disk plain "$(null_disk 16)" 1
modprobe rnbd
common=(--queues 2 --keepalive $((500 * ${LAB_SLOW:-1})))
plain=$(attach plain "${common[@]}") || exit 1
excl=$(attach excl "${common[@]}" --loss-timeout 0) || exit 1
same "$(find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l)" 1 sessions
owner_is "$ME" || die "the owner is $(rnbd export owner excl)"

note "the storage of the exclusive export hangs with a write, and the link flaps"
trace_requests on
dmsetup suspend --noflush --nolockfs back || die "suspend"
dd if=/dev/zero of="$excl" bs=4k count=1 oflag=direct status=none 2>"$OUT/dd" &
write=$!
wait_for 10 write_received
trace_requests off
ip link set d0 carrier off
wait_for $((10 * ${LAB_SLOW:-1})) state_is "$plain" reconnecting
ip link set d0 carrier on
wait_for $((20 * ${LAB_SLOW:-1})) state_is "$plain" live
asked=$(counter "$excl" attempt)
wait_for 20 counter_over "$excl" attempt "$asked"
state_is "$excl" reconnecting || die "the state is $(counter "$excl" state)"
lost=$(counter "$plain" connections_lost)

note "the disk that waits for its storage is detached"
run timeout $((20 * ${LAB_SLOW:-1})) rnbd detach "$excl" --force
wait $write && die "the write has succeeded: $(cat "$OUT/dd")"
wait_for 5 owner_is none
in_storage || die "the storage has ended the write"
need "$plain" connections_lost -eq "$lost"

note "another host waits for the storage only"
said=$(timeout $((20 * ${LAB_SLOW:-1})) rnbd attach "$ADDR" excl --host-id "$OTHER" 2>&1) &&
	die "another host attached although the storage has a write of the former owner"
echo "  $said"
[[ $said != *"another host owns"* ]] || die "the host is refused for the wrong reason"
dmsetup resume back || die "resume"
dev=$(attach excl --host-id "$OTHER" --wait $((20 * ${LAB_SLOW:-1}))) || exit 1
works "$dev"
owner_is "$OTHER" || die "the owner is $(rnbd export owner excl)"
detach "$dev"
wait_for 5 owner_is none

note "the export has other properties than the disk: the disk does not reattach, and is detached"
excl=$(attach excl "${common[@]}" --wait $((20 * ${LAB_SLOW:-1}))) || exit 1
owner_is "$ME" || die "the owner is $(rnbd export owner excl)"
run rnbd export disable excl
wait_for 20 state_is "$excl" reconnecting
run rnbd export allow excl "$ME" --read-only
run rnbd export enable excl
wait_for $((20 * ${LAB_SLOW:-1})) error_is "$excl" "other properties"
owner_is "$ME" || die "the owner is $(rnbd export owner excl)"
run rnbd detach "$excl" --force
wait_for 5 owner_is none

note "the host attaches it again in another session, which is lost; then the older disk is detached"
run rnbd export disable excl
run rnbd export allow excl "$ME"
run rnbd export enable excl
excl=$(attach excl "${common[@]}" --wait $((20 * ${LAB_SLOW:-1}))) || exit 1
run rnbd export disable excl
wait_for 20 state_is "$excl" reconnecting
run rnbd export allow excl "$ME" --read-only
run rnbd export enable excl
wait_for $((20 * ${LAB_SLOW:-1})) error_is "$excl" "other properties"
newer=$(ADDR=$ADDR:4428 attach excl "${common[@]}" --new-session --read-only --loss-timeout 0) || exit 1
for port in "$CFG"/ports/*; do
	if [ "$(cat "$port/port")" = 4428 ]; then second=$port; else first=$port; fi
done
# Unlink the export from the first port. Otherwise the older disk would attach the export as soon as
# the newer disk is not attached.
rm "$first/exports/excl" || die "unlink the export"
wait_for $((20 * ${LAB_SLOW:-1})) error_is "$excl" "no such"
echo 0 >"$second/enable" || die "disable the port"
wait_for 20 state_is "$newer" reconnecting
run rnbd detach "$excl" --force
owner_is "$ME" || die "the owner is $(rnbd export owner excl)"
echo 1 >"$second/enable" || die "enable the port"
wait_for $((20 * ${LAB_SLOW:-1})) state_is "$newer" live
dd if="$newer" of=/dev/null bs=4k count=1 iflag=direct status=none || die "$newer does not read"
owner_is "$ME" || die "the owner is $(rnbd export owner excl)"
detach "$newer"
wait_for 5 owner_is none
state_is "$plain" live || die "the other disk is $(counter "$plain" state)"
need "$plain" connections_lost -eq "$lost"

detach "$plain"
configfs_clear
dmsetup_free() { dmsetup remove back 2>/dev/null; }
wait_for 10 dmsetup_free
unload
