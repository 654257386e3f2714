#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test gencheck on a plain file: test.sh GENCHECK DIRECTORY
#
# gencheck must accept correct data; it must report each kind of fault by the name of this kind, and
# must report nothing else.

GENCHECK=$1
DIR=$2
passed=0
if [ ! -x "$GENCHECK" ] || ! rm -rf "${DIR:?}" || ! mkdir -p "$DIR"; then exit 2; fi

# expect CODE ARGUMENT...: gencheck must exit with CODE; its output is in DIR/out
expect() {
	local want=$1 got

	shift
	"$GENCHECK" "$@" "${direct[@]}" >"$DIR/out" 2>"$DIR/err"
	got=$?
	[ "$got" = "$want" ] && return
	echo "FAILED, line ${BASH_LINENO[0]}: exit $got, wanted $want: gencheck $*"
	cat "$DIR/out" "$DIR/err"
	exit 1
}

fail() {
	echo "FAILED, line ${BASH_LINENO[0]}: $*"
	cat "$DIR/out"
	exit 1
}

# said REGEX: the output must match
said() { grep -qE "$1" "$DIR/out" || fail "not in the output: $1"; }

# value KEY: print a value of the last line of the output
value() { sed -n '$s/.*[ ^]'"$1"'=\([^ ]*\).*/\1/p' "$DIR/out"; }

# only KIND BLOCK: the only reported fault must be KIND in BLOCK
only() {
	[ "$(grep -c '^wrong ' "$DIR/out")" = 1 ] || fail "not one wrong block"
	said "^wrong block=$2 kind=$1 "
	said " wrong=1 .* wrong_$1=1$"
}

done_with() {
	passed=$((passed + 1))
	echo "ok: $*"
}

disk=$DIR/disk
journal=$DIR/journal
j=(--journal "$journal")
truncate -s 1M "$disk"
direct=()
if ! dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then
	echo "no O_DIRECT here: through the page cache"
	direct=(--buffered)
fi

# --- no fault
expect 0 run "${j[@]}" --io 1-8 --ops 2000 --mix 40:56:2:2 "$disk"
if [ "$(value reads)" -lt 500 ] || [ "$(value writes)" -lt 800 ] || [ "$(value flushes)" -lt 10 ]; then
	fail "not the requested mix of operations"
fi
expect 0 verify "${j[@]}" "$disk"
[ "$(value blocks_read)" = 256 ] || fail "not all blocks were read"
expect 0 run "${j[@]}" --ops 1000 "$disk"
expect 0 verify "${j[@]}" --adopt "$disk"
expect 0 run "${j[@]}" --ops 1000 --journal-io pwrite "$disk"
expect 0 verify "${j[@]}" "$disk"
expect 0 run --journal "$DIR/pw" --journal-io pwrite --new --fill any --ops 2000 "$disk"
expect 0 verify --journal "$DIR/pw" "$disk"
expect 3 verify "${j[@]}" "$disk"
done_with "clean runs, the journal mapped or written"

# --- each kind of fault, found by verify and by a run
rm -f "$disk"
truncate -s 1M "$disk"
expect 0 run "${j[@]}" --new --io 1-8 --ops 2000 "$disk"
expect 0 run "${j[@]}" --ops 1 --mix 0:0:1 "$disk"
expect 0 verify "${j[@]}" "$disk"
for kind in old torn lost foreign address future corrupt; do
	for block in any $((RANDOM % 256)); do
		cp --sparse=never "$disk" "$disk.bad"
		expect 0 plant "${j[@]}" "$kind" "$block" "$disk.bad"
		at=$(sed -n 's/^planted block=\([0-9]*\) .*/\1/p' "$DIR/out")
		expect 3 verify "${j[@]}" "$disk.bad"
		only "$kind" "$at"
		expect 3 verify "${j[@]}" --after-crash "$disk.bad"
		only "$kind" "$at"
		# --errors-seen does not make a loss right here, because all writes were flushed.
		expect 3 verify "${j[@]}" --after-crash --errors-seen "$disk.bad"
		only "$kind" "$at"
	done
	cp "$journal" "$journal.bad"
	expect 3 run --journal "$journal.bad" --time 60 --mix 1:0:0 "$disk.bad"
	said "^wrong block=$at kind=$kind "
