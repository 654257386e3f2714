#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 240
# adapter: own
# turns: 2
# short: work requests fail and devices report fatal errors: client and target reconnect, and the data are right
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

ADDR=$MDL_TARGET
set_host_id
adapter_up profile=mlx5 nasty=all,error,fatal nasty_rate=16
target_start
export_disk disk0 "$(null_disk 64)"
modprobe rnbd || die "modprobe rnbd failed"

# attached: attach the disk. An attach fails if one of its connections fails, and wait_for repeats
# such an attach.
attached() { dev=$(rnbd attach "$ADDR" disk0 --queues 2); }
wait_for 30 attached

connections() { dmesg | grep -c 'reconnected, attempt'; }

# happened KIND: succeed if this kind of rare behaviour has happened
happened() { grep -q "^nasty_$1 [1-9]" "$MDL_DEBUG"/mdl[01]/stats; }

# Write and verify for at least 3 rounds, until both kinds (error and fatal) have happened and the
# disk has reconnected at least twice.
rounds=0
until [ "$rounds" -ge 3 ] && happened error && happened fatal && [ "$(connections)" -ge 2 ]; do
	verify "$dev" --rw=randwrite --bs=4k --iodepth=16 --size=2m
	verify "$dev" --rw=write --bs=256k --iodepth=4 --size=4m
	rounds=$((rounds + 1))
	[ "$rounds" -lt 30 ] || die "no error in 30 rounds"
done
note "$rounds rounds, reconnected $(connections) times"
mdl_show

detach "$dev"
own_adapter_end
