#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1536 --timeout 1200
# short: make hw-check over ssh inspects two machines without changing them, runs all its parts, and undoes its changes, also when it is killed
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/hwcheck.sh

check || die "exit $?: $(cat "$OUT/check")"
says "Nothing was changed. To continue: make hw-check TARGET=n1 CLIENT=n2 .*ACCEPT=yes"
says "load null_blk"
unchanged || die "recording the environment has changed a machine: $(diff <(echo "$before") <(states))"
unpack
for i in kernel cpu iommu rdma gid link flow-control modules; do
	[ -s "$results/environment/target/$i.txt" ] || die "no $i of the target"
	[ -s "$results/environment/client/$i.txt" ] || die "no $i of the client"
done
holds environment/target/rdma.txt rxe0
holds environment/target/flow-control.txt "not available"
note "read in $SECONDS s"

# killed SIGNAL: run a check and send it the signal once it injects faults
killed() {
	local pid

	rm "$OUT/check"
	check ACCEPT=yes MODULES=installed PARTS=gencheck ROUNDS=100000 &
	wait_for 240 grep -q "round 1 of 100000" "$OUT/check"
	pid=$(pgrep -of 'bash .*tests/hw/run') || die "the check does not run"
	kill "-$1" "$pid"
	wait $! && die "a killed check passed"
	return 0
}

killed TERM
says "^hw-check: 7 passed, 1 failed, 0 skipped: "
unchanged || die "left over after SIGTERM: $(diff <(echo "$before") <(states))"

killed KILL
unchanged && die "the killed check left nothing to undo"
wait_for 180 unchanged
note "the machines have restored themselves after $SECONDS s"

# The client is reached at 127.0.0.1, so ssh does not use the port that the fault "link" sets down.
# The fault must still be skipped, because soft-RoCE makes no connection after its port was down.
check ACCEPT=yes CLIENT=127.0.0.1 PORT_DOWN=yes MODULES=installed PARTS="proof gencheck bench" BENCH_SECONDS=1 SYSTEMS="rnbd nvme-rdma-best" ||
	die "exit $?: $(cat "$OUT/check")"
says "^hw-check: 10 passed, 0 failed, 0 skipped: $RESULTS/hw-check-.*-target-client.tar.gz"
unchanged || die "left over: $(diff <(echo "$before") <(states))"
unpack
holds logs/proof.log "registrations and invalidations at the client: 0"
holds logs/proof.log "posted RDMA WRITE: [1-9]"
holds logs/proof.log "registrations at the target for another login: [1-9]"
holds logs/gencheck.log "reconnects after 4 faults: "
says "gencheck: link: soft-RoCE on eth0 makes no connection"
holds results/bench.txt "randread 4k depth 32 +[0-9]+ +[0-9]+$"
jq -e 'length == 10 and all(.iops > 0 and .client_cpu_us > 0)' "$results/results/bench.json" >/dev/null ||
	die "results: $(cat "$results/results/bench.json")"
holds logs/target/dmesg rnbd
for i in '10\.9\.0\.' '\bn[12]\b' "$(cat /sys/class/net/eth0/address)"; do
	grep -rqE "$i" "$results" && die "not anonymous: $(grep -rnE "$i" "$results" | head -n 5)"
done
note "parts done after $SECONDS s"
barrier over
