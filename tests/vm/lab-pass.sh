#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --disk 64M --timeout 60
# short: the lab runs a script on a machine with the requested disk, an rxe link and a clock as fast as the host's
. ../lib/lab.sh
same "$NODE/$NODES" 1/1
same "$(hostname)" n1
same "$(blockdev --getsize64 /dev/lab/disk0)" $((64 << 20))
rdma link show rxe0/1 | grep -q 'state ACTIVE' || die "rxe0 is not active"
same "$(cat /sys/class/net/eth0/mtu)" 9000
ibv_devinfo -d rxe0 | grep -q 'active_mtu:.*4096' || die "RoCE MTU is not 4096"
note "argument of the script: ${1-none}"
date >"$OUT/left-behind"

# stamp NAME: create a file on the directory that the lab host shares; set host to the time stamp of
# the file, which the lab host assigns, and own to the time of this machine
stamp() {
	touch "$OUT/$1" || die "no file on the share"
	own=${EPOCHREALTIME/[.,]/}
	host=$(stat -c %.6Y "$OUT/$1" | tr -d .)
}
stamp begin
host_begin=$host own_begin=$own
sleep 4
stamp end
host=$((host - host_begin)) own=$((own - own_begin))
note "host: $host us, here: $own us"
if [ $((own * 2)) -lt "$host" ] || [ "$own" -gt $((host * 2)) ]; then
	die "the clock runs at another speed than the host's"
fi
