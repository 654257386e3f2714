#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measure how long it takes to reconnect, attach, detach and fence a host while hundreds of sessions
# of other hosts wait for one hung storage; runs in a lab machine that counts instructions, so that
# all times are those of the guest:
#
# scripts/lab run --icount --mem 6144 --timeout 10000 --out DIR tests/bench/scale-hung.sh [SESSIONS]
#
# Client and target are one machine with two modelled adapters. Each of the waiting sessions belongs
# to a host of its own and has one connection and one disk, all of the same export. If the memory
# does not suffice for SESSIONS sessions, there are fewer; the results contain the number. The
# measured hosts, called the other hosts, use another export on another port of the target, so that
# their connections can be ended separately.
#
# The measurement is repeated in three stages:
#   live       each waiting session has a request in the storage
#   again      the waiting sessions have lost their connections and reconnected; the storage still
#              has the requests of the lost connections
#   gone       the disks of the waiting sessions were detached by force; the storage still has the
#              requests
# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/adapter.sh
. ../lib/adapter.sh
# shellcheck source=tests/bench/scale.sh
. ./scale.sh

PART=hung
wanted=${1:-1000}
LEAST=$((wanted < 600 ? wanted : 600))
RESERVE=$((512 << 10))	# KiB that must be available for another session
OTHERS=8		# other hosts
OTHER_PORT=7999
GOAL=3			# seconds
LIMIT=120		# time limit of each operation, seconds
# Small sessions, because both ends of all sessions are in one machine.
options=(--queues 1 --queue-depth 16 --ring-slots 8 --pool 1M --max-io 64K)

ADDR=$MDL_TARGET
set_host_id
dmesg -n 4
adapter_load dma=direct timed=Y round_trip_ns=2500
adapter_up profile=mlx5
modprobe dm-mod 2>/dev/null
modprobe rnbd io_timeout=600 || die "modprobe rnbd failed"
target_start
parameter rnbd_target pool_limit_mb 1048576
parameter rnbd_target queue_limit_mb 1048576
parameter rnbd_target max_sessions 65536
disk=$(null_disk 64) || exit 1
echo "0 131072 linear $disk 0" | dmsetup create back || die "dmsetup"
export_disk hung /dev/mapper/back
# A large window lets the storage have a request of each session.
echo 4096 >"$CFG/exports/hung/window" || die "no window"
disk=$(null_disk 64) || exit 1
ADDR=$MDL_TARGET:$OTHER_PORT export_disk fine "$disk"
other_port=$(dirname "$(grep -lx $OTHER_PORT "$CFG"/ports/*/port)")
port=$(dirname "$(grep -Lx $OTHER_PORT "$CFG"/ports/*/port)")
make_hosts 1 $((wanted + OTHERS))
allow_hosts hung 1 "$wanted"
allow_hosts fine $((wanted + 1)) $((wanted + OTHERS))

rm -f "$OUT/results"
uname -r >"$OUT/kernel"

