#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# short: an attach over iWARP is refused, because iWARP would require client memory that the target may write to
# kernel: debug
. ../lib/lab.sh
. ../lib/rnbd.sh

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	disk=$(null_disk 16) || exit 1
	export_disk disk0 "$disk"
	barrier exported
	barrier refused
	configfs_clear
	unload
	exit 0
fi

modprobe rnbd
barrier exported
dev=$(attach disk0) || exit 1
detach "$dev"

modprobe siw || die "no siw"
rdma link delete rxe0 || die "rxe0 cannot be deleted"
rdma link add siw0 type siw netdev eth0 || die "no siw0"
wait_for 20 sh -c 'rdma link show siw0/1 | grep -q "state ACTIVE"'
before=$(rdma_resources)
out=$(rnbd attach "$ADDR" disk0 2>&1) && die "attached over iWARP"
echo "$out"
[[ $out == *"siw0 is iWARP, which is not supported"* ]] || die "unexpected message"
same "$(echo "$out" | wc -l)" 1 "lines"
wait_for 10 rdma_is "$before"
barrier refused
unload
