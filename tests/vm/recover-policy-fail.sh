#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 1 --mem 1024 --timeout 300
# adapter: only
# turns: 2
# without: event register modify rnr delay merge, because its keep-alive is 250 ms
# short: the connection is lost with policy fail, or a disk is deactivated: all I/O ends with an error, and nothing hangs
. ../lib/lab.sh
. ../lib/rnbd.sh

# Ways by which the administrator of the target ends the attachment of the disk
WAYS="export-disabled host-denied export-unlinked port-disabled"

end_session() {
	case $1 in
	export-disabled) rnbd export disable disk0 ;;
	host-denied) rnbd export deny disk0 "$(host_id 2)" ;;
	export-unlinked) rm "$CFG/ports/1/exports/disk0" ;;
	port-disabled) echo 0 >"$CFG/ports/1/enable" ;;
	esac
}

allow_again() {
	case $1 in
	export-disabled) rnbd export enable disk0 ;;
	host-denied) rnbd export allow disk0 "$(host_id 2)" ;;
	export-unlinked) ln -s "$CFG/exports/disk0" "$CFG/ports/1/exports/disk0" ;;
	port-disabled) echo 1 >"$CFG/ports/1/enable" ;;
	esac
}

sessions_are() { [ "$(cat "$CFG/exports/$1/sessions")" = "$2" ]; }

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	for way in $WAYS; do
		lab barrier "up-$way"
		lab barrier "load-$way"
		echo "$way under load"
		end_session "$way" || die "$way failed"
		# Removing the link does not wait for the end of the attachment.
		[ "$way" != export-unlinked ] || wait_for 20 sessions_are disk0 0
		[ "$(cat "$CFG/exports/disk0/sessions")" = 0 ] || die "a session is left"
		lab barrier "down-$way" --timeout 120
		allow_again "$way" || die "undoing $way failed"
	done

	# The client deactivates three disks in turn: a disk whose requests are in hung storage, a
	# disk whose login waits, and a disk whose export is disabled.
	modprobe dm-mod 2>/dev/null
	disk=$(null_disk 64) || exit 1
	echo "0 131072 linear $disk 0" | dmsetup create back || die "dmsetup failed"
	export_disk held /dev/mapper/back
	lab barrier up-held
	lab barrier load-held --timeout 60
	dmsetup suspend --noflush --nolockfs back || die "suspend failed"
	lab barrier held
	lab barrier let-go --timeout 60
	dmsetup resume back || die "resume failed"
	wait_for 20 sessions_are held 0
	lab barrier gone
	lab barrier login --timeout 60
	strike rnbd-target delay_login 1 1000000
	lab barrier hold-login
	wait_for 20 hit delay_login
	lab barrier held-login
	lab barrier let-login-go --timeout 60
	strike rnbd-target delay_login 0
	wait_for 20 sessions_are held 0
	lab barrier login-gone
	lab barrier nobody --timeout 60
	rnbd export disable held || die "disable failed"
	lab barrier disabled
	lab barrier deactivated --timeout 60
	rnbd export enable held || die "enable failed"
	lab barrier enabled
	# The client pauses this machine twice.
	lab barrier silent --timeout 120
	lab barrier both --timeout 200
	wait_for 20 sessions_are held 0
	rnbd export remove held || die "export remove failed"
	dmsetup remove back || die "dmsetup remove failed"

	lab barrier up2
	lab barrier load2
	echo "the RDMA device is removed under load"
	device_remove
	lab barrier down2 --timeout 120
	configfs_clear
	unload
	# The client kills this machine in the last part.
	device_add
	target_start
	export_disk disk0 "$(null_disk 64)"
	lab barrier up3
	while :; do sleep 1; done
fi

modprobe rnbd io_timeout=$((10 * ${LAB_SLOW:-1}))
before=$(rdma_own)
# loss_timeout is as short as the keep-alive interval allows, because writes that were sent are held
# until loss_timeout ends.
fail=(--policy fail --keepalive $((250 * ${LAB_SLOW:-1})) --loss-timeout $((1 + ${LAB_SLOW:-1})))

