# shellcheck shell=bash disable=SC2154 # the caller sets $BACKENDS, $TARGET and $NVMET
# SPDX-License-Identifier: GPL-2.0-only
# Several disks of one system at the same time. Sourced after ./peers.sh.
#
# $BACKENDS is the array of the exported block devices; $backend, which peers.sh uses, is the first
# of them.

# nvmet_namespaces: add all backends except the first one as namespaces of the subsystem
nvmet_namespaces() {
	local i ns

	for ((i = 2; i <= ${#BACKENDS[@]}; i++)); do
		ns=$NVMET/subsystems/bench/namespaces/$i
		mkdir "$ns"
		echo "${BACKENDS[i - 1]}" >"$ns/device_path"
		echo 1 >"$ns/enable" || die "nvmet refuses ${BACKENDS[i - 1]}"
	done
}

# disks_export SYSTEM: export all backends
disks_export() {
	local i

	peer_export "$1"
	case $1 in
	# The client of the in-tree RNBD names the device.
	rnbd-intree*) ;;
	rnbd*) for ((i = 1; i < ${#BACKENDS[@]}; i++)); do export_disk "bench$i" "${BACKENDS[i]}"; done ;;
	nvme-rdma*) nvmet_namespaces ;;
	esac
}

disks_unexport() {
	local i

	case $1 in
	nvme-rdma*)
		for ((i = 2; i <= ${#BACKENDS[@]}; i++)); do
			echo 0 >"$NVMET/subsystems/bench/namespaces/$i/enable"
			rmdir "$NVMET/subsystems/bench/namespaces/$i"
		done
		;;
	esac
	peer_unexport "$1"
}

# disks_attach SYSTEM QUEUES: attach all disks and set the array $disks
disks_attach() {
	local i

	peer_attach "$@"
	disks=("$dev")
	for ((i = 1; i < ${#BACKENDS[@]}; i++)); do
		case $1 in
		rnbd-intree*)
			echo "sessname=bench path=ip:$TARGET device_path=${BACKENDS[i]}" \
				>/sys/devices/virtual/rnbd-client/ctl/map_device || die "map_device failed"
			dev=/dev/rnbd$i
			wait_for 20 test -b "$dev"
			;;
		# This disk shares the session of the first disk, and so the options of the session.
		rnbd*) dev=$(attach "bench$i") || exit 1 ;;
		nvme-rdma*)
			dev=${disks[0]%n1}n$((i + 1))
			wait_for 20 test -b "$dev"
			;;
		esac
		no_scheduler
		disks+=("$dev")
	done
	dev=${disks[0]}
}

disks_detach() {
	local i

	for ((i = 1; i < ${#disks[@]}; i++)); do
		case $1 in
		rnbd-intree*) echo normal >"/sys/block/rnbd$i/rnbd/unmap_device" ;;
		rnbd*) detach "${disks[i]}" ;;
		esac
	done
	peer_detach "$1"
}
