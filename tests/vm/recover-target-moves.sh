#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 120
# adapter: also
# short: another target takes over the address: disks reconnect to the export with the same UUID, and to no other export
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=11111111-2222-4333-8444-555555555555
OTHER=99999999-2222-4333-8444-555555555555

set_host_id
back=$(null_disk 64) || exit 1
export_as() { export_disk disk0 "$back" -- --uuid "$1" --write-cache through; }
sys() { echo "/sys/block/${dev##*/}/rnbd"; }
reconnecting() { [ "$(cat "$(sys)/state")" = reconnecting ]; }
live() { [ "$(cat "$(sys)/state")" = live ]; }
# forget_target: reload the target without its stored UUID, so that it gets a new one
forget_target() {
	rnbd clear --force || die "clear"
	wait_for 20 reconnecting
	wait_for 20 rmmod rnbd-target
	rm -f /var/lib/rnbd/target-uuid
	target_start
}
moves() { dmesg | grep -c "connected to another target than before"; }

target_start
export_as $UUID
first=$(cat "$CFG/uuid")
dev=$(attach disk0 --queues 2 --keepalive 500) || exit 1
works "$dev"
same "$(moves)" 0 moves

note "another target has an export with the same UUID"
forget_target
export_as $UUID
second=$(cat "$CFG/uuid")
[ "$second" != "$first" ] || die "the target has the same UUID"
wait_for 30 live
works "$dev"
need "$dev" reconnects -eq 1
same "$(moves)" 1 moves
dmesg_has "UUID $second instead of $first" || die "the log does not name both UUIDs"

note "a third target has an export with this name, but another UUID"
forget_target
export_as $OTHER
says_other() { grep -q "another export has this name" "$(sys)/last_error"; }
wait_for 30 says_other
reconnecting || die "state: $(cat "$(sys)/state")"
same "$(moves)" 2 moves

note "the same target offers the export with the right UUID"
rnbd export remove disk0 --prune || die "export remove"
export_as $UUID
wait_for 60 live
works "$dev"
same "$(moves)" 2 moves
need "$dev" connections_lost -ge 2
detach "$dev"
configfs_clear
unload
