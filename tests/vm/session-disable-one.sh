#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# adapter: also
# turns: 4
# short: two disks share a session: the export of one is disabled under load, the other disk goes on; a host denied all exports has no session
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/storage.sh

# Milliseconds. Each request of the other disk must take less than BOUND, and the export stays
# disabled for longer than BOUND.
BOUND=$((4000 * ${LAB_SLOW:-1}))
# ns per request of the storage behind the disk that is tested at full depth. The storage must be so
# slow that the processors are mostly idle.
STORAGE_NS=300000000
# Number of attempts to attach for which the test waits; the pauses between attempts grow to 1 s.
ATTEMPTS=$((7 * ${LAB_SLOW:-1}))
# Units of pool space, more than the requests of the other disk need
FEW=64
# The export that is disabled
EXPORT=one

state_is() { [ "$(counter "$1" state)" = "$2" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
# session KEY: print the value KEY of the only live session of the target
session() { rnbd session list --target --json | jq -er "map(select(.state == \"live\")) | if length == 1 then .[0].$1 else empty end"; }

# connection: print values of both ends that change if the session reconnects
connection() {
	echo "epoch $(counter "$stay" epoch), lost $(counter "$stay" connections_lost)," \
		"reconnects $(counter "$stay" reconnects), session $(session session)"
}

# load: start I/O with checksums on the disk that stays attached
load() {
	local before
	before=$(completed "$stay")
	fio --name=stay --filename="$stay" --direct=1 --ioengine=libaio --rw=randrw --bs=4k --iodepth=8 --size=16m \
	    --time_based --runtime=36000 --verify=crc32c-intel --verify_fatal=1 --verify_backlog=64 \
	    --verify_state_save=0 --output-format=json --output="$OUT/stay" >"$OUT/stay.said" 2>&1 &
	load=$!
	wait_for 20 completed_over "$stay" $((before + 100))
}

# moves: requests of the disk that stays attached complete
moves() {
	local before
	before=$(completed "$stay")
	wait_for 20 completed_over "$stay" $((before + 50))
	kill -0 $load 2>/dev/null || die "the load on $stay ended: $(tail -n 5 "$OUT/stay" "$OUT/stay.said")"
	same "$(counter "$stay" state)" live "state of $stay"
}

# load_ends: stop the load, and fail if it had an error or if a request took as long as BOUND
load_ends() {
	local slowest
	moves
	kill -INT $load
	wait $load
	# fio writes a line about the signal before its JSON.
	sed -n '/^{/,$p' "$OUT/stay" >"$OUT/stay.json"
	jq -e '.jobs[0].error == 0' "$OUT/stay.json" >/dev/null || die "I/O error on $stay: $(cat "$OUT/stay" "$OUT/stay.said")"
	slowest=$(jq '.jobs[0] | [.read, .write] | map(.clat_ns.max) | max / 1000000 | floor' "$OUT/stay.json")
	need_counter "${slowest:--1}" -ge 0 "ms of the slowest request of $stay"
	need_counter "$slowest" -lt "$BOUND" "ms of the slowest request of $stay"
}

# take_away: disable the export of disk $one; the command must return only after the attachment of
# this disk has ended
take_away() {
	before=$(connection)
	began=$(now_ms)
	run timeout $((60 * ${LAB_SLOW:-1})) rnbd export disable $EXPORT
	same "$(cat "$CFG/exports/$EXPORT/sessions")" 0 "attachments of the export that is disabled"
	same "$(cat "$CFG/exports/stay/sessions")" 1 "attachments of the other export"
	wait_for 20 state_is "$one" reconnecting
	counter "$one" reason | grep -q 'disabled or withdrawn' || die "reason: $(counter "$one" reason)"
	moves
}

away_for_long() { [ $(($(now_ms) - began)) -gt "$BOUND" ]; }
# stays_away: the export stays disabled for longer than BOUND, and the client retries ATTACH
stays_away() {
	wait_for 60 counter_over "$one" attempt "$ATTEMPTS"
	counter "$one" last_error | grep -q 'no such enabled export' || die "last_error: $(counter "$one" last_error)"
	wait_for 60 away_for_long
	note "$(($(now_ms) - began)) ms without the export"
	same "$(counter "$one" state)" reconnecting "state of $one"
	moves
}

# give_back: enable the export; the disk must attach the export again without a reconnect of the
# session
give_back() {
	began=$(now_ms)
	run rnbd export enable $EXPORT
	wait_for 20 back_since "$one" "$began"
	moves
	same "$(connection)" "$before" "the connection"
	note "$before: as before"
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
export_disk stay "$(null_disk 32)"
export_disk one "$(null_disk 16)"
export_disk deep "$(null_disk 16 irqmode=2 completion_nsec=$STORAGE_NS)"
stay=$(attach stay --queues 2 --keepalive 1000) || exit 1
one=$(attach one) || exit 1
same "$(counter "$one" session_id)" "$(counter "$stay" session_id)" "the session of both"
load

note "policy queue: I/O waits, without an error"
gencheck run --journal /dev/shm/journal --threads 4 --io 1-16 --time 100000 "$one" >"$OUT/gencheck" 2>&1 &
checker=$!
wait_for 20 completed_over "$one" $(($(completed "$one") + 50))
take_away
stays_away
# No request of the disk may complete while the disk waits for its export.
n=$(completed "$one")
wait_for 20 counter_over "$one" attempt $(($(counter "$one" attempt) + 1))
same "$(completed "$one")" "$n" "requests of $one that were completed without its export"
kill -0 $checker || die "the checker ended: $(cat "$OUT/gencheck")"
give_back
wait_for 20 completed_over "$one" $(($(completed "$one") + 50))
kill $checker
wait $checker || die "the checker: $(cat "$OUT/gencheck")"
run gencheck verify --journal /dev/shm/journal "$one"
detach "$one"
moves
load_ends

note "policy queue at full depth: while the disk waits it holds no tag and no pool space"
EXPORT=deep
load
one=$(attach deep) || exit 1
same "$(counter "$one" session_id)" "$(counter "$stay" session_id)" "the session of both"
jobs=()
for ((cpu = 0; cpu < $(nproc); cpu++)); do
	jobs+=(--name="cpu$cpu" --cpus_allowed="$cpu" --offset=$((cpu * 8))m)
done
fio --filename="$one" --direct=1 --ioengine=libaio --rw=randrw --bs=16k --iodepth=256 --size=8m \
    --time_based --runtime=36000 --minimal --output="$OUT/deep" "${jobs[@]}" >"$OUT/deep.said" 2>&1 &
other=$!
in_flight() { awk '{ print $1 + $2 }' "/sys/block/${one##*/}/inflight"; }
# The client reserves some of the tags for the other disk, so half of the depth counts as full.
full=$(($(counter "$one" depth) * $(counter "$one" queues) / 2))
at_full_depth() { [ "$(in_flight)" -ge $full ]; }
wait_for 30 at_full_depth
used=$(counter "$stay" pool_used)
need_counter "$used" -ge $FEW "units that both disks use"
note "$(in_flight) requests are in flight, with $used units of the pool"
take_away
# The other disk has eight requests of one unit each in flight.
few() { [ "$(counter "$stay" pool_used)" -lt $FEW ]; }
wait_for 20 few
stays_away
need "$stay" pool_used -lt $FEW
kill -0 $other || die "the load on $one ended: $(cat "$OUT/deep" "$OUT/deep.said")"
give_back
wait_for 20 completed_over "$one" $(($(completed "$one") + 500))
kill -INT $other
wait $other
if grep -v "terminating on signal" "$OUT/deep.said" | grep .; then die "the load on $one failed"; fi
detach "$one"
load_ends
EXPORT=one

note "policy fail: I/O fails at once, and works again when the export is enabled"
load
one=$(attach one --policy fail) || exit 1
same "$(counter "$one" session_id)" "$(counter "$stay" session_id)" "the session of both"
fio --name=one --filename="$one" --direct=1 --ioengine=libaio --rw=randrw --bs=16k --iodepth=16 --size=16m \
    --time_based --runtime=36000 --minimal >"$OUT/one" 2>&1 &
other=$!
wait_for 20 completed_over "$one" $(($(completed "$one") + 100))
take_away
wait_for 20 ended $other
wait $other && die "the load on $one saw no error"
grep -q 'Link has been severed' "$OUT/one" || die "the load on $one ended for another reason: $(tail -n 3 "$OUT/one")"
fails "Link has been severed" reads "$one" 1
fails "Link has been severed" writes "$one" 1
stays_away
fails "Link has been severed" reads "$one" 1
give_back
works "$one"
load_ends

need "$stay" connections_lost -eq 0

note "a host that may use one of two exports keeps its session; denied both, it has none"
sessions_are() { [ "$(rnbd session list --target --json | jq length)" = "$1" ]; }
run rnbd export deny deep "$(host_id 1)"
run rnbd export deny one "$(host_id 1)"
wait_for 20 state_is "$one" reconnecting
sessions_are 1 || die "the session ends with one of two exports"
works "$stay"
need "$stay" connections_lost -eq 0
run rnbd export deny stay "$(host_id 1)"
wait_for 30 sessions_are 0
wait_for 20 state_is "$stay" reconnecting
run rnbd export allow stay "$(host_id 1)"
run rnbd export allow one "$(host_id 1)"
wait_for 30 state_is "$stay" live
wait_for 30 state_is "$one" live
works "$stay"
works "$one"
detach "$one"
works "$stay"
detach "$stay"
configfs_clear
unload
