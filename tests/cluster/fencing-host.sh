#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 1 --mem 1024 --timeout 300
# short: rnbd fence returns only when the I/O of the host has ended; no write of that host lands later, not even from a host that was paused
. ../lib/lab.sh
. ../lib/rnbd.sh

MIB=16
HOST=$(host_id 2)
DIR=/sys/kernel/config/rnbd/hosts/$HOST
KEPT=/var/lib/rnbd/fences/$HOST

# --- the client: load and checks

# load: start to write random bytes to random blocks; the load ends at the first error
load() {
	fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randwrite --bs=4k \
	    --iodepth=8 --size=${MIB}m --refill_buffers --time_based --runtime=3600 --minimal \
	    >"$OUT/load" 2>&1 &
	load=$!
	wait_for 30 counter_over "$dev" requests 100
}

# stands_still: succeed if the load sends no request for 1 s, because as many requests as it can
# have in flight wait for the storage
stands_still() {
	local before
	before=$(counter "$dev" requests)
	sleep 1
	[ "$(counter "$dev" requests)" = "$before" ]
}

# given_up TEXT: the disk must get the state failed, with TEXT in the reason; the load must end with
# an error, and a read must fail immediately
given_up() {
	wait_for 60 grep -q failed "/sys/block/${dev##*/}/rnbd/state"
	rnbd show "$dev" | grep -q "$1" || { rnbd show "$dev"; die "the reason lacks: $1"; }
	wait_for 20 sh -c "! kill -0 $load 2>/dev/null"
	wait $load && die "the load saw no error"
	dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && die "the fenced disk still reads"
	echo "  $(counter "$dev" state): $1"
}

attach_refused() {
	local said
	said=$(rnbd attach "$ADDR" disk0 2>&1) && die "the fenced host attached"
	[[ $said = *"this host is fenced (on the target: rnbd unfence)"* ]] || die "unexpected message: $said"
}

client() {
	barrier exported
	modprobe rnbd
	dev=$(attach disk0 --keepalive 500) || exit 1
	load
	barrier loaded
	barrier suspended
	wait_for 30 stands_still
	barrier stuck
	barrier fenced 120
	given_up "this host is fenced"
	attach_refused
	said=$(rnbd discover "$ADDR" 2>&1) && die "the fenced host got a list of exports"
	[[ $said = *"this host is fenced"* ]] || die "discover: unexpected message: $said"
	barrier looked
	barrier unfenced
	grep -q failed "/sys/block/${dev##*/}/rnbd/state" || die "the old disk reconnected"
	detach "$dev"

	for round in disabled fenced kept; do
		dev=$(attach disk0 --keepalive 500) || exit 1
		load
		began=$(now_ms)
		barrier "sleep-$round"
		# The target pauses this machine here.
		barrier "slept-$round" 120
		if [ $round = disabled ]; then
			# Wait for the disk and not for a reconnect of its session, because the
			# session can survive the pause.
			wait_for 30 back_since "$dev" "$began"
			kill $load
			wait $load
		else
			given_up "this host was fenced"
		fi
		detach "$dev"
		barrier "over-$round"
		[ $round = fenced ] || continue
		dev=$(attach disk0) || exit 1
		verify "$dev" --rw=randwrite --bs=4k --size=1m
		detach "$dev"
		barrier again
	done

	dev=$(attach disk0 --keepalive 500) || exit 1
	load
	barrier wait-loaded
	barrier wait-suspended
	wait_for 30 stands_still
	barrier wait-stuck
	barrier wait-draining
	given_up "this host is fenced"
	detach "$dev"
	rmmod rnbd
	# The login of the reloaded client lifts the fence. The target answers this login with BUSY
	# until the fence is complete, and the tool retries.
	dev=$(attach disk0 --wait 60) || exit 1
	barrier wait-lifted
	detach "$dev"

	barrier until-restart
	attach_refused
	rmmod rnbd
	modprobe rnbd
	dev=$(attach disk0 --keepalive 500) || exit 1
	load
	barrier restarted
	barrier target-again 120
	wait_for 60 counter_over "$dev" reconnects 0
	barrier connected-again
	given_up "this host is fenced"
	detach "$dev"
	barrier refused-again
	barrier restored 120
	attach_refused
	barrier end
	unload
}

# --- the target

refusals() { cat "/sys/kernel/rnbd-target/refused/$1"; }
refusals_over() { [ "$(refusals "$1")" -gt "$2" ]; }
is_kept() { [ "$(cut -d' ' -f1 "$KEPT")" = "$(cut -d' ' -f1 "$DIR/fence_state")" ]; }
waits_in_kernel() { grep -q rnbdt_fence_host "/proc/$1/stack"; }
fenced_is() { [ "$(rnbd fenced "$HOST")" = "$1" ]; }
sum() { dd if="$disk" bs=1M iflag=direct status=none | md5sum; }
sum_differs() { [ "$(sum)" != "$1" ]; }

