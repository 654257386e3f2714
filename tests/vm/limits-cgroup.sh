#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1536 --timeout 300
# adapter: only
# turns: 3
# without: event, because a lost connection makes a gap in a rate that is measured
# short: a host exceeds the io.max of its cgroup by at most 3 %, and io.stat counts its I/O; another host is not limited; a removed cgroup's ancestor applies
. ../lib/lab.sh
. ../lib/rnbd.sh

# Two hosts on one machine: host 2 is the same machine with another id.
ME=$(host_id 1)
CG=/sys/fs/cgroup
SLICE=$CG/rnbd.slice
LEAF=$SLICE/rnbd-a.slice
MIB=$((1 << 20))
LIMIT=$((2 * MIB))		# bytes per second of the cgroup
ABOVE=$((3 * MIB))		# bytes per second of its ancestor
SECONDS_OF_RATE=10

cgroup() { echo "$2" >"$1" || die "$1: $2"; }
effective() { cat "$CFG/hosts/$ME/effective_cgroup"; }
effective_is() { [ "$(effective)" = "$1" ]; }
waits() { [ "$(cat "$CFG/hosts/$ME/queued_requests")" -gt 0 ]; }

mountpoint -q $CG || mount -t cgroup2 none $CG || die "no cgroup2"
cgroup $CG/cgroup.subtree_control +io
run mkdir $SLICE
cgroup $SLICE/cgroup.subtree_control +io
run mkdir $LEAF

set_host_id
target_start
disk=$(null_disk 64) || exit 1
export_disk disk0 "$disk" 1 2
MAJMIN=$(cat "/sys/block/${disk##*/}/dev")
cgroup $LEAF/io.max "$MAJMIN rbps=$LIMIT wbps=$LIMIT"
cgroup $SLICE/io.max "$MAJMIN rbps=$ABOVE wbps=$ABOVE"

rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"

one=$(attach disk0 --queues 2) || exit 1
two=$(attach disk0 --queues 2 --host-id "$(host_id 2)" --new-session) || exit 1

# load DEV DEPTH RW: start a load that runs until end_loads
load() {
	fio --name=load --filename="$1" --ioengine=libaio --direct=1 --rw="$3" --bs=16k \
		--iodepth="$2" --size=32m --time_based --runtime=600 --minimal >"$OUT/${1##*/}.fio" 2>&1 &
	loads+=($!)
}
end_loads() {
	local pid
	for pid in "${loads[@]}"; do kill -INT "$pid"; done
	wait "${loads[@]}"
	loads=()
}
loads=()

# bytes DEV: print the bytes read and written; the client counts them at completion
bytes() {
	local f
	read -ra f <"/sys/block/${1##*/}/stat" && echo $(((f[2] + f[6]) * 512))
}
# charged FILE: print the bytes read and written according to an io.stat file
charged() {
	sed -n "s/^$MAJMIN .*rbytes=\\([0-9]*\\) wbytes=\\([0-9]*\\) .*/\\1 \\2/p" "$1" |
		awk '{ n += $1 + $2 } END { print n + 0 }'
}
# rate DEV: print the bytes per second over 10 s
rate() {
	local from since
	from=$(bytes "$1") since=${EPOCHREALTIME/[.,]/}
	sleep $SECONDS_OF_RATE
	echo $((($(bytes "$1") - from) * 1000000 / (${EPOCHREALTIME/[.,]/} - since)))
}
# near VALUE LIMIT WHAT: VALUE must be at most 3 % above LIMIT and at most 20 % below LIMIT, because
# a busy machine can be slower. The benchmark "fairness cgroup", which measures in emulated time,
# allows only 3 % in both directions.
near() {
	local permille=$((($1 - $2) * 1000 / $2))
	note "$3: $1 bytes/s, limit $2: $permille per mille"
	if [ $permille -gt 30 ] || [ $permille -lt -200 ]; then die "$3: $1 instead of $2"; fi
}
# free VALUE WHAT [LEAST]: VALUE must be at least LEAST, which is by default 1.25 times the largest
# limit, ABOVE; on a debug kernel LEAST is divided by LAB_SLOW
free() {
	note "$2: $1 bytes/s"
	[ "$1" -ge $((${3:-$((ABOVE * 5 / 4))} / ${LAB_SLOW:-1})) ] || die "$2: $1, as if it were limited"
}