# load DEV [RW]: start I/O that continues until it fails; set pid
load() {
	fio --name=load --filename="$1" --direct=1 --ioengine=libaio --rw="${2:-randrw}" \
	    --bs=16k --iodepth=32 --size=32m --time_based --runtime=3600 --minimal \
	    >"$OUT/load" 2>&1 &
	pid=$!
	wait_for 20 counter_over "$1" requests $((200 / ${LAB_SLOW:-1}))
}

# lost DEV: the disk must fail, I/O must end with an error, and a detach must leave no RDMA object
# of the disk
lost() {
	wait_for 60 grep -q failed "/sys/block/$(basename "$1")/rnbd/state"
	wait_for 30 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid && die "fio saw no error"
	grep -q 'Link has been severed' "$OUT/load" || die "fio ended for another reason: $(tail -3 "$OUT/load")"
	echo "  $(counter "$1" state): $(counter "$1" reason)"
	if dd if="$1" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then die "the failed disk still reads"; fi
	detach "$1"
	wait_for 10 rdma_own_is "$before"
}

for way in $WAYS; do
	lab barrier "up-$way"
	dev=$(attach disk0 "${fail[@]}") || exit 1
	# In two of the ways the load only writes. So the flushed work requests belong to request
	# structures that the client has never used for a READ.
	case $way in
	export-disabled | port-disabled) load "$dev" randwrite ;;
	*) load "$dev" ;;
	esac
	lab barrier "load-$way"
	lost "$dev"
	lab barrier "down-$way"
done

# stuck DEV: 16 or more writes are in flight, and none completes for 0.5 s; for wait_for
writes() { awk '{ print $5 }' "/sys/block/${1##*/}/stat"; }
stuck() {
	local now before
	before=$(writes "$1")
	sleep 0.5
	read -r _ now <"/sys/block/${1##*/}/inflight"
	[ "$now" -ge 16 ] && [ "$(writes "$1")" = "$before" ]
}
# deactivate DEV: deactivate the disk. The command must be fast, fail all I/O and leave no RDMA
# object of the disk, and it must succeed again for the disk that has failed.
deactivate() {
	local sent took=${EPOCHREALTIME/[.,]/}
	rnbd deactivate "$1" || die "rnbd deactivate failed"
	# The deactivation has destroyed the connection of the disk with all its RDMA objects. So
	# only the RDMA objects are left that existed before the disk was attached.
	same "$(rdma_own)" "$before" "RDMA objects"
	same "$(counter "$1" state)" failed state
	sent=$(counter "$1" requests)
	took=$(((${EPOCHREALTIME/[.,]/} - took) / 1000))
	# A deactivation that waits for a silent target would take longer than this limit.
	[ $took -lt $((LAB_SLOW ? 60000 : 3000)) ] || die "it took $took ms"
	same "$(counter "$1" last_error)" "deactivated by the administrator"
	rnbd list "$1" --json | jq -e '.[0] | .state == "failed" and .last_error == "deactivated by the administrator"' ||
		die "rnbd list reports another state: $(rnbd list "$1" --json)"
	wait_for 5 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid && die "no error"
	if dd if="$1" of=/dev/null bs=4k count=1 iflag=direct 2>"$OUT/dd"; then die "the failed disk still reads"; fi
	grep -q 'Link has been severed' "$OUT/dd" || die "unexpected error: $(cat "$OUT/dd")"
	same "$(counter "$1" requests)" "$sent" "requests sent"
	run rnbd deactivate "$1"
	(echo 0 >"/sys/block/${1##*/}/rnbd/deactivate") 2>/dev/null && die "activated again"
	note "deactivated in $took ms: $(counter "$1" state): $(counter "$1" reason)"
}
story() { sed -nE "s/^[^ ]+ disk ${dev##*/} .* ([a-z]+) -> ([a-z]+)(: .*)?\$/\1>\2/p" "$OUT/monitor" | xargs; }
story_is() { [ "$(story)" = "$1" ]; }

