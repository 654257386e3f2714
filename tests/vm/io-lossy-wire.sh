#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 420 --ignore-report rxe_comp.c:[0-9]+.rxe_completer
# turns: 3
# beside: it waits for packets that are sent again
# short: packet loss of 1, 5 and 20 %, delay, reordering, duplication and corruption only slow I/O down; the data stay right
. ../lib/lab.sh
. ../lib/rnbd.sh

# soft-RoCE prints a kernel warning when a packet of a long READ is lost. The lab ignores this
# warning, see io-read-loss.sh.

# lose PERCENT: drop this percentage of the RoCE packets that arrive here
lose() {
	nft -f - <<-EOF
		table ip rnbd_loss {
			chain input {
				type filter hook input priority 0;
				udp dport 4791 numgen random mod 100 < $1 counter drop
			}
		}
	EOF
}
lost_packets() { nft list table ip rnbd_loss | grep -o 'packets [0-9]*' | tr -dc 0-9; }

# spoil WIRE: disturb the packets that this node receives (loss) or sends (other kinds). Both nodes
# do so, so the packets of both directions are disturbed.
spoil() {
	sent=$(netem_packets)
	case $1 in
	loss*) lose "${1#loss}" ;;
	delay) netem delay 10ms ;;
	reorder) netem delay 4ms reorder 75% 50% ;;
	duplicate) netem duplicate 10% ;;
	corrupt) netem corrupt 2% ;;
	esac || die "the network fault cannot be injected: $1"
}

heal() {
	case $1 in
	loss*)
		echo "  $1: $(lost_packets) packets lost on arrival"
		[ "$(lost_packets)" -gt 0 ] || die "no packet was lost"
		nft delete table ip rnbd_loss
		;;
	*)
		netem delay 0
		if tc qdisc show dev eth0 | grep -E 'netem.*(delay|corrupt|duplicate)'; then die "the network fault was not removed"; fi
		[ "$(netem_packets)" -gt "$sent" ] || die "no packet was affected"
		;;
	esac
}

netem_ready
set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk disk0 "$(null_disk 64)"
else
	modprobe rnbd
fi
lab barrier exported
if [ "$NODE" = 2 ]; then dev=$(attach disk0 --queues 1) || exit 1; fi

for wire in loss1 loss5 loss20 delay reorder duplicate corrupt; do
	lab barrier "begin-$wire" --timeout 200
	spoil "$wire"
	lab barrier "spoilt-$wire"
	if [ "$NODE" = 2 ]; then
		size=512k
		case $wire in
		loss1) size=1m ;;
		# Each lost packet costs a time-out, so this case transfers little data.
		loss20) size=128k ;;
		esac
		[ -z "$LAB_SLOW" ] || size=256k
		start=${EPOCHREALTIME/[.,]/}
		verify "$dev" --rw=randrw --bs=4k --iodepth=8 --size=$size
		verify "$dev" --rw=randwrite --bs=32k --iodepth=2 --size=$size
		echo "$wire: data verified after $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) ms," \
		     "$(counter "$dev" connections_lost) connections lost so far"
	fi
	lab barrier "done-$wire" --timeout 200
	heal "$wire"
done
if [ "$NODE" = 2 ]; then
	wait_for 20 grep -q live "/sys/block/$(basename "$dev")/rnbd/state"
	detach "$dev"
fi
lab barrier end --timeout 60
[ "$NODE" = 2 ] || configfs_clear
unload
