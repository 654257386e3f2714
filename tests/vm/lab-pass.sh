#!/bin/bash
# lab: --bare --disk 64M --timeout 60
# short: the lab runs a script, shows its output, has its disk and its rxe link
. ./lib.sh
same "$NODE/$NODES" 1/1
same "$(hostname)" n1
same "$(blockdev --getsize64 /dev/lab/disk0)" $((64 << 20))
rdma link show rxe0/1 | grep -q 'state ACTIVE' || die "rxe0 is not active"
same "$(cat /sys/class/net/eth0/mtu)" 9000
ibv_devinfo -d rxe0 | grep -q 'active_mtu:.*4096' || die "RoCE MTU is not 4096"
note "an argument more: ${1-none}"
date >"$OUT/left-behind"

# This machine's clock runs as fast as that of its host, which stamps files.
stamp() {
	touch "$OUT/$1" || die "no file on the share"
	eval "host_$1=\$(stat -c %.6Y "$OUT/$1" | tr -d .) own_$1=\${EPOCHREALTIME/[.,]/}"
}
stamp begin
sleep 4
stamp end
# shellcheck disable=SC2154 # stamp sets them
host=$((host_end - host_begin)) own=$((own_end - own_begin))
note "host: $host us, here: $own us"
[ $((own * 100)) -gt $((host * 70)) ] && [ $((own * 100)) -lt $((host * 140)) ] ||
	die "the clock runs at another speed than the host's"
