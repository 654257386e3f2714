#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 300
# turns: 3
# adapter: only
# short: the generation checker passes a correct disk, also after it was killed, and reports each planted fault with its kind
. ../lib/lab.sh
. ../lib/rnbd.sh

# One machine is both target and client, so this script can also plant a fault directly on the disk
# of the target.
set_host_id
target_start
backend=$(null_disk 8) || exit 1
export_disk disk0 "$backend"
dev=$(attach disk0) || exit 1
# One journal is on the directory that the lab host shares, as in other tests, and one is in memory.
journal=$OUT/journal
fast=/dev/shm/journal

# wrong KIND BLOCK: verify must find this fault and no other
wrong() {
	gencheck verify --journal "$fast" "$dev" >"$OUT/verify"
	same $? 3 "exit code of verify with a fault planted"
	[ "$(grep -c '^wrong ' "$OUT/verify")" = 1 ] || die "not one wrong block: $(cat "$OUT/verify")"
	grep -q "^wrong block=$2 kind=$1 " "$OUT/verify" || die "unexpected fault: $(cat "$OUT/verify")"
	grep -qE " wrong=1 .* wrong_$1=1$" "$OUT/verify" || die "unexpected totals: $(cat "$OUT/verify")"
	note "$(grep '^wrong' "$OUT/verify")"
}

note "clean, journal in memory"
run gencheck run --journal "$fast" --io 1-16 --threads 8 --mix 40:55:2:3 --ops 600 --progress "$dev"
run gencheck verify --journal "$fast" "$dev"
need "$dev" requests -gt 600

note "clean, journal on the share"
run gencheck run --journal "$journal" --new --fill any --io 1-16 --threads 8 --ops 600 "$dev"
run gencheck verify --journal "$journal" "$dev"
gencheck run --journal "$OUT/mapped" --journal-io mmap --new --fill any --ops 10 "$dev" ||
	note "the share cannot be mapped for writing (auto takes pwrite)"
run gencheck run --journal "$OUT/mapped" --new --fill any --ops 300 "$dev"
run gencheck verify --journal "$OUT/mapped" "$dev"

# written_over JOURNAL N: succeed if the journal has more than N writes
written_over() { [ "$(gencheck show --journal "$1" | sed 's/.* writes=\([0-9]*\).*/\1/')" -gt "$2" ]; }

for place in "$fast" "$journal"; do
	note "killed while it runs, journal $place"
	for _ in 1 2; do
		# Remove the old journal, so that written_over() counts writes of this run only.
		rm -f "$place"
		gencheck run --journal "$place" --new --fill any --threads 8 \
			--time 100 "$dev" &
		wait_for 60 written_over "$place" 50
		kill -KILL $!
		wait $! 2>/dev/null
		run gencheck verify --journal "$place" "$dev"
		run gencheck run --journal "$place" --ops 200 "$dev"
		run gencheck verify --journal "$place" "$dev"
	done
done

note "each kind of fault"
blkdiscard -z "$dev"
run gencheck run --journal "$fast" --new --io 4-16 --ops 1000 "$dev"
for where in "$dev" "$backend"; do
	kinds="old torn lost foreign address future corrupt"
	[ "$where" = "$dev" ] || kinds="old lost"
	for kind in $kinds; do
		run dd if="$dev" of=/dev/shm/right bs=1M iflag=direct status=none
		gencheck plant --journal "$fast" "$kind" any "$where" >"$OUT/plant" || die "cannot plant $kind"
		wrong "$kind" "$(sed -n 's/^planted block=\([0-9]*\) .*/\1/p' "$OUT/plant")"
		run dd if=/dev/shm/right of="$dev" bs=1M oflag=direct status=none
		run gencheck verify --journal "$fast" "$dev"
	done
done

note "throughput"
gencheck run --journal "$fast" --new --fill any --io 16 --threads 8 --time 3 "$backend"
gencheck run --journal "$fast" --new --fill any --threads 8 --time 3 "$backend"

detach "$dev"
configfs_clear
unload
