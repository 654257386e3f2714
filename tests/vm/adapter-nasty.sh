#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
# adapter: own
# turns: 2
# short: each kind of nastiness of the modelled adapter happens when it is requested, and the guarantees of InfiniBand still hold
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

# look CASE SEEN: load rdma-model-plant, which looks for the behaviour CASE. The module must see the
# behaviour if SEEN is Y, and must not see it if SEEN is N. Store the message of the module in
# $said. If the case fails, add it to $failed and continue. Fail if a device has counted a
# violation.
failed=
look() {
	local dev
	dmesg -C
	modprobe rdma-model-plant "what=$1" "seen=$2" ||
		{ dmesg; note "FAILED: $1, seen=$2"; failed+=" $1"; return; }
	rmmod rdma_model_plant
	said=$(dmesg | sed -n 's/.*rdma-model-plant: //p')
	note "$said"
	for dev in mdl0 mdl1; do
		same "$(mdl_stat "$dev" violations)" 0 "$1: violations of $dev"
	done
}

# kind NAME [PARAMETER=VALUE...]: create the devices again, with only this kind of rare behaviour,
# at its highest rate
kind() {
	adapter_again bounce=N "nasty=$1" nasty_rate=1 "${@:2}"
	same "$(cat "$MDL_DEBUG/mdl0/nasty")" "$1" "kinds of nasty behaviour of mdl0"
}

# Without bounce buffers the devices access the memory of rdma-model-plant directly, so the module
# can see in which order data arrive.
adapter_up profile=mlx5 bounce=N seed=1

note "no nastiness"
for case in unfenced fenced swap sender-first defer; do look $case N; done

kind again
look unfenced Y
look fenced N
mdl_need mdl0 fence_waits -gt 0
mdl_need mdl0 nasty_again -gt 1

kind late
look pieces Y
look unfenced Y
look fenced N
mdl_need mdl0 read_pieces -gt 100

kind defer
look defer Y
look drop Y
mdl_need mdl1 nasty_defer -gt 1

kind delay
look swap Y
look sender-first Y
mdl_need mdl0 completions_passed -gt 0

kind merge
look merge Y

kind rnr
look message Y
mdl_need mdl0 receiver_not_ready -gt 0
mdl_need mdl1 nasty_rnr -gt 0

kind register
look register Y
kind modify
look modify Y
kind event
look events Y

# On a slow machine the device can fail before rdma-model-plant waits for the event, and the case
# fails. On a debug kernel the script therefore tries the case up to LAB_SLOW times.
for ((tries = ${LAB_SLOW:-1}; tries; tries--)); do
	before=$failed
	kind fatal
	look fatal Y
	if [ "$failed" = "$before" ] || [ $tries = 1 ]; then break; fi
	failed=$before
done

# The same seed must cause the same errors, and another seed must cause other errors.
kind error
look error Y
first=$said
kind error
look error Y
same "$said" "$first" "errors of the same seed"
kind error seed=2
look error Y
[ "$said" != "$first" ] || die "another seed causes the same errors"

# nasty_needed must fail, because the kind "again" was requested and no READ was executed again.
kind again seed=1
look message Y
(nasty_needed) && die "nasty_needed does not detect that no READ was executed again"
MDL_CANNOT=again
[ -z "$failed" ] || die "failed cases:$failed"
adapter_down
