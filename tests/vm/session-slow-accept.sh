#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 4 --mem 1024 --timeout 120
# turns: 3
# short: connections whose client joins before the target has restricted their access to the pool can use the pool
. ../lib/lab.sh
. ../lib/rnbd.sh

QUEUES=4

set_host_id
target_start
export_disk disk0 "$(null_disk 64)"
# delay_restrict delays the target for longer than a client needs to join.
strike rnbd-target delay_restrict 1000 500
connections_are() { [ "$(counter "$dev" connections)" = "$1" ]; }

dev=$(attach disk0 --queues $QUEUES --pool 16M) || exit 1
wait_for 30 connections_are $QUEUES
same "$(hits rnbd-target delay_restrict)" $((QUEUES - 1)) "connections that were accepted slowly"
# Requests of 64 KiB use the pool. Each CPU uses a different connection.
for ((i = 0; i < QUEUES; i++)); do
	verify "$dev" --rw=randrw --bs=64k --iodepth=8 --size=4m --offset=$((4 * i))m --cpus_allowed=$i
done
same "$(counter "$dev" connections_lost)" 0 "lost connections"
same "$(counter "$dev" reconnects)" 0 "reconnects"
strike rnbd-target delay_restrict 0
detach "$dev"
configfs_clear
unload
