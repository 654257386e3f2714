#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 120
# adapter: own
# turns: 2
# short: the modelled adapter reports each planted violation
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

# warn=N, because a kernel warning would fail the run; adapter-warns tests the warning.
adapter_load warn=N
adapter_up profile=mlx5

# commit WHAT: load rdma-model-plant, which commits the violation WHAT; store the kernel messages in
# $said
commit() {
	dmesg -C
	modprobe rdma-model-plant "what=$1" || { dmesg; die "$1 was not committed"; }
	rmmod rdma_model_plant
	said=$(dmesg)
}

# plant WHAT TEXT: commit the violation WHAT; the model must report it with TEXT
plant() {
	commit "$1"
	grep 'rdma-model: VIOLATION: mdl[01]: .*'"$2" <<<"$said" || die "$1: not reported: $said"
}

for nothing in nothing sync undefined; do
	commit $nothing
	if grep VIOLATION <<<"$said"; then die "$nothing: a violation was reported"; fi
done

mdl_need mdl1 no_receive -eq 0
commit unreceived
mdl_need mdl1 no_receive -gt 0

plant unmapped 'address that is not mapped (local read'
plant direction 'access against the direction of a mapping (local write'
plant early-unmap 'mdl_plant_done.*is unmapped before 1 work requests'
plant early-unmap-recv 'mdl_plant_done.*is unmapped before 1 work requests'
plant unmap 'unmaps address'
plant unmap-count 'unmaps a list of 1 entries that was mapped with 2 entries'
plant sends 'posted beyond the capacity of the send queue'
plant recvs 'posted beyond the capacity of the receive queue'
plant cq 'overflow of a completion queue'
plant cq-posted 'more work requests than the 1 entries that were requested of the completion queue'
plant sges 'more entries than a send work request'
plant recv-sges 'more entries than a receive work request'
plant rkey 'unknown key (remote write'
plant old-rkey 'former key of a region (remote write'
plant bounds 'address out of the bounds of the region (remote write'
plant access 'access that the region does not allow (remote read'
plant reg-access 'REG_MR allows remote but not local write access'
plant reg-key 'REG_MR with the key of the previous registration'
plant event 'the handler of event [0-9]* enabled interrupts or slept'

# A report names the queue pair and the work request.
grep -q 'qp [1-9][0-9]*: work request [0-9a-f]* (mdl_plant_done \[rdma_model_plant\])' <<<"$said" ||
	die "the report lacks queue pair and work request: $said"

commit leak
dmesg -C
adapter_down
dmesg | grep 'VIOLATION: mdl0: .*1 mappings are left at removal' || die "the leak was not reported: $(dmesg)"