note "no cgroup: no limit"
load "$one" 16 randread
load "$two" 16 randread
wait_for 60 counter_over "$one" requests 1000
free "$(rate "$one")" "host 1"

note "a cgroup while disks are attached and busy"
run rnbd host cgroup "$ME" rnbd.slice/rnbd-a.slice
same "$(effective)" /rnbd.slice/rnbd-a.slice "the cgroup that applies"
same "$(rnbd host cgroup "$ME")" /rnbd.slice/rnbd-a.slice "the cgroup"
# The cgroup does not limit the requests that were already in flight: wait until they have
# completed.
sleep 2
before=$(charged $LEAF/io.stat)
begun=$(bytes "$one")
near "$(rate "$one")" $LIMIT "reads of host 1"
counted=$(($(charged $LEAF/io.stat) - before))
moved=$(($(bytes "$one") - begun))
note "io.stat: $counted bytes, the client has read $moved"
percent=$((counted * 100 / moved))
[ $percent -ge 95 ] || die "io.stat counts only $percent %"
[ $percent -le 105 ] || die "io.stat counts $percent %"

note "the other host is not limited"
free "$(rate "$two")" "host 2"

note "requests beyond the window of the storage do not reduce the share of the other host"
end_loads
load "$two" 1 randread
sleep 2
alone=$(rate "$two")
note "host 2, one request at a time, alone: $alone bytes/s"
end_loads
load "$one" 512 randread
wait_for 20 waits
load "$two" 1 randread
sleep 2
# If the requests of host 1 filled the window that host 2 uses, host 2 would get only half of LIMIT.
# The required rate is relative to the rate of host 2 alone, which depends on the machine.
free "$(rate "$two")" "host 2, one request at a time, beside 512" $((alone * 2 / 3))
near "$(rate "$one")" $LIMIT "reads of host 1, 512 in flight"
end_loads

note "writes"
load "$one" 16 randwrite
sleep 2
near "$(rate "$one")" $LIMIT "writes of host 1"

note "the cgroup is removed: its ancestor applies"
run rmdir $LEAF
wait_for 5 effective_is /rnbd.slice
dmesg_has "host $ME: cgroup /rnbd.slice/rnbd-a.slice does not exist or has no io controller: the limits of /rnbd.slice apply" ||
	die "not in the log"
wait_for 5 grep -q "host $ME cgroup /rnbd.slice/rnbd-a.slice: limits of /rnbd.slice apply" "$OUT/monitor"
sleep 2
near "$(rate "$one")" $ABOVE "writes of host 1 under the ancestor"
rnbd host cgroup "$ME" 2>"$OUT/note" >/dev/null
grep -q 'limits of /rnbd.slice apply' "$OUT/note" || die "the tool does not report the cgroup whose limits apply"

note "the cgroup is created again, and then loses the controller"
run mkdir $LEAF
cgroup $LEAF/io.max "$MAJMIN rbps=$LIMIT wbps=$LIMIT"
wait_for 5 effective_is /rnbd.slice/rnbd-a.slice
sleep 2
near "$(rate "$one")" $LIMIT "writes of host 1 under the new one"
cgroup $SLICE/cgroup.subtree_control -io
wait_for 5 effective_is /rnbd.slice
run rnbd host cgroup "$ME" none
same "$(rnbd host cgroup "$ME")" none "the cgroup"
same "$(effective)" "" "the cgroup that applies"
sleep 2
free "$(rate "$one")" "host 1 without a cgroup"
end_loads
need "$one" connections_lost -eq 0
need "$two" connections_lost -eq 0
verify "$one" --rw=randwrite --bs=4k --iodepth=16 --size=4m
detach "$one"
detach "$two"
kill $monitor
configfs_clear
run rmdir $LEAF $SLICE
unload