done
expect 0 verify "${j[@]}" "$disk"
done_with "every kind of fault, alone and by its name"

# --- writes that a crash may lose, and those that it must not lose
cp "$disk" "$disk.old"
expect 0 run "${j[@]}" --ops 1000 --mix 0:1:0 "$disk"
expect 3 verify "${j[@]}" "$disk.old"
said " wrong_old="
expect 3 verify "${j[@]}" --after-crash "$disk.old"
said " wrong_old="
cp "$journal" "$journal.crash"
cp "$disk.old" "$disk.crash"
expect 0 verify --journal "$journal.crash" --after-crash --errors-seen --adopt "$disk.crash"
expect 0 verify --journal "$journal.crash" "$disk.crash"
# The journal has recorded the old blocks as right; a lost write that appears later is wrong.
expect 3 verify --journal "$journal.crash" "$disk"
said " wrong_old="
expect 0 run --journal "$journal.crash" --ops 1000 "$disk.crash"
expect 0 verify --journal "$journal.crash" "$disk.crash"
expect 0 run "${j[@]}" --ops 1 --mix 0:0:1 "$disk"
expect 3 verify "${j[@]}" --after-crash --errors-seen "$disk.old"
said " wrong_old="
done_with "after a crash unflushed data may be lost, if there was an error"

# --- durable writes need no flush
rm -f "$disk"
truncate -s 1M "$disk"
expect 0 run "${j[@]}" --new --ops 2000 --mix 0:1:0 "$disk"
cp "$disk" "$disk.old"
expect 0 run "${j[@]}" --ops 500 --mix 0:0:0:1 "$disk"
expect 3 verify "${j[@]}" --after-crash --errors-seen "$disk.old"
done_with "durable writes"

# --- killed at any time
# look KEY: print a value of the last run from the journal
look() {
	expect 0 show "${j[@]}"
	value "$1"
}

# started COUNT WRITES: wait until COUNT runs have opened the journal, and the last one has made
# WRITES writes
started() {
	local i

	for ((i = 0; i < 3000; i++)); do
		if [ "$(look runs)" -ge "$1" ] && [ "$(look writes)" -ge "$2" ]; then return; fi
		sleep 0.02
	done
	fail "no run began within a minute"
}

for round in 1 2 3 4 5 6 7 8; do
	io=auto least=$((round * 10))
	# With pwrite do not wait for writes: their number is in the head of the journal, which is
	# written to the file only once a second and after a flush.
	[ $((round % 2)) = 0 ] && io=pwrite least=0
	runs=$(look runs)
	"$GENCHECK" run "${j[@]}" --journal-io $io --time 600 "${direct[@]}" "$disk" >/dev/null 2>&1 &
	started $((runs + 1)) $least
	kill -KILL $!
	wait $! 2>/dev/null
	expect 0 verify "${j[@]}" "$disk"
done
done_with "killed while it runs, eight times"

# While a journal is replaced, the old or the new one must exist at every moment.
expect 0 run "${j[@]}" --new --fill any --ops 50 "$disk"
for i in {1..60}; do
	"$GENCHECK" run "${j[@]}" --new --fill any --time 20 "${direct[@]}" "$disk" >"$DIR/out" 2>&1 &
	sleep "0.00$((i / 10))$((i % 10))"
	kill -KILL $!
	wait $! 2>/dev/null
	expect 0 verify "${j[@]}" "$disk"
done
done_with "killed while it begins, 60 times"

# --- SIGTERM during a run, and two concurrent runs
runs=$(look runs)
"$GENCHECK" run "${j[@]}" --time 600 "${direct[@]}" "$disk" >"$DIR/run" 2>&1 &
pid=$!
started $((runs + 1)) 10
expect 1 verify "${j[@]}" "$disk"
expect 1 run "${j[@]}" "$disk"
kill -TERM $pid
wait $pid || fail "exit $? after SIGTERM"
grep -q '^totals .*result=right' "$DIR/run" || fail "no totals"
done_with "SIGTERM ends a run; a journal has one user"

# --- several writers on one disk
rm -f "$disk"
truncate -s 1M "$disk"
for i in 0 1 2; do
	"$GENCHECK" run --journal "$DIR/w$i" --new --share $i/3 --writer $((i + 1)) --io 1-4 --ops 1000 \
		"${direct[@]}" "$disk" >"$DIR/run$i" &
