#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 120
# short: the address of a port moves to another device of a bond: the target listens on the new device, and disks reconnect
. ../lib/lab.sh
. ../lib/rnbd.sh

BOND=10.9.77.1

modprobe bonding max_bonds=0 || die "no bonding"
modprobe dummy numdummies=0 || die "no dummy"
# Each slave keeps its own MAC address, and the bond uses the MAC address of its active slave.
run ip link add bond7 type bond mode active-backup fail_over_mac active
for slave in slave0 slave1; do
	run ip link add $slave type dummy
	run ip link set $slave master bond7
done
run ip link set bond7 type bond active_slave slave0
run ip link set bond7 up
run ip addr add $BOND/24 dev bond7
run rdma link add rxe7 type rxe netdev bond7

set_host_id
target_start
rnbd export add disk0 --path "$(null_disk 64)" --host "$(host_id 1)" --port $BOND || die "export add"
port=$CFG/ports/1

# listener: print the connection ids that listen at the address
listener() { rdma resource show cm_id | grep LISTEN | grep -F "$BOND:" | sed 's/.*cm-idn \([0-9]*\) .*/\1/'; }
listens_anew() { [ "$(cat $port/state)" = listening ] && [ -n "$(listener)" ] && [ "$(listener)" != "$before" ]; }
# reconnected: succeed if the disk has reconnected; for wait_for. soft-RoCE puts the GSI queue pair
# into the state ERR, and leaves it there, if the connection manager sends while the device has no
# address. Without that queue pair no connection can be made, so the function recreates the device.
reconnected() {
	counter_over "$dev" reconnects 0 && return
	rdma resource show qp link rxe7/1 | grep -q 'type GSI state ERR' || return
	lab log "rxe7: the GSI queue pair is in the state ERR: recreating the device"
	rdma link delete rxe7 && rdma link add rxe7 type rxe netdev bond7
	return 1
}
attach_bond() { modprobe rnbd && rnbd attach $BOND disk0 --queues 2 --keepalive 500; }

dev=$(attach_bond) || die "attach"
works "$dev"
before=$(listener)
[ -n "$before" ] || die "no listener: $(rdma resource show cm_id)"
mac=$(cat /sys/class/net/bond7/address)

run ip link set bond7 type bond active_slave slave1
[ "$(cat /sys/class/net/bond7/address)" != "$mac" ] || die "the address did not move"
wait_for 20 listens_anew
dmesg_has 'port 1: the address has moved to another device' || die "not in the log"
note "listener $before -> $(listener)"
wait_for 60 reconnected
works "$dev"
before=$(listener)
detach "$dev"
dev=$(attach_bond) || die "attach"
works "$dev"

note "the address moves back"
run ip link set bond7 type bond active_slave slave0
wait_for 20 listens_anew
wait_for 60 reconnected
works "$dev"
detach "$dev"
configfs_clear
unload
run rdma link delete rxe7
run ip link delete bond7
