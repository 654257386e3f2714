#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 240
# turns: 2
# adapter: only
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: the link goes down and up again and again under load: one reconnect each time, and every generation is right
. ../lib/lab.sh
. ../lib/rnbd.sh

FLAPS=5

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 16)"
	barrier exported
	barrier end 240
	configfs_clear
	unload
	exit 0
fi

barrier exported
dev=$(attach disk0 --queues 2 --keepalive 500) || exit 1
sys=/sys/block/$(basename "$dev")/rnbd
gencheck run --journal /dev/shm/journal --threads 8 --io 1-8 --time 1000 "$dev" >"$OUT/gencheck" &
pid=$!
moves() {
	local before
	before=$(counter "$dev" requests)
	wait_for 20 counter_over "$dev" requests $((before + 100))
	kill -0 $pid 2>/dev/null || die "gencheck ended: $(cat "$OUT/gencheck")"
}

for i in $(seq 1 $FLAPS); do
	moves
	lab cut 2
	wait_for 20 grep -q reconnecting "$sys/state"
	lab join 2
	wait_for 20 grep -q live "$sys/state"
done
moves
kill $pid
wait $pid || die "gencheck: $(cat "$OUT/gencheck")"
cat "$OUT/gencheck"
need "$dev" connections_lost -eq $FLAPS
need "$dev" reconnects -eq $FLAPS
run gencheck verify --journal /dev/shm/journal "$dev"
detach "$dev"
barrier end
unload