# target_again: reload the target module and restore $OUT/saved
target_again() {
	# configfs_clear removes the host. This rewrites the file that stores the fence state of the
	# host: restore the file, because a power cut would not change it.
	cp "$KEPT" "$OUT/kept" || die "the fence state was not stored"
	configfs_clear
	cp "$OUT/kept" "$KEPT" || die "$KEPT cannot be restored"
	rmmod rnbd-target || die "rmmod rnbd-target"
	target_start
	rnbd restore "$OUT/saved" || die "restore"
}

target() {
	local said before pid other round

	target_start
	disk=$(null_disk $MIB) || exit 1
	dmsetup create slow --table "0 $((MIB << 11)) linear $disk 0" || die "dmsetup create"
	export_disk disk0 /dev/mapper/slow
	fenced_is no || die "the host is fenced"
	barrier exported

	echo "fenced with writes in hung storage"
	barrier loaded
	dmsetup suspend --noflush --nolockfs slow || die "dmsetup suspend"
	barrier suspended
	barrier stuck
	said=$(rnbd fence "$HOST" --timeout 2 2>&1) && die "fenced with writes in flight"
	[[ $said = *"its I/O has not ended within 2 s"* ]] || die "unexpected message: $said"
	fenced_is draining || die "the host is: $(rnbd fenced "$HOST")"
	# A write to the attribute "fenced" waits in the kernel; SIGKILL must end the wait.
	sh -c "echo 1 >$DIR/fenced" &
	pid=$!
	wait_for 10 waits_in_kernel $pid
	kill -9 $pid
	wait $pid && die "the write to fenced succeeded"
	fenced_is draining || die "the host is: $(rnbd fenced "$HOST")"
	rnbd fence "$HOST" 2>"$OUT/lifted" &
	pid=$!
	wait_for 30 grep -q "waiting for the I/O of 1 sessions" "$OUT/lifted"
	rnbd unfence "$HOST" || die "rnbd unfence"
	wait_for 10 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid && die "rnbd fence succeeded although the host was unfenced"
	grep -q "the host was unfenced concurrently" "$OUT/lifted" || die "$(cat "$OUT/lifted")"
	rnbd fence "$HOST" &
	pid=$!
	wait_for 10 fenced_is draining
	dmsetup resume slow
	wait_for 30 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid || die "rnbd fence failed"
	fenced_is fenced || die "the host is: $(rnbd fenced "$HOST")"
	before=$(sum)
	rnbd fence "$HOST" --timeout 5 || die "a fenced host cannot be fenced"
	said=$(rnbd host remove "$HOST" 2>&1) && die "a fenced host was removed"
	[[ $said = *"it is fenced; first run: rnbd unfence"* ]] || die "unexpected message: $said"
	barrier fenced 120
	barrier looked 120
	sum_differs "$before" && die "a write was executed after the fence"
	[ "$(refusals fenced)" -ge 2 ] || die "$(refusals fenced) refusals"
	rnbd unfence "$HOST" || die "rnbd unfence"
	barrier unfenced

	# Control: in the first round the paused host is not fenced; its writes must reach the disk
	# when it resumes.
	for round in disabled fenced; do
		echo "$round while the client is paused"
		barrier "sleep-$round" 120
		lab pause 2
		if [ $round = disabled ]; then
			rnbd export disable disk0 || die "export disable"
		else
			rnbd fence "$HOST" || die "rnbd fence"
		fi
		before=$(sum)
		if [ $round = disabled ]; then
			rnbd export enable disk0 || die "export enable"
		else
			rnbd unfence "$HOST" || die "rnbd unfence"
		fi
		lab resume 2
		if [ $round = disabled ]; then
			wait_for 60 sum_differs "$before"
			barrier "slept-$round"
		else
			barrier "slept-$round"
		fi
		barrier "over-$round" 120
		[ $round = disabled ] || ! sum_differs "$before" || die "a write was executed after the fence"
	done
	[ "$(refusals revoked)" -ge 1 ] || die "no request was refused with REVOKED"
	barrier again 120

	# The host is fenced and unfenced after rnbd save: the saved configuration lacks the new
	# fence generation, but the restarted target must know it from the file in /var/lib/rnbd.
	echo "fenced and unfenced, and the target restarted, while the client is paused"
	barrier sleep-kept 120
	rnbd save "$OUT/saved" || die "save"
	lab pause 2
	rnbd fence "$HOST" || die "rnbd fence"
	rnbd unfence "$HOST" || die "rnbd unfence"
	before=$(sum)
	target_again
	lab resume 2
	barrier slept-kept
	barrier over-kept 120
	sum_differs "$before" && die "a write was executed after the fence"

	echo "the client restarts while its I/O drains: waiting commands see the end of the fence, however short"
	rnbd host fencing "$HOST" restart || die "host fencing"
	barrier wait-loaded 120
	dmsetup suspend --noflush --nolockfs slow || die "dmsetup suspend"
	barrier wait-suspended
	barrier wait-stuck
	sh -c "echo 1 >$DIR/fenced" &
	other=$!
	wait_for 10 waits_in_kernel $other
	rnbd fence "$HOST" 2>"$OUT/stopped" &
	pid=$!
	wait_for 10 is_kept
	kill -STOP $pid
	before=$(refusals busy)
	barrier wait-draining
	wait_for 60 refusals_over busy "$before"
	fenced_is draining || die "the host is: $(rnbd fenced "$HOST")"
	dmsetup resume slow
	barrier wait-lifted 120
	fenced_is no || die "the host is: $(rnbd fenced "$HOST")"
	same "$(cat "$DIR/fence_state")" "$(cat "$DIR/fence_done") 0 $(cut -d' ' -f3 "$DIR/fence_state")" "state of the fence"
	kill -CONT $pid
	wait $pid || die "rnbd fence failed although the fence was complete: $(cat "$OUT/stopped")"
	wait $other || die "the write to fenced failed although the fence was complete"
	is_kept || die "stored state: $(cat "$KEPT"), not $(cat "$DIR/fence_state")"

	echo "fenced until the client restarts"
	rnbd fence "$HOST" || die "rnbd fence"
	barrier until-restart
	barrier restarted 120
	fenced_is no || die "the host is: $(rnbd fenced "$HOST")"
	# The restart of the client has lifted the fence, but the stored state still says fenced, so
	# the restarted target fences the host. The client knows the generation of this fence since
	# the fence was lifted, so the target must lift the fence when the client reconnects.
	rnbd save "$OUT/saved" || die "save"
	target_again
	barrier target-again
	barrier connected-again 120
	dmesg_has "$HOST was unfenced before and is no longer fenced" || die "the log does not report that the host is no longer fenced"
	fenced_is no || die "the host is: $(rnbd fenced "$HOST")"
	# A second fence has a higher generation than the attachment of the client, so the target
	# must refuse this client.
	lab pause 2
	target_again
	fenced_is fenced || die "the host is: $(rnbd fenced "$HOST")"
	rnbd fence "$HOST" || die "rnbd fence"
	before=$(sum)
	lab resume 2
	barrier refused-again 120
	sum_differs "$before" && die "a write was executed after the fence"

	echo "saved and restored"
	rnbd host fencing "$HOST" unfence || die "host fencing"
	rnbd fence "$HOST" || die "rnbd fence"
	rnbd save "$OUT/saved" || die "save"
	rnbd clear --force || die "clear"
	rm "$KEPT" || die "the stored state is missing"
	rnbd restore "$OUT/saved" || die "restore"
	fenced_is fenced || die "the host is: $(rnbd fenced "$HOST")"
	rnbd save - | cmp - "$OUT/saved" || die "the configuration differs from the saved one"
	rnbd restore "$OUT/saved" || die "second restore"

	echo "the stored state cannot be read"
	rnbd clear --force || die "clear"
	echo garbage >"$KEPT"
	said=$(rnbd restore "$OUT/saved" 2>&1) && die "a host with unknown fence state was created"
	[[ $said = *"$KEPT: is damaged"* ]] || die "unexpected message: $said"
	[ ! -e "$DIR" ] || die "the host was created"
	rm "$KEPT"
	mv "${KEPT%/*}" /root/away
	ln -s /nowhere "${KEPT%/*}"
	said=$(rnbd restore "$OUT/saved" 2>&1) && die "a host with unknown fence state was created"
	[[ $said = *"${KEPT%/*}: cannot be used"* ]] || die "unexpected message: $said"
	[ ! -e "$DIR" ] || die "the host was created"
	rm "${KEPT%/*}"
	mv /root/away "${KEPT%/*}"
	rnbd restore "$OUT/saved" || die "restore"
	fenced_is fenced || die "the host is: $(rnbd fenced "$HOST")"

	echo "a host whose creation was not completed"
	rnbd clear --force || die "clear"
	jq '.hosts[].fence_state |= empty' "$OUT/saved" >"$OUT/without" || die "jq"
	mkdir "$DIR"
	rnbd restore "$OUT/without" || die "restore"
	fenced_is fenced || die "the host is: $(rnbd fenced "$HOST")"
	barrier restored
	barrier end 120
	configfs_clear
	dmsetup remove slow
	unload
}

set_host_id
if [ "$NODE" = 1 ]; then target; else client; fi
