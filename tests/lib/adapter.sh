# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the tests on the modelled adapter: sourced after rnbd.sh.
#
# One machine has two devices: mdl0 for the client with the address MDL_CLIENT, mdl1 for the target
# with MDL_TARGET. Both addresses are local to the machine, so the kernel would route packets to
# them over lo, and rdma_cm would use the device of the destination address at both ends of a
# connection. Therefore the local routes are removed, and the network device of each RDMA device has
# a route and a neighbour entry for the address of the other device.
#
# With "scripts/lab run --adapter" (tests/run with ADAPTER), rnbd.sh sources this file and makes the
# devices, so a test of the product runs on them without a change of the test.

MDL_CLIENT=10.77.0.1
MDL_TARGET=10.77.0.2
MDL_DEBUG=/sys/kernel/debug/rdma-model

# shellcheck source=tests/lib/sides.sh
[ -z "${LAB_SIDES-}" ] || . ../lib/sides.sh

# adapter_load PARAMETER=VALUE...: load the module of the modelled adapter
adapter_load() {
	debugfs_ready
	modprobe rdma-model "$@" || die "modprobe rdma-model failed"
}

# adapter_netdev NUMBER ADDRESS MTU: make a dummy network device dNUMBER with this address
adapter_netdev() {
	run ip link add "d$1" type dummy
	# A dummy device has IFF_NOARP set and ignores neighbour entries without "arp on".
	run ip link set "d$1" address "02:00:00:00:77:0$1" mtu "$3" arp on up
	run ip addr add "$2/32" dev "d$1"
}

# adapter_neighbour NUMBER ADDRESS PEER-NUMBER PEER-ADDRESS: make the route and the neighbour entry
# for the address of the other device, and delete the local route of ADDRESS
adapter_neighbour() {
	run ip route add "$4/32" dev "d$1" src "$2"
	run ip neigh add "$4" lladdr "02:00:00:00:77:0$3" dev "d$1" nud permanent
	# Delete the local route last: only a local address can become the source of a route.
	run ip route del local "$2" dev "d$1" table local
}

# port_active DEVICE: succeed if the port of the device is active; for wait_for
port_active() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"; }

# gid_of DEVICE ADDRESS: succeed if the device has the GID of this IPv4 address; for wait_for
gid_of() {
	local a b c d
	IFS=. read -r a b c d <<<"$2"
	grep -qh "$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "$a" "$b" "$c" "$d")" \
		"/sys/class/infiniband/$1/ports/1/gids/"*
}

# adapter_link DEVICE NETDEV [PARAMETER=VALUE...]: make an RDMA device with these parameters; other
# parameters have the values of the device that was made before it
adapter_link() {
	local setting
	for setting in "${@:3}"; do
		printf %s "${setting#*=}" >"/sys/module/rdma_model/parameters/${setting%%=*}" ||
			die "the model refuses $setting"
	done
	run rdma link add "$1" type model netdev "$2"
}

# adapter_up PARAMETER=VALUE...: make both network devices, their routes, and both RDMA devices
adapter_up() {
	local mtu=9000

	[ -d /sys/module/rdma_model ] || adapter_load dma=model
	modprobe dummy numdummies=0 || die "no dummy network devices"
	# The tool rnbd checks an address with bind(), which needs this sysctl if there is no local
	# route.
	echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind
	# This profile needs a small path MTU. rdma_cm derives the path MTU from the MTU of the
	# network device, and ignores max_mtu of the port.
	[[ " $* " != *" profile=minimal "* ]] || mtu=400
	adapter_netdev 0 "$MDL_CLIENT" $mtu
	adapter_netdev 1 "$MDL_TARGET" $mtu
	adapter_neighbour 0 "$MDL_CLIENT" 1 "$MDL_TARGET"
	adapter_neighbour 1 "$MDL_TARGET" 0 "$MDL_CLIENT"
	adapter_devices "$@"
}

# adapter_devices PARAMETER=VALUE...: make both RDMA devices on the existing network devices. With
# dma=model, bounce=Y makes a device need bounce buffers. Only the device of the client gets
# bounce=Y, because the target rejects a device that needs bounce buffers.
adapter_devices() {
	adapter_link mdl0 d0 bounce=Y "$@"
	adapter_link mdl1 d1 bounce=N "$@"
	wait_for 10 port_active mdl0
	wait_for 10 port_active mdl1
	wait_for 10 gid_of mdl0 "$MDL_CLIENT"
	wait_for 10 gid_of mdl1 "$MDL_TARGET"
}

# nasty_needed: fail unless each requested kind of nasty behaviour has happened on one of the
# devices; kinds in MDL_CANNOT, which the script cannot trigger, need not happen. With LAB_ADAPTER
# only record the kinds: a single test cannot trigger all of them, so tests/run checks the kinds of
# all its tests together.
nasty_needed() {
	local kind nasty_kinds

	if [ -n "${LAB_ADAPTER-}" ]; then
		sort -u "$MDL_DEBUG"/mdl[01]/nasty >>"$OUT/nasty-requested"
		sed -n 's/^nasty_\([a-z]*\) [1-9].*/\1/p' "$MDL_DEBUG"/mdl[01]/stats >>"$OUT/nasty-happened"
		return
	fi
	mapfile -t nasty_kinds < <(sort -u "$MDL_DEBUG"/mdl[01]/nasty)
	for kind in "${nasty_kinds[@]}"; do
		[[ " ${MDL_CANNOT-} " != *" $kind "* ]] || continue
		grep -q "^nasty_$kind [1-9]" "$MDL_DEBUG"/mdl[01]/stats ||
			die "nasty behaviour of the kind $kind was requested and never happened"
	done
}

