#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 400
# adapter: also
# turns: 4
# short: the reply to ATTACH is lost: the client retries or gives up the attachment, the target keeps no second one, and data are right
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/pool.sh

# If the reply to ATTACH is lost, the target must not keep a second attachment of the disk, and the
# client must send no request before it has a reply. With the fault point
# drop_attach_reply the target grants an attachment and does not send the reply. The first attach of
# a disk then fails after 10 s, and the client sends DETACH for the handle that it has requested. A
# disk that reconnects sends ATTACH again with a higher generation.
TRACING=/sys/kernel/tracing

dropped() { [ "$(hits rnbd-target drop_attach_reply)" = "$1" ]; }
# attachments EXPORT COUNT: succeed if the target has COUNT attachments of the export; for wait_for
attachments() { [ "$(cat "$CFG/exports/$1/sessions")" = "$2" ]; }
# handles EXPORT: print index and generation of each ATTACH of the export that the target received
handles() {
	sed -n "s/.* handle: .*index=\([0-9]*\) generation=\([0-9]*\) export=\"$1\"\$/\1 \2/p" $TRACING/trace
}
# fails EXPORT [OPTIONS]: the attach must fail, and its error message must report the missing reply
fails() {
	refused timeout 100 rnbd attach "$ADDR" "$@" 2>"$OUT/refused"
	cat "$OUT/refused"
	grep -q "does not answer the request to attach" "$OUT/refused" || die "the error does not name the reply"
}
# moves: requests of the loaded disk complete, and its checker still runs
moves() {
	local before
	before=$(completed "$disk")
	wait_for 20 completed_over "$disk" $((before + 50))
	kill -0 "${checkers[disk]}" 2>/dev/null || die "the checker ended: $(cat "$OUT/gencheck.disk")"
}

set_host_id
target_start
for export in load other; do export_disk $export "$(null_disk 16)"; done
modprobe rnbd || die "modprobe rnbd failed"
arm rnbd-target
arm rnbd
mountpoint -q $TRACING || mount -t tracefs tracefs $TRACING
echo 'p:rnbdproof/handle rnbdt_bind_check index=+0(%si):u16 generation=+4(%si):u32 export=+20(%si):string' \
	>>$TRACING/kprobe_events || die "no probe"
echo 1 >$TRACING/events/rnbdproof/handle/enable || die "the probe cannot be enabled"

note "a first disk, without a session"
strike rnbd-target drop_attach_reply 1
fails other
dropped 1 || die "no reply was lost"
wait_for 30 attachments other 0
dev=$(attach other) || exit 1
works "$dev"
attachments other 1 || die "the target has another attachment"
detach "$dev"

note "a further disk of a session, whose other disk continues"
disk=$(attach load --queues 2 --pool 4M) || exit 1
checker disk 1 "$disk" --threads 4 --io 1-16
moves
lost=$(counter "$disk" connections_lost)
strike rnbd-target drop_attach_reply 1
fails other
dropped 2 || die "no reply was lost"
wait_for 10 attachments other 0
dev=$(attach other) || exit 1
same "$(counter "$dev" session_id)" "$(counter "$disk" session_id)" "session of the further disk"
works "$dev"
attachments other 1 || die "the target has another attachment"
moves
need "$disk" connections_lost -eq "$lost"

# again NUMBER: wait until reply NUMBER was dropped and the disk has become live after the time
# $began. Then the target must have one attachment of the disk, with a higher generation than the
# handle in the dropped reply.
again() {
	local before after
	wait_for 30 dropped "$1"
	before=$(handles load | tail -n 1)
	[ "$(counter "$disk" state)" = reconnecting ] || die "$disk is $(counter "$disk" state) without a reply"
	wait_for 60 back_since "$disk" "$began"
	after=$(handles load | tail -n 1)
	note "the reply to $before was lost, $after was granted after $(($(now_ms) - began)) ms"
	[ "${after#* }" -gt "${before#* }" ] || die "generation ${after#* } after ${before#* }"
	attachments load 1 || die "the target has $(cat "$CFG/exports/load/sessions") attachments"
	moves
}

note "a disk whose export is enabled again"
began=$(now_ms)
run rnbd export disable load
strike rnbd-target drop_attach_reply 1
run rnbd export enable load
again 3
need "$disk" connections_lost -eq "$lost"

note "a disk whose connection was lost"
# Detach the other disk first: it would reconnect at the same time, and the target could drop the
# reply to its ATTACH instead.
detach "$dev"
began=$(now_ms)
strike rnbd-target drop_attach_reply 1
strike rnbd kill_queue 1
again 4
need "$disk" connections_lost -gt "$lost"

checker_end disk "$disk"
detach "$disk"
wait_for 20 attachments load 0
echo 0 >$TRACING/events/rnbdproof/handle/enable
echo >$TRACING/kprobe_events
configfs_clear
unload
