#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --nodes 2 --timeout 120
# kernel: debug
# short: the debug kernel has all requested options and active checkers; soft-RoCE and siw links work side by side
. ../lib/lab.sh
config=/lib/modules/$(uname -r)/config

# Compare the running kernel with the configuration fragments. If two fragments set an option, the
# later fragment applies.
fragments=(../../scripts/lab.d/kernel/debug.config)
[ "$LAB_KERNEL" != heavy ] || fragments+=(../../scripts/lab.d/kernel/heavy.config)
run awk '
	{ name = $0; sub(/^# /, "", name); sub(/[= ].*/, "", name) }
	FNR == NR { have[name] = $0; next }
	/^(# )?CONFIG_/ { want[name] = $0; n++ }
	END {
		for (name in want)
			if (want[name] ~ /^#/ ? name in have && have[name] !~ /^#/ : have[name] != want[name]) {
				print "differs: " want[name]
				bad = 1
			}
		print n " lines of the configuration are as asked for"
		exit bad || n < 100
	}' "$config" "${fragments[@]}"
# Options that must never be missing, whatever the fragments say
for option in KASAN PROVE_LOCKING DEBUG_ATOMIC_SLEEP DEBUG_KMEMLEAK DEBUG_LIST UBSAN_BOUNDS \
	FAILSLAB FAIL_PAGE_ALLOC FAULT_INJECTION_DEBUG_FS FAULT_INJECTION_STACKTRACE_FILTER; do
	echo "CONFIG_$option=y"
done >"$OUT/wanted"
same "$(grep -cxFf "$OUT/wanted" "$config")" "$(wc -l <"$OUT/wanted")" "one of the checkers is missing"

# The checkers must be active, not only compiled in.
same "$(awk '/debug_locks:/ { print $2 }' /proc/lockdep_stats)" 1 "debug_locks of lockdep"
[ -w /sys/kernel/debug/kmemleak ] || die "no kmemleak"
for dir in failslab fail_page_alloc fail_make_request; do
	[ -e "/sys/kernel/debug/$dir/probability" ] || die "no $dir"
done
[ -e /sys/kernel/debug/failslab/require-start ] || die "no filter by stack"

run modprobe -a kunit siw null_blk brd nbd dm_dust dm_flakey dm_delay dm_log_writes dm_snapshot \
	raid456 raid1 gfs2 ocfs2 dlm xfs sch_netem nft_numgen nft_ct

note "one allocation of a process with make-it-fail fails"
echo Y >/sys/kernel/debug/failslab/task-filter
echo 100 >/sys/kernel/debug/failslab/probability
echo 1 >/sys/kernel/debug/failslab/times
echo N >/sys/kernel/debug/failslab/ignore-gfp-wait
bash -c 'echo 1 >/proc/self/make-it-fail; exec mkdir /tmp/fails' 2>"$OUT/failed"
echo 0 >/sys/kernel/debug/failslab/probability
same "$(cat /sys/kernel/debug/failslab/times)" 0 "allocations still to fail"

run rdma link add siw0 type siw netdev eth0
wait_for 10 sh -c 'rdma link show siw0/1 | grep -q "state ACTIVE"'
rdma link show rxe0/1 | grep -q 'state ACTIVE' || die "rxe0 is not active"
barrier links
if [ "$NODE" = 1 ]; then
	rping -s -a 10.9.0.1 -C 5 &
	wait_for 10 sh -c 'rdma resource show cm_id | grep -q LISTEN'
	barrier listens
	wait $! || die "rping server"
else
	barrier listens
	run rping -c -a 10.9.0.1 -C 5
fi
barrier rdma
same "$(awk '/debug_locks:/ { print $2 }' /proc/lockdep_stats)" 1 "debug_locks of lockdep"
