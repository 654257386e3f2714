# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with the caller
# SPDX-License-Identifier: GPL-2.0-only
# The compared systems. peer_export exports $backend on the machine that calls it; peer_attach on
# the machine of the client sets $dev.
#
# Sourced after ../lib/lab.sh and ../lib/rnbd.sh. $TARGET is the address of the target.
#
#   rnbd              this driver
#   rnbd-copy         this driver with --transfer copy: data go through bounce buffers
#   nvme-rdma         nvme-rdma and nvmet-rdma with their defaults
#   nvme-rdma-best    nvme-rdma with 16 KiB of inline data
#   nvme-rdma-poll    nvme-rdma-best with as many poll queues as I/O queues; io_uring polls them
#   rnbd-intree       RNBD over RTRS of the kernel with its defaults
#   rnbd-intree-fast  rnbd-intree with always_invalidate=N
#   nvme-tcp          nvme-tcp and nvmet-tcp
#   nbd-tcp           nbd-client and nbd-server
#   local             the backend itself
#   rnbd+SWITCH       this driver with one optimisation off or another setting: see rnbd_export and
#                     rnbd_attach

NVMET=/sys/kernel/config/nvmet
PEERS=/opt/peers

# nvmet_export TRANSPORT [INLINE-BYTES]: export $backend with nvmet
nvmet_export() {
	local sub=$NVMET/subsystems/bench port=$NVMET/ports/1

	modprobe -a nvmet "nvmet-$1" || die "no nvmet-$1"
	mkdir "$sub" "$sub/namespaces/1" "$port" || die "nvmet is in use"
	echo 1 >"$sub/attr_allow_any_host"
	echo "$backend" >"$sub/namespaces/1/device_path"
	echo 1 >"$sub/namespaces/1/enable" || die "nvmet refuses $backend"
	echo "$1" >"$port/addr_trtype"
	echo ipv4 >"$port/addr_adrfam"
	echo "$TARGET" >"$port/addr_traddr"
	echo 4420 >"$port/addr_trsvcid"
	[ -z "${2-}" ] || echo "$2" >"$port/param_inline_data_size"
	ln -s "$sub" "$port/subsystems/bench" || die "nvmet does not listen"
}

nvmet_unexport() {
	rm -f "$NVMET/ports/1/subsystems/bench"
	rmdir "$NVMET/ports/1"
	echo 0 >"$NVMET/subsystems/bench/namespaces/1/enable"
	rmdir "$NVMET/subsystems/bench/namespaces/1" "$NVMET/subsystems/bench"
	modprobe -r "nvmet-$1" nvmet
}

# nvme_size: print the path of the file "size" of the benchmark's disk, among all nvme disks of the
# machine
nvme_size() {
	local dir

	dir=$(dirname "$(grep -lx bench /sys/class/nvme-subsystem/*/subsysnqn)")
	# Without native multipath the disk is below the controller.
	ls "$dir"/nvme*n1/size 2>/dev/null || ls "$dir"/nvme*/nvme*n1/size
}

# nvme_attach TRANSPORT OPTIONS: connect and set $dev
nvme_attach() {
	modprobe "nvme-$1" || die "no nvme-$1"
	nvme connect -t "$1" -a "$TARGET" -s 4420 -n bench "${@:2}" >/dev/null || die "nvme connect failed"
	wait_for 20 nvme_size
	dev=/dev/$(basename "$(dirname "$(nvme_size)")")
	wait_for 20 test -b "$dev"
}

# intree_export ALWAYS_INVALIDATE: load the in-tree server; the client names the device
intree_export() {
	modprobe -a ib_core rdma_cm || die "no rdma_cm"
	insmod_once rtrs-core
	insmod_once rtrs-server "always_invalidate=$1"
	[ "$(cat /sys/module/rtrs_server/parameters/always_invalidate)" = "$1" ] ||
		die "rtrs-server has another always_invalidate"
	insmod_once rnbd-server
}

insmod_once() {
	[ -d "/sys/module/${1//-/_}" ] || insmod "$PEERS/$1.ko" "${@:2}" || die "insmod $1 failed"
}

intree_attach() {
	modprobe -a ib_core rdma_cm || die "no rdma_cm"
	insmod_once rtrs-core
	insmod_once rtrs-client
	insmod_once rnbd-client
	echo "sessname=bench path=ip:$TARGET device_path=$backend" \
		>/sys/devices/virtual/rnbd-client/ctl/map_device || die "map_device failed"
	dev=/dev/rnbd0
	wait_for 20 test -b $dev
}

intree_detach() {
	echo normal >/sys/block/rnbd0/rnbd/unmap_device
	# The client closes the session only after the write to unmap_device has returned. Until the
	# session is closed, the use counts of the modules do not protect them from being unloaded.
	wait_for 10 test ! -e /sys/class/rtrs-client/bench
	rmmod rnbd-client rtrs-client || die "rnbd-client cannot be unloaded"
	[ -d /sys/module/rtrs_server ] || rmmod rtrs-core
}

nbd_export() {
	cat >/tmp/nbd.conf <<-END
		[generic]
		[bench]
		exportname = $backend
	END
	nbd-server -C /tmp/nbd.conf -p /tmp/nbd.pid || die "nbd-server failed"
}

