#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Count how the modules use an adapter, on modelled adapters; runs in a lab machine:
#
#   scripts/lab run --cpus 4 --mem 2048 tests/bench/adapter-facts.sh
#
# The script prints DMA mappings per request, stalls of the send queue, and the interrupts of each
# completion vector with several sessions. It compares no figure with a goal.
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh

# shellcheck disable=SC2034 # of rnbd.sh
ADDR=$MDL_TARGET
set_host_id
adapter_load dma=model

# load DEV RW BS DEPTH IOS FIO-OPTION...: run fio
load() {
	run fio --name=load --filename="$1" --direct=1 --ioengine=libaio --rw="$2" --bs="$3" \
	    --iodepth="$4" --number_ios="$5" --size=60m --norandommap --minimal \
	    --output=/dev/null "${@:6}"
}

# maps PROFILE BS: print the DMA mappings per request of the client
maps() {
	local rw before requests
	for rw in read write; do
		before=$(mdl_stat mdl0 maps) requests=$(counter "$dev" requests)
		load "$dev" $rw "$2" 8 500
		requests=$(($(counter "$dev" requests) - requests))
		note "$1: $rw $2: $((($(mdl_stat mdl0 maps) - before) * 10 / requests)) tenths of a mapping" \
			"per request, $requests requests"
	done
}

# stalls PROFILE: print how often a send queue was full
stalls() {
	local before requests
	before=$(counter "$dev" sq_stalls) requests=$(counter "$dev" requests)
	load "$dev" randread 4k 128 20000
	note "$1: $(($(counter "$dev" sq_stalls) - before)) stalls of the send queue in" \
		"$(($(counter "$dev" requests) - requests)) reads at depth 128"
	before=$(counter "$dev" sq_stalls) requests=$(counter "$dev" requests)
	load "$dev" randread 256k 128 2000
	note "$1: $(($(counter "$dev" sq_stalls) - before)) stalls of the send queue in" \
		"$(($(counter "$dev" requests) - requests)) reads of 256 KiB at depth 128"
}

first=1
for profile in mlx5 irdma bnxt_re; do
	if [ -n "$first" ]; then
		adapter_up "profile=$profile"
	else
		adapter_again "profile=$profile"
	fi
	first=
	target_start
	export_disk disk0 "$(null_disk 64)"
	dev=$(attach disk0 --queues 1) || exit 1
	for bs in 4k 64k 256k 1m; do maps "$profile" $bs; done
	stalls "$profile"
	detach "$dev"
	configfs_clear
	unload
done

note "vectors of 4 sessions with 2 queues each, on $(nproc) processors"
target_start
for i in 0 1 2 3; do export_disk "disk$i" "$(null_disk 64)"; done
disks=()
for i in 0 1 2 3; do disks+=("$(attach "disk$i" --new-session --queues 2 --pool 4M)"); done
before=$(grep ^vector "$MDL_DEBUG/mdl0/state" | awk '{ print $6 }')
for dev in "${disks[@]}"; do load "$dev" randread 4k 16 4000 --numjobs=4; done
paste <(echo "$before") <(grep ^vector "$MDL_DEBUG/mdl0/state") |
	awk '{ printf "# vector %s, processor %s: %d interrupts\n", $3, $5, $7 - $1 }'
for dev in "${disks[@]}"; do detach "$dev"; done
configfs_clear
unload
adapter_down