done
wait
grep -L 'result=right' "$DIR"/run[012] | grep . && fail "a writer failed"
all=(--journal "$DIR/w0" --journal "$DIR/w1" --journal "$DIR/w2")
expect 0 verify "${all[@]}" "$disk"
[ "$(value blocks_read)" = 256 ] || fail "not all blocks were read"
expect 0 plant --journal "$DIR/w1" old any "$disk"
expect 3 verify "${all[@]}" "$disk"
said ' wrong=1 .* wrong_old=1$'
said '^wrong .* expected_writer=2 '
done_with "three writers share a disk"

# --- writer 2 takes over from writer 1; late writes of writer 1 are wrong
rm -f "$disk"
truncate -s 1M "$disk"
expect 0 run --journal "$DIR/a" --new --ops 1500 --writer 1 "$disk"
cp "$disk" "$disk.late"
cp "$DIR/a" "$DIR/b"
expect 0 run --journal "$DIR/b" --ops 1000 --writer 2 "$disk"
expect 0 verify --journal "$DIR/a" --journal "$DIR/b" "$disk"
expect 0 verify --journal "$DIR/b" --journal "$DIR/a" "$disk"
expect 3 verify --journal "$DIR/a" --journal "$DIR/b" "$disk.late"
said ' wrong_old='
grep -qE ' wrong_(torn|foreign|address|future|corrupt)=' "$DIR/out" && fail "other faults than old blocks"
done_with "a writer takes over"

# --- I/O errors: a file with a size limit acts as a disk that becomes full
rm -f "$disk"
truncate -s 1M "$disk"
for how in stop continue retry:1; do
	(
		ulimit -f 512
		trap '' XFSZ
		expect 2 run --journal "$DIR/e" --new --fill any --ops 500 --on-error "$how" "$disk"
		said ' result=io-errors '
		[ "$(value EFBIG)" -gt 0 ] || fail "no EFBIG"
		if [ $how = stop ]; then
			[ "$(value failed)" -le 4 ] || fail "gencheck continued after an error"
		else
			[ "$(value errors)" -gt 50 ] || fail "gencheck did not continue after errors"
		fi
	) || exit 1
	expect 0 verify --journal "$DIR/e" "$disk"
done
done_with "errors are counted, and failed writes are in doubt"

# With --fill any, a block of an earlier journal is right before the first write of this journal. If
# this first write is in doubt, the old block must not be taken for the result of the write.
expect 0 run --threads 1 --journal "$DIR/former" --new --first 200 --blocks 1 --fill any --mix 0:1:0:0 --ops 20 "$disk"
expect 0 run --threads 1 --journal "$DIR/later" --new --first 200 --blocks 1 --fill any --mix 1:0:0:0 --ops 1 "$disk"
(
	ulimit -f 512
	trap '' XFSZ
	expect 2 run --threads 1 --journal "$DIR/later" --mix 0:1:0:0 --ops 1 --on-error continue "$disk"
) || exit 1
expect 0 run --threads 1 --journal "$DIR/later" --mix 1:0:0:0 --ops 3 "$disk"
expect 0 verify --journal "$DIR/later" "$disk"
expect 0 verify --journal "$DIR/later" --adopt "$disk"
expect 0 verify --journal "$DIR/later" "$disk"
done_with "blocks of an earlier journal are not taken for writes of this one"

# --- usage
for wrong in "run $disk" "run ${j[*]}" "run ${j[*]} --mix 1 $disk" "run ${j[*]} --io 8-4 $disk" \
	"run ${j[*]} --share 2/2 $disk" "run ${j[*]} --fill 256 $disk" "run ${j[*]} --seed 5 $disk" \
	"run ${j[*]} --nonsense $disk" "verify ${j[*]} /dev/null" "verify --journal $disk $disk" \
	"verify --journal $DIR/none $disk" "plant ${j[*]} right any $disk" "plant ${j[*]} old x $disk" \
	"plant ${j[*]} old 99999 $disk" "show ${j[*]} 99999" "what ${j[*]} $disk"; do
	# shellcheck disable=SC2086 # words
	expect 1 $wrong
done
done_with "wrong usage is refused"

echo "gencheck: $passed passed"