lab barrier up-held
rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
monitor=$!
wait_for 10 grep -q 'listening to rnbd$' "$OUT/monitor.err"
dev=$(attach held --queues 2 --loss-timeout 0) || exit 1
load "$dev" randwrite
lab barrier load-held
lab barrier held
wait_for 5 stuck "$dev"
deactivate "$dev"
grep -q 'Link has been severed' "$OUT/load" || die "fio ended for another reason: $(tail -3 "$OUT/load")"
story="connecting>live live>failed"
wait_for 10 story_is "$story"
# connections_lost counts for the session, and can include the connection that the deactivation has
# ended.
need "$dev" connections_lost -le 1
detach "$dev"
wait_for 10 story_is "$story failed>closing"
lab barrier let-go
lab barrier gone --timeout 60

# waiting: start a write, and wait until its process blocks; set pid to this process
waiting() {
	dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct 2>/dev/null &
	pid=$!
	wait_for 10 grep -q '^State:.*D' /proc/$pid/status
}
: >"$OUT/monitor"
dev=$(attach held --queues 2 --loss-timeout 0 --keepalive 500) || exit 1
lab barrier login
lab barrier hold-login
strike rnbd kill_queue 1
wait_for 20 counter_over "$dev" connections_lost 0
lab barrier held-login --timeout 60
same "$(counter "$dev" state)" reconnecting state
waiting
deactivate "$dev"
story="connecting>live live>reconnecting reconnecting>failed"
wait_for 10 story_is "$story"
detach "$dev"
lab barrier let-login-go
lab barrier login-gone

dev=$(attach held --queues 2 --loss-timeout 0) || exit 1
lab barrier nobody
lab barrier disabled
wait_for 20 counter_over "$dev" attempt 2
waiting
deactivate "$dev"
seen=$(counter "$dev" attempt)
lab barrier deactivated
lab barrier enabled
# Attach another disk first, so that a deactivated disk that still retries has time for an attempt.
other=$(attach held --queues 2) || exit 1
need "$dev" attempt -eq "$seen"
same "$(counter "$dev" state)" failed state
detach "$other"
detach "$dev"

note "the target does not reply: nothing waits for its replies"
# The keep-alive interval is long, so that the client does not notice the paused target before the
# disk is deactivated, even on a slow machine.
dev=$(attach held --queues 2 --loss-timeout 0 --keepalive 20000) || exit 1
load "$dev" randwrite
lab pause 1
wait_for 5 stuck "$dev"
deactivate "$dev"
lab resume 1
need "$dev" connections_lost -le 1
detach "$dev"
dev=$(attach held --queues 2 --loss-timeout 0 --keepalive 500) || exit 1
lab pause 1
wait_for 20 counter_over "$dev" attempt 0
waiting
deactivate "$dev"
lab resume 1
detach "$dev"
lab barrier silent

note "deactivated and detached at the same time, under load"
for _ in 1 2 3; do
	dev=$(attach held --queues 2 --loss-timeout 0) || exit 1
	load "$dev"
	rnbd deactivate "$dev" 2>"$OUT/deactivate" &
	both=$!
	rnbd detach "$dev" --force || die "forced detach failed"
	# The device node can exist for longer than the disk, so several messages are valid.
	wait $both || grep -q 'detached\|not attached\|is not an rnbd disk\|without a device' "$OUT/deactivate" ||
		die "unexpected message: $(cat "$OUT/deactivate")"
	wait_for 20 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid && die "fio saw no error"
done
kill $monitor
wait $monitor
wait_for 10 rdma_own_is "$before"
lab barrier both

lab barrier up2 --timeout 60
dev=$(attach disk0 "${fail[@]}") || exit 1
load "$dev"
lab barrier load2
lost "$dev"
lab barrier down2

lab barrier up3 --timeout 60
dev=$(attach disk0 "${fail[@]}") || exit 1
load "$dev"
echo "the RDMA device of the client is removed under load"
device_remove
before=
wait_for 30 grep -q failed "/sys/block/$(basename "$dev")/rnbd/state"
wait $pid && die "fio saw no error"
detach "$dev"
device_add
before=$(rdma_own)
dev=$(attach disk0 "${fail[@]}") || exit 1
load "$dev"
echo "the target dies"
lab kill 1
lost "$dev"
unload