# nbd_attach CONNECTIONS: connect and set $dev
nbd_attach() {
	modprobe nbd nbds_max=1 || die "no nbd"
	dev=/dev/nbd0
	nbd-client -b 4096 -C "$1" -N bench "$TARGET" $dev >/dev/null || die "nbd-client failed"
}

# rnbd_switch SYSTEM MODULE PARAMETER VALUE SWITCH: set PARAMETER to VALUE if SYSTEM is rnbd+SWITCH
rnbd_switch() {
	[ "$1" != "rnbd+$5" ] || echo "$4" >"/sys/module/$2/parameters/$3" || die "no parameter $3"
}

rnbd_export() {
	modprobe rnbd-target || die "no rnbd-target"
	rnbd_switch "$1" rnbd_target reply_gather 65535 reply-gather-off
	rnbd_switch "$1" rnbd_target reply_batch N reply-batch-off
	rnbd_switch "$1" rnbd_target submit_unbound N submit-bound
	rnbd_switch "$1" rnbd_core signal_all Y signal-all
	export_disk bench "$backend"
}

# rnbd_attach SYSTEM QUEUES: attach the disk and set $dev, and $engine if SYSTEM needs another one
rnbd_attach() {
	local opts=(--queues "$2")
	modprobe rnbd || die "no rnbd"
	rnbd_switch "$1" rnbd gather 65535 gather-off
	rnbd_switch "$1" rnbd coalesce N coalesce-off
	rnbd_switch "$1" rnbd inline_depth 65535 inline-deep
	rnbd_switch "$1" rnbd frame_kb "${1#rnbd+frame-}" "frame-${1#rnbd+frame-}"
	rnbd_switch "$1" rnbd chunk_kb "${1#rnbd+chunk-}" "chunk-${1#rnbd+chunk-}"
	case $1 in
	rnbd-copy) opts+=(--transfer copy) ;;
	rnbd+inline-off) opts+=(--inline-read 0 --inline-write 0) ;;
	rnbd+poll) opts+=(--poll-queues "$2") ;;
	esac
	dev=$(attach bench "${opts[@]}") || exit 1
	[ "$1" != rnbd+early-release ] || echo 1 >"/sys/block/$(basename "$dev")/rnbd/early_release"
	# rnbd+uring is the reference for rnbd+poll: both submit by io_uring.
	case $1 in
	rnbd+uring) engine=(--ioengine=io_uring) ;;
	rnbd+poll) engine=(--ioengine=io_uring --hipri=1) ;;
	esac
}

peer_export() {
	case $1 in
	rnbd | rnbd+* | rnbd-copy) rnbd_export "$1" ;;
	nvme-rdma) nvmet_export rdma ;;
	nvme-rdma-best | nvme-rdma-poll) nvmet_export rdma 16384 ;;
	nvme-tcp) nvmet_export tcp ;;
	rnbd-intree) intree_export Y ;;
	rnbd-intree-fast) intree_export N ;;
	nbd-tcp) nbd_export ;;
	local) ;;
	*) die "unknown system: $1" ;;
	esac
}

peer_unexport() {
	case $1 in
	rnbd | rnbd+* | rnbd-copy) configfs_clear && modprobe -r rnbd-target ;;
	nvme-rdma*) nvmet_unexport rdma ;;
	nvme-tcp) nvmet_unexport tcp ;;
	rnbd-intree*) rmmod rnbd-server rtrs-server || die "rnbd-server cannot be unloaded" ;;
	nbd-tcp) kill "$(cat /tmp/nbd.pid)" ;;
	esac
}

# no_scheduler: set the scheduler of $dev to none. The block layer gives a scheduler to disks with a
# single queue, as those of the other systems on a machine with one processor; the scheduler is
# useless in front of a network.
no_scheduler() {
	local name=${dev##*/} file
	# Include the path disks below a disk of nvme's native multipath.
	for file in "/sys/block/$name/queue/scheduler" /sys/block/${name/n1/c*n1}/queue/scheduler; do
		case $file in
		*/nvme* | */nbd* | */rnbd*) [ ! -e "$file" ] || echo none >"$file" || die "$file: cannot be none" ;;
		esac
	done
}

# peer_attach SYSTEM QUEUES: attach the disk; set $dev, and set $engine to the fio options that
# select the I/O engine
peer_attach() {
	engine=(--ioengine=libaio)
	case $1 in
	rnbd | rnbd+* | rnbd-copy) rnbd_attach "$@" ;;
	nvme-rdma-poll)
		engine=(--ioengine=io_uring --hipri=1)
		nvme_attach rdma -i "$2" -P "$2"
		;;
	nvme-rdma*) nvme_attach rdma -i "$2" ;;
	nvme-tcp) nvme_attach tcp -i "$2" ;;
	rnbd-intree*) intree_attach ;;
	nbd-tcp) nbd_attach "$2" ;;
	local) dev=$backend ;;
	esac
	no_scheduler
}

peer_detach() {
	case $1 in
	rnbd | rnbd+* | rnbd-copy) detach "$dev" && modprobe -r rnbd ;;
	nvme-rdma*) nvme disconnect -n bench >/dev/null && modprobe -r nvme-rdma ;;
	nvme-tcp) nvme disconnect -n bench >/dev/null && modprobe -r nvme-tcp ;;
	rnbd-intree*) intree_detach ;;
	nbd-tcp) nbd-client -d /dev/nbd0 >/dev/null && modprobe -r nbd ;;
	esac
}
