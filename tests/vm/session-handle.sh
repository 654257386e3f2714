#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 400
# adapter: also
# turns: 4
# short: two disks attach and detach in turn and reuse each other's handle index beside a third disk: no block reaches another disk
. ../lib/lab.sh
. ../lib/rnbd.sh

TRACING=/sys/kernel/tracing
ROUNDS=12
[ -z "$LAB_SLOW" ] || ROUNDS=6

ended() { ! kill -0 "$1" 2>/dev/null; }
# drained EXPORT: succeed if no attachment of the export is open or has a request in the storage;
# for wait_for
drained() { [ "$(cat "$CFG/exports/$1/sessions")" = 0 ]; }

# Each disk has a checker with its own writer number, which the checker stores in each block, and a
# journal that is kept when the disk is detached. A probe at the target shows that handle indexes
# are reused.

# load NAME NUMBER: start the checker of a disk with this writer number
load() {
	gencheck run --journal "/dev/shm/$1" --writer "$2" --threads 4 --io 1-16 --time 100000 "${dev[$1]}" \
		>"$OUT/run-$1" 2>&1 &
	pid[$1]=$!
}

# moves NAME...: fail unless the checkers of these disks run and requests of each disk complete
moves() {
	local name before
	for name; do
		before=$(completed "${dev[$name]}")
		wait_for 20 completed_over "${dev[$name]}" $((before + 50))
		kill -0 "${pid[$name]}" 2>/dev/null || die "the checker of $name ended: $(cat "$OUT/run-$name")"
	done
}

# verify_storage NAME: verify the storage below the export, without the client
verify_storage() {
	wait_for 20 drained "$1"
	gencheck verify --journal "/dev/shm/$1" --adopt "${disk[$1]}" >"$OUT/verify-$1" ||
		die "the storage of $1: $(cat "$OUT/verify-$1")"
}

# leave NAME forced|stopped: detach the disk by force under load, or after its checker has ended
leave() {
	if [ "$2" = forced ]; then
		rnbd detach "${dev[$1]}" --force || die "forced detach of $1 failed"
		wait_for 20 ended "${pid[$1]}"
		wait "${pid[$1]}"
		same $? 2 "exit status of the checker of $1 (2: I/O errors only): $(cat "$OUT/run-$1")"
	else
		kill "${pid[$1]}"
		wait "${pid[$1]}" || die "the checker of $1: $(cat "$OUT/run-$1")"
		detach "${dev[$1]}"
	fi
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
declare -A dev=() disk=() pid=()
for name in third one two; do
	disk[$name]=$(null_disk 4) || exit 1
	export_disk "$name" "${disk[$name]}"
done

# Trace the handles in the ATTACH requests that the target receives.
mountpoint -q $TRACING || mount -t tracefs tracefs $TRACING
echo 'p:rnbdproof/handle rnbdt_bind_check index=+0(%si):u16 generation=+4(%si):u32 export=+20(%si):string' \
	>>$TRACING/kprobe_events || die "no probe"
echo 1 >$TRACING/events/rnbdproof/handle/enable || die "the probe cannot be enabled"

dev[third]=$(attach third --queues 2) || exit 1
load third 1
moves third
for round in $(seq $ROUNDS); do
	# The order alternates, so each disk gets the index that the other disk had in the round
	# before.
	order=(one two)
	[ $((round % 2)) = 0 ] || order=(two one)
	for name in "${order[@]}"; do
		dev[$name]=$(attach "$name") || exit 1
		same "$(counter "${dev[$name]}" session_id)" "$(counter "${dev[third]}" session_id)" "session of $name"
	done
	load one 2
	load two 3
	moves one two third
	case $((round % 3)) in
	0)
		# Both disks are detached with requests in flight.
		leave one forced
		leave two forced
		;;
	1)
		# Disk one attaches again with the same index and a higher generation.
		began=$(now_ms)
		run rnbd export disable one
		run rnbd export enable one
		wait_for 20 back_since "${dev[one]}" "$began"
		moves one two third
		leave one stopped
		leave two stopped
		;;
	2)
		# Disk two continues while a new attachment gets the index that disk one had.
		leave one forced
		dev[one]=$(attach one) || exit 1
		moves two third
		detach "${dev[one]}"
		leave two stopped
		;;
	esac
	moves third
	verify_storage one
	verify_storage two
done
echo 0 >$TRACING/events/rnbdproof/handle/enable

note "the third disk was not affected"
need "${dev[third]}" connections_lost -eq 0
need "${dev[third]}" reconnects -eq 0
kill "${pid[third]}"
wait "${pid[third]}" || die "the checker of the third: $(cat "$OUT/run-third")"
run gencheck verify --journal /dev/shm/third "${dev[third]}"
detach "${dev[third]}"
verify_storage third

# The test proves something only if handle indexes were reused.
sed -n 's/.* handle: .*index=\([0-9]*\) generation=\([0-9]*\) export="\(.*\)"$/\1 \2 \3/p' $TRACING/trace >"$OUT/handles"
need_counter "$(wc -l <"$OUT/handles")" -ge $((2 * ROUNDS + 1)) "requests to attach"
awk '
	# The target calls rnbdt_bind_check() twice for each ATTACH.
	$1 == index_before && $2 == last[$1] && $3 == export_before { next }
	$2 + 0 <= last[$1] + 0 { print "index " $1 ": generation " $2 " after " last[$1]; wrong = 1 }
	{ index_before = $1; export_before = $3; last[$1] = $2; if (!(($1, $3) in seen)) { seen[$1, $3] = 1; exports[$1]++ } }
	END {
		for (i in exports) if (exports[i] > 1) again++
		if (!again) { print "no index was used for two exports"; wrong = 1 }
		else print "indexes that both exports had: " again
		exit wrong
	}' "$OUT/handles" || { cat "$OUT/handles"; die "the handles were not used as this test needs it"; }
echo >$TRACING/kprobe_events
configfs_clear
unload