# adapter_again PARAMETER=VALUE...: make both devices again, with other parameters
# shellcheck disable=SC2317 # only some of the scripts that source this call it
adapter_again() {
	nasty_needed
	run rdma link delete mdl0
	run rdma link delete mdl1
	adapter_devices "$@"
}

# adapter_down: remove devices and module; a DMA mapping that still exists is a violation
adapter_down() {
	nasty_needed
	run rdma link delete mdl0
	run rdma link delete mdl1
	wait_for 10 rmmod rdma_model
	ip link del d0
	ip link del d1
}

# no_violations: fail if a device has reported a violation, or if a message arrived while no receive
# work request was posted. The credits of the product prevent such a message, and nvme-rdma and the
# kernel's RNBD also send none.
no_violations() {
	local dev

	for dev in mdl0 mdl1; do
		mdl_need "$dev" violations -eq 0
		mdl_need "$dev" no_receive -eq 0
	done
}

# own_adapter_end: end a test that makes its devices itself; all disks must be detached
own_adapter_end() {
	configfs_clear
	unload
	mdl_show
	no_violations
	adapter_down
}

# attach_refused_for_bounce_buffers EXPORT: rnbd attach must fail because the device of the target
# needs bounce buffers; error message and log must say so
attach_refused_for_bounce_buffers() {
	refused rnbd attach "$ADDR" "$1" 2>"$OUT/refused"
	cat "$OUT/refused"
	grep -q "RDMA device of the target is not usable" "$OUT/refused" ||
		die "the error message does not name the device"
	dmesg_has 'pool of .* on mdl1: .*bounce buffers' || die "the log does not name bounce buffers"
}

# adapter_returns DEVICE: make the device again after "rdma link delete", with its former parameters
adapter_returns() {
	case $1 in
	mdl0) adapter_link mdl0 d0 bounce=Y ;;
	mdl1) adapter_link mdl1 d1 bounce=N ;;
	esac
}

# link_down DEVICE, link_up DEVICE: the port loses its link or regains it, as when a cable is
# pulled; the network device keeps its addresses and routes
link_down() { run ip link set "d${1#mdl}" carrier off; }
link_up() {
	run ip link set "d${1#mdl}" carrier on
	wait_for 10 port_active "$1"
}

# adapter_begin ARG...: create the devices that the options of scripts/lab run request, and check
# them when the script exits; ARG... are the arguments of the script. With LAB_SIDE (node 1 of
# sides.sh), the devices exist already, and node 2 checks them.
adapter_begin() {
	if [ -z "${LAB_SIDE-}" ]; then
		local settings=("profile=$LAB_ADAPTER")
		[ -z "$LAB_NASTY" ] || settings+=("nasty=$LAB_NASTY" "seed=$LAB_SEED")
		adapter_up "${settings[@]}"
		trap adapter_end EXIT
	fi
	# shellcheck disable=SC2034 # of rnbd.sh
	ADDR=$MDL_TARGET
	[ -z "$LAB_SIDES" ] || sides_begin "$@"
}

# adapter_end: fail unless the script used both devices, caused no violation and leaves no DMA
# mapping. The violations of a device that was removed are not counted here, but each violation
# also prints a kernel warning, which fails the run.
adapter_end() {
	local status=$?

	trap - EXIT
	mdl_show
	[ -z "$LAB_SIDES" ] || sides_end $status
	[ $status -eq 0 ] || exit $status
	[ ! -d /sys/module/rnbd ] || rnbd detach --all || die "detach --all failed"
	[ ! -d "$CFG" ] || configfs_clear
	unload
	mdl_need mdl0 sends -gt 0
	mdl_need mdl0 served_sends -gt 0
	mdl_need mdl1 sends -gt 0
	mdl_need mdl1 served_sends -gt 0
	no_violations
	adapter_down
}

# mdl_stat DEVICE NAME: print a counter of the device
mdl_stat() { awk -v name="$2" '$1 == name { print $2 }' "$MDL_DEBUG/$1/stats"; }

# mdl_need DEVICE NAME RELATION NUMBER: fail unless the relation holds for a counter of the device
mdl_need() { need_counter "$(mdl_stat "$1" "$2")" "$3" "$4" "$1 $2"; }

# mdl_show: print all counters of both devices that are not 0
mdl_show() {
	local dev
	for dev in "$MDL_DEBUG"/*/; do
		[ -d "$dev" ] || continue
		note "${dev#"$MDL_DEBUG/"} $(awk '$2 { printf "%s=%s ", $1, $2 }' "$dev/stats")"
	done
}
