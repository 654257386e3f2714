#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 400 --ignore-report Cannot.allocate.a.scan.area
# kernel: debug
# short: allocations fail in logins and in I/O at either end: one clear error or a retry, and data are right
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/nomem.sh

# Within TRIES logins, at least EACH logins must succeed and at least EACH must fail.
EACH=4 TRIES=80

set_host_id
debugfs_ready
if [ "$NODE" = 1 ]; then
	target_start
	# Let the storage allocate all its pages now, because a failed allocation would later be an
	# error of the storage.
	disk=$(null_disk 16) || exit 1
	dd if=/dev/zero of="$disk" bs=1M count=16 oflag=direct status=none || die "dd failed"
	dd if=/dev/zero of=/dev/shm/file bs=1M count=16 status=none || die "dd failed"
	export_disk disk0 "$disk"
	export_disk file0 /dev/shm/file
	# With these exports a list needs more than one frame.
	for i in {1..18}; do
		dir=$CFG/exports/more$i
		mkdir "$dir" || die "mkdir"
		truncate -s 1M "/dev/shm/more$i" || die "truncate"
		echo "/dev/shm/more$i" >"$dir/path"
		echo 1 >"$dir/enable" || die "enable"
		ln -s "$CFG/hosts/$(host_id 2)" "$dir/allowed_hosts/2"
		ln -s "$dir" "$CFG/ports/1/exports/"
	done
	idle=$(rdma_own)
	barrier exported
	barrier client-logins 600
	fail rnbd_target 600
	barrier target-fails
	barrier target-logins 600
	note "allocations that failed here in logins: $(failed)"
	[ "$(failed)" -ge $EACH ] || die "too few allocations failed"
	no_fail
	barrier target-works
	barrier load 120
	fail rnbd_target 400
	barrier io-fails
	barrier io-done 600
	note "allocations that failed here in I/O: $(failed)"
	[ "$(failed)" -gt 0 ] || die "no allocation failed"
	no_fail
	barrier end 120
	wait_for 20 rdma_own_is "$idle"
	configfs_clear
	unload
	exit 0
fi

barrier exported
modprobe rnbd
idle=$(rdma_own)

note "a list of exports without memory for it"
fail_once rnbdc_handle_export
if rnbd discover "$ADDR" >"$OUT/list" 2>"$OUT/error"; then die "the list did not fail: $(cat "$OUT/list")"; fi
no_fail
same "$(cat $FAIL/times)" 0 "failures left"
grep 'no memory for the list of exports; try again' "$OUT/error" || die "unexpected message: $(cat "$OUT/error")"
same "$(cat /sys/kernel/rnbd/violations/* | sort -u)" 0 "violations of a valid target"
same "$(rnbd discover "$ADDR" --json | jq length)" 20 "exports"

# no_disk - detach all disks; true if none is left; for wait_for
no_disk() {
	rnbd detach --all
	[ -z "$(ls -d /sys/block/rnbd* 2>/dev/null)" ]
}

# logins END - attach repeatedly while allocations fail at END. Each attach must succeed, or fail
# with one line of error; after each attach, all disks are detached. If the netlink acknowledgment
# cannot be allocated, an attach fails although the disk was attached, or a detach although the disk
# was detached.
logins() {
	local dev good=0 bad=0
	for _ in $(seq $TRIES); do
		if [ $good -ge $EACH ] && [ $bad -ge $EACH ]; then break; fi
		if dev=$(rnbd attach "$ADDR" disk0 --queues 2 --pool 4M --pool-floor fixed 2>"$OUT/error"); then
			good=$((good + 1))
			dd if="$dev" of=/dev/null bs=64k count=2 iflag=direct status=none ||
				die "$dev does not read"
			wait_for 20 no_disk
		else
			bad=$((bad + 1))
			same "$(grep -c ^rnbd: "$OUT/error")" 1 "lines of an error"
			cat "$OUT/error"
			wait_for 20 no_disk
		fi
	done
	note "allocations fail at the $1: $good attached, $bad refused"
	[ $good -ge $EACH ] || die "too few logins succeeded"
	[ $bad -ge $EACH ] || die "too few logins were refused"
}

fail rnbd 400
logins client
note "allocations that failed here in logins: $(failed)"
[ "$(failed)" -ge $EACH ] || die "too few allocations failed"
no_fail
barrier client-logins
barrier target-fails
logins target
barrier target-logins
barrier target-works
wait_for 20 rdma_own_is "$idle"

dev=$(attach disk0 --queues 2 --keepalive 2000) || exit 1
file=$(attach file0 --new-session --queues 1 --keepalive 60000) || exit 1
gencheck run --journal /dev/shm/journal --threads 4 --io 1-64 --time 10000 "$dev" >"$OUT/gencheck" &
pids=($!)
gencheck run --journal /dev/shm/journal-file --threads 4 --io 1-64 --time 10000 "$file" >"$OUT/gencheck-file" &
pids+=($!)
wait_for 20 counter_over "$dev" requests 100
barrier load
fail rnbd 800
barrier io-fails
# disk_is_lost NUMBER: succeed if the disk has lost more than NUMBER connections; for wait_for. On a
# slow machine the keep-alive of the other session can trigger kill_queue first; in this case the
# function arms kill_queue again.
disk_is_lost() {
	counter_over "$dev" connections_lost "$1" && return
	[ "$(hits rnbd kill_queue)" = "$struck" ] && return 1
	struck=$(hits rnbd kill_queue)
	strike rnbd kill_queue 1
	return 1
}
for i in 1 2 3 4 5 6 7 8; do
	struck=$(hits rnbd kill_queue)
	lost=$(counter "$dev" connections_lost)
	strike rnbd kill_queue 1
	wait_for 60 disk_is_lost "$lost"
	wait_for 60 counter_over "$dev" reconnects $((i - 1))
	before=$(counter "$dev" requests)
	wait_for 60 counter_over "$dev" requests $((before + 50))
	if [ "$i" -ge 2 ] && [ "$(failed)" -gt 0 ]; then break; fi
done
note "allocations that failed here in I/O: $(failed)"
[ "$(failed)" -gt 0 ] || die "no allocation failed"
no_fail
barrier io-done
kill "${pids[@]}"
for p in "${pids[@]}"; do wait "$p" || die "gencheck: $(cat "$OUT"/gencheck*)"; done
cat "$OUT"/gencheck*
run gencheck verify --journal /dev/shm/journal "$dev"
run gencheck verify --journal /dev/shm/journal-file "$file"
detach "$dev"
detach "$file"
wait_for 20 rdma_own_is "$idle"
barrier end
unload
