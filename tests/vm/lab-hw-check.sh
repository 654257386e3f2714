#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1536 --timeout 500
# short: make hw-check over ssh: proves that nothing is registered, leaves an archive, undoes all
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/hwcheck.sh

# The other parts, and what happens when the check is killed, take minutes: long/hw-check.sh.
check ACCEPT=yes MODULES=installed PARTS=proof || die "exit $?: $(cat "$OUT/check")"
says "^hw-check: [0-9]* passed, 0 failed, 0 skipped: $RESULTS/hw-check-.*-target-client.tar.gz"
unchanged || die "left over: $(diff <(echo "$before") <(states))"
unpack
for i in kernel cpu iommu rdma gid link flow-control modules; do
	[ -s "$results/environment/target/$i.txt" ] || die "no $i of the target"
	[ -s "$results/environment/client/$i.txt" ] || die "no $i of the client"
done
holds environment/target/rdma.txt rxe0
holds logs/proof.log "registrations and invalidations at the client: 0"
holds logs/proof.log "posted RDMA WRITE: [1-9]"
barrier over