# clock: set $ms to the uptime in ms, from the kernel
clock() {
	local text

	read -r text _ </proc/uptime
	ms=$((10#${text/./} * 10))
}
# timed COMMAND...: run COMMAND and set $took to its time in ms
timed() {
	local began

	clock
	began=$ms
	"$@" || die "failed: $*"
	clock
	took=$((ms - began))
}
# until_true COMMAND...: run COMMAND often until it succeeds, without starting a process
exec {tick}<> <(:)
until_true() {
	local end

	clock
	end=$((ms + LIMIT * 1000))
	until "$@"; do
		clock
		[ $ms -lt $end ] || die "not within $LIMIT s: $*"
		read -rt 0.02 -u "$tick"
	done
	return 0	# not the status of read, which has timed out
}
# judged WHAT: record $took as a figure
judged() { figure "$stage, $number sessions: $1" "$(jq -n "$took / 1000")" s "<=" $GOAL; }

# attach_other I NAME: attach as the other host I; set $other to the disk
attach_other() {
	local host

	scale_host $((wanted + $1))
	other=$(rnbd attach "$MDL_TARGET:$OTHER_PORT" fine --host-id "$host" --name "$2" "${options[@]}") ||
		die "attach of another host failed"
}

devs=() number=0
while [ $number -lt "$wanted" ]; do
	available
	if [ "$kib" -lt $RESERVE ]; then
		lab log "hung: limited to $number sessions: $kib KiB are available"
		break
	fi
	number=$((number + 1))
	attach_session $number hung "${options[@]}" --loss-timeout 0
done
attach_other 1 stays
stays=$other
stage=start
figure "sessions that the machine holds" $number sessions ">=" "$LEAST"

# stuck: succeed if each disk has a request in flight
next=1
stuck() {
	local r w

	while [ $next -le $number ]; do
		read -r r w <"/sys/block/${devs[next]##*/}/inflight" && [ $((r + w)) -gt 0 ] || return 1
		next=$((next + 1))
	done
}
# live_sessions NUMBER: succeed if the target has at least NUMBER live sessions
live_sessions() {
	local file state n=0

	for file in "$T"/sessions/*/state; do
		if { read -r state <"$file"; } 2>/dev/null && [ "$state" = live ]; then n=$((n + 1)); fi
	done
	[ $n -ge "$1" ]
}
# returned BEFORE: succeed if the disk $stays is live and has reconnected more than BEFORE times
returned() {
	local state n

	read -r state <"/sys/block/${stays##*/}/rnbd/state" && read -r n <"/sys/block/${stays##*/}/rnbd/reconnects" &&
		[ "$state" = live ] && [ "$n" -gt "$1" ]
}
reconnect_other() {
	local before

	before=$(counter "$stays" reconnects)
	echo 0 >"$other_port/enable" || die "the port cannot be disabled"
	echo 1 >"$other_port/enable" || die "the port does not listen"
	until_true returned "$before"
}

# others I: measure the operations of other hosts; this fences the other host I, which must not be
# fenced before
others() {
	local host

	timed reconnect_other
	judged "reconnect of another host"
	works "$stays"
	timed attach_other 2 comes
	judged "attach of another host"
	works "$other"
	timed rnbd detach "$other" --wait 10
	judged "detach of another host"
	attach_other "$1" "fenced$1"
	works "$other"
	scale_host $((wanted + $1))
	timed rnbd fence "$host" --timeout $LIMIT
	judged "fence of another host"
	rnbd detach "$other" --force || die "forced detach failed"
}

stage=live
dmsetup suspend --noflush --nolockfs back || die "suspend"
ulimit -n 65536
jobs=()
for dev in "${devs[@]}"; do jobs+=(--name="${dev##*/}" --filename="$dev"); done
fio --thread --direct=1 --ioengine=libaio --rw=randwrite --bs=4k --iodepth=1 --number_ios=1 --size=1m \
	--alloc-size=262144 --disk_util=0 --minimal "${jobs[@]}" >"$OUT/fio" 2>&1 &
load=$!
until_true stuck
others 3

stage=again
# Not "echo 0", which would wait until the storage has completed its requests.
echo begin-disable >"$port/enable" || die "the port cannot be disabled"
echo 1 >"$port/enable" || die "the port does not listen"
timed until_true live_sessions $((number + 1))
figure "$stage, $number sessions: all are live" "$(jq -n "$took / 1000")" s
others 4
for i in 1 $((number / 2 + 1)) "$number"; do
	same "$(counter "${devs[i]}" state)" reconnecting "state of the disk of session $i"
done

stage=gone
printf '%s\n' "${devs[@]}" | xargs -P 16 -I '{}' rnbd detach '{}' --force || die "forced detach failed"
wait $load
figure "$stage, $number sessions: left at the target, with a request in the storage" \
	"$(($(sessions_of_target) - 1))" sessions
others 5
need "$stays" violations -eq 0

# When the storage continues, all sessions must end except that of the disk $stays.
dmsetup resume back || die "resume"
timed wait_slowly 300 sessions_are 1
figure "the storage has gone on: the last session has ended after" "$(jq -n "$took / 1000")" s
for i in 3 4 5; do
	scale_host $((wanted + i))
	rnbd unfence "$host" || die "unfence failed"
done
works "$stays"
detach_all
no_violations
