#!/bin/bash
# lab: --nodes 2 --cpus 1 --mem 1024 --timeout 300
# short: policy fail: a lost connection ends all I/O with an error; the disk can be detached, nothing hangs
. ./lib.sh
. ./rnbd.sh

# Ways in which the administrator of the target ends a session.
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

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
	for way in $WAYS; do
		lab barrier "up-$way"
		lab barrier "load-$way"
		echo "$way under load"
		end_session "$way" || die "$way failed"
		[ "$(cat "$CFG/exports/disk0/sessions")" = 0 ] || die "a session is left over"
		lab barrier "down-$way" --timeout 120
		allow_again "$way" || die "undoing $way failed"
	done
	lab barrier up2
	lab barrier load2
	echo "the RDMA device is removed under load"
	rdma link delete rxe0 || die "rdma link delete failed"
	lab barrier down2 --timeout 120
	configfs_clear
	unload
	# the machine is killed by its peer in the last part
	rdma link add rxe0 type rxe netdev eth0
	target_start
	export_disk disk0 "$(null_disk 64)"
	lab barrier up3
	while :; do sleep 1; done
fi

modprobe rnbd io_timeout=10
before=$(rdma_own)

# load DEV [RW]: I/O that goes on until it fails
load() {
	fio --name=load --filename="$1" --direct=1 --ioengine=libaio --rw="${2:-randrw}" \
	    --bs=16k --iodepth=32 --size=32m --time_based --runtime=3600 --minimal \
	    >"$OUT/load" 2>&1 &
	pid=$!
	wait_for 20 counter_over "$1" requests 200
}

# lost DEV: I/O must end with an error, and the disk must go
lost() {
	wait_for 60 grep -q failed "/sys/block/$(basename "$1")/rnbd/state"
	wait_for 30 sh -c "! kill -0 $pid 2>/dev/null"
	wait $pid && die "fio saw no error"
	grep -q 'Input/output error' "$OUT/load" || die "fio ended for another reason: $(tail -3 "$OUT/load")"
	echo "  $(counter "$1" state): $(counter "$1" reason)"
	if dd if="$1" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; then die "still reads"; fi
	detach "$1"
	wait_for 10 rdma_own_is "$before"
}

for way in $WAYS; do
	lab barrier "up-$way"
	dev=$(attach disk0 --policy fail --loss-timeout 1) || exit 1
	# writes alone, too: those that are flushed were never read requests
	case $way in
	export-disabled | port-disabled) load "$dev" randwrite ;;
	*) load "$dev" ;;
	esac
	lab barrier "load-$way"
	lost "$dev"
	lab barrier "down-$way"
done

lab barrier up2
dev=$(attach disk0 --policy fail --loss-timeout 1) || exit 1
load "$dev"
lab barrier load2
lost "$dev"
lab barrier down2

lab barrier up3 --timeout 60
dev=$(attach disk0 --policy fail --loss-timeout 1) || exit 1
load "$dev"
echo "our own RDMA device is removed under load"
rdma link delete rxe0 || die "rdma link delete failed"
before=
wait_for 30 grep -q failed "/sys/block/$(basename "$dev")/rnbd/state"
wait $pid && die "fio saw no error"
detach "$dev"
rdma link add rxe0 type rxe netdev eth0
before=$(rdma_own)
dev=$(attach disk0 --policy fail --loss-timeout 1) || exit 1
load "$dev"
echo "the target dies"
lab kill 1
lost "$dev"
unload
