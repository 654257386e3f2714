#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Print the environment of a machine: tests/hw/run passes this script to "bash -s" over ssh and
# splits the output at lines "@@ TOPIC" into files.
#
# The variable HW_BACKEND names the block device to check. With HW_FACTS set, the script prints only
# the facts that tests/hw/run needs. The script only reads. For a tool or file that the machine
# lacks it prints a line "not available". It prints no serial numbers and no names of users.

export LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
IB=/sys/class/infiniband

topic() { echo "@@ $1"; }

# show COMMAND...: print the command and its output
show() {
	echo "\$ $*"
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "not available: no $1"
		return
	fi
	timeout 20 "$@" </dev/null 2>&1 | head -n 1000 | grep -viE "serial (number|no)|serial:|\[SN\]"
	[ "${PIPESTATUS[0]}" = 0 ] || echo "not available: $1 failed"
}

# content FILE: set $text to the content of FILE without starting a process; fail if the file cannot
# be read
content() {
	text=
	[ -r "$1" ] || return
	# read fails at the end of the file, but sets the text.
	{ IFS= read -rd '' text; } <"$1" 2>/dev/null
	text=${text%$'\n'}
	[ -n "$text" ] || [ ! -s "$1" ]
}

# values FILE...: print a line "FILE: CONTENT" per file
values() {
	local file text

	for file; do
		if content "$file"; then
			echo "$file: ${text//$'\n'/ | }"
		else
			echo "$file: not available"
		fi
	done
}

devices() { ls $IB 2>/dev/null; }

# For each RDMA device, the network devices to which its GIDs belong. Adapters have up to thousands
# of GIDs; most GIDs have no network device, and the files of such GIDs cannot be read.
declare -A netdevs_of=()
for dev in $(devices); do
	netdevs_of[$dev]=$({
		cat $IB/"$dev"/ports/*/gid_attrs/ndevs/* 2>/dev/null
		ls $IB/"$dev"/device/net 2>/dev/null
	} | sort -u)
done

netdevs() { echo "${netdevs_of[$1]}"; }

all_netdevs() { printf '%s\n' "${netdevs_of[@]}" | sort -u; }

# facts: print the data that tests/hw/run needs, lines "KEY VALUE..."
facts() {
	local dev port state nd addr tool

	echo "kernel $(uname -r)"
	echo "cpus $(nproc)"
	echo "name $(uname -n)"
	echo "ssh ${SSH_CONNECTION:-unknown}"
	for dev in $(devices); do
		for port in "$IB/$dev"/ports/*; do
			read -r _ state <"$port/state"
			for nd in $(netdevs "$dev"); do
				for addr in $(ip -o addr show dev "$nd" scope global 2>/dev/null |
						awk '{ print $4 }'); do
					echo "rdma $dev ${port##*/} $state $nd ${addr%/*}"
				done
			done
		done
	done
	for tool in rnbd fio nvme gcc make jq gencheck; do
		command -v $tool >/dev/null 2>&1 || echo "lacks $tool"
	done
	[ -e "/lib/modules/$(uname -r)/build/Makefile" ] || echo "lacks headers"
	[ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)" != 2 ] || echo "lacks io_uring"
	for tool in rnbd-core rnbd rnbd-target null_blk brd nvme-rdma nvmet-rdma; do
		if [ -e "/sys/module/${tool//-/_}" ]; then
			echo "loaded $tool"
		elif ! modinfo "$tool" >/dev/null 2>&1; then
			echo "lacks module $tool"
		fi
	done
	for tool in /sys/kernel/config/rnbd/{exports,ports,hosts}/* /sys/block/rnbd* \
		/sys/kernel/config/nvmet/{subsystems,ports}/*; do
		[ ! -e "$tool" ] || echo "used $tool"
	done
	if [ -n "${HW_BACKEND-}" ]; then
		backend "$HW_BACKEND"
	fi
	# Texts that "ANON=yes" replaces; the results do not contain these lines.
	ip -o addr 2>/dev/null | awk '{
		sub(/\/.*/, "", $4); print "secret", $4
		for (i = 5; i < NF; i++) if ($i == "brd" || $i == "peer") print "secret", $(i + 1)
	}'
	ip neigh 2>/dev/null | awk '{ print "secret", $1 }'
	ip route 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+){3}' | sed 's/^/secret /'
}

# backend PATH: print the size of the block device, and the reason if it must not be overwritten
backend() {
	local path=$1 dev

	[ -b "$path" ] || { echo "backend is no block device"; return; }
	dev=$(readlink -f "$path")
	echo "backend-size $(blockdev --getsize64 "$dev")"
	if lsblk -nro MOUNTPOINT "$dev" 2>/dev/null | grep -q .; then
		echo "backend is mounted, or used as swap"
	elif [ -n "$(ls "/sys/class/block/${dev##*/}/holders" 2>/dev/null)" ]; then
		echo "backend is used by $(ls "/sys/class/block/${dev##*/}/holders")"
	elif [ "$(lsblk -nro NAME "$dev" 2>/dev/null | wc -l)" -gt 1 ]; then
		echo "backend has partitions or is used by another device"
	elif grep -q "^$dev " /proc/mounts /proc/swaps; then
		echo "backend is in use"
	elif [ "$(blockdev --getsize64 "$dev")" -lt $((1 << 30)) ]; then
		echo "backend is smaller than 1 GiB"
	fi
}

topic facts
facts
[ -z "${HW_FACTS-}" ] || exit 0

topic kernel
show uname -srvm
values /etc/os-release /proc/sys/kernel/tainted /proc/sys/kernel/modules_disabled \
	/sys/kernel/security/lockdown /sys/module/module/parameters/sig_enforce
echo "parameters of the command line that matter here:"
tr ' ' '\n' </proc/cmdline | grep -E '^(iommu|intel_iommu|amd_iommu|swiotlb|mitigations|nosmt|isolcpus|nohz|nohz_full|rcu_nocbs|pci|pcie_aspm|processor|intel_idle|intel_pstate|amd_pstate|idle|numa|default_hugepagesz|hugepages|transparent_hugepage|preempt|threadirqs|lockdown|module\.|mem_encrypt|nopti|pti|spectre|tsc|clocksource)' ||
	echo "none"

topic config
config=
for file in "/boot/config-$(uname -r)" "/lib/modules/$(uname -r)/config" /proc/config.gz; do
	if [ -r "$file" ]; then config=$file; break; fi
done
if [ -n "$config" ]; then
	case $config in *.gz) zcat "$config" ;; *) cat "$config" ;; esac |
		grep -E '^CONFIG_(PREEMPT|HZ|NO_HZ|IRQ_TIME_ACCOUNTING|VIRT_CPU_ACCOUNTING|TICK_CPU|IOMMU_DEFAULT|INTEL_IOMMU|AMD_IOMMU|SWIOTLB|DMA_|KPROBES|KPROBE_EVENTS|HIST_TRIGGERS|FUNCTION_TRACER|MODULE_SIG|INFINIBAND|MLX|NVME|BLK_DEV_NULL|BLK_DEV_RAM|BLK_WBT|KASAN|PROVE_LOCKING|LOCKDEP|DEBUG_OBJECTS|SLUB_DEBUG_ON|FORTIFY|INIT_ON|MITIGATION|SPECULATION|PAGE_TABLE_ISOLATION|RETPOLINE|CC_IS|GCC_VERSION|CLANG_VERSION|LTO|SECURITY_LOCKDOWN|NUMA)'
else
	echo "not available: no configuration of this kernel"
fi

topic cpu
show lscpu
show numactl --hardware
values /sys/devices/system/cpu/cpu0/cpufreq/scaling_{driver,governor,max_freq} \
	/sys/devices/system/cpu/cpufreq/boost /sys/devices/system/cpu/intel_pstate/no_turbo \
	/sys/devices/system/cpu/cpuidle/current_driver /sys/devices/system/cpu/smt/control \
	/sys/kernel/mm/transparent_hugepage/enabled
grep -E '^(MemTotal|MemAvailable|HugePages_Total|Hugepagesize)' /proc/meminfo
values /proc/loadavg

topic mitigations
values /sys/devices/system/cpu/vulnerabilities/*

topic clock
values /sys/devices/system/clocksource/clocksource0/{current,available}_clocksource
show date -u
values /proc/uptime

topic rdma
show rdma -V
show rdma system
show rdma dev show -d
show rdma link show -d
show rdma resource show
for dev in $(devices); do
	echo "device $dev: driver $(basename "$(readlink "$IB/$dev/device/driver")" 2>/dev/null)"
	values $IB/"$dev"/{fw_ver,hca_type,board_id,node_type}
	for port in "$IB/$dev"/ports/*; do
		values "$port"/{state,phys_state,rate,link_layer}
	done
done
[ -n "$(devices)" ] || echo "not available: no RDMA device"

topic verbs
show ibv_devinfo -v

topic gid
for dev in $(devices); do
	for file in "$IB/$dev"/ports/*/gids/*; do
		content "$file"
		case $text in
		'' | 0000:0000:0000:0000:0000:0000:0000:0000) continue ;;
		esac
		attrs=${file%/gids/*}/gid_attrs index=${file##*/} gid=$text
		content "$attrs/types/$index"
		gid+=" $text"
		content "$attrs/ndevs/$index"
		echo "$dev $index $gid $text"
	done
done

topic counters
for dev in $(devices); do
	values $IB/"$dev"/ports/*/{counters,hw_counters}/* $IB/"$dev"/hw_counters/* |
		grep -v 'not available'
done

topic pci
for dev in $(devices); do
	path=$(readlink -f $IB/"$dev"/device)
	[ -e "$path/vendor" ] || { echo "$dev: not a PCI device"; continue; }
	echo "$dev: ${path##*/}"
	values "$path"/{vendor,device,subsystem_vendor,subsystem_device,revision} \
		"$path"/{current,max}_link_{speed,width} "$path"/{numa_node,local_cpulist}
	echo "$dev: $(find "$path/msi_irqs" -type f 2>/dev/null | wc -l) interrupt vectors"
	show lspci -nnvv -s "${path##*/}"
done

topic iommu
show ls /sys/class/iommu
for dev in $(devices); do
	group=$(readlink -f $IB/"$dev"/device/iommu_group)
	if [ -e "$group/type" ]; then
		echo "$dev: group $(basename "$group"), $(cat "$group/type")"
	else
		echo "$dev: not behind an IOMMU"
	fi
done
dmesg 2>/dev/null | grep -iE 'iommu: Default domain|DMAR: IOMMU enabled|AMD-Vi: .*enabled|software IO TLB: mapped' ||
	echo "not available: the kernel log no longer has the lines of the boot"

topic link
for nd in $(all_netdevs); do
	show ip -s -d link show dev "$nd"
	show ip addr show dev "$nd"
	show ethtool "$nd"
	show ethtool -i "$nd"
	show ethtool -c "$nd"
	show ethtool -g "$nd"
done

topic flow-control
for nd in $(all_netdevs); do
	show ethtool -a "$nd"
	show dcb pfc show dev "$nd"
	show dcb ets show dev "$nd"
	show dcb app show dev "$nd"
	show dcb buffer show dev "$nd"
	show mlnx_qos -i "$nd"
	show lldptool -t -i "$nd" -V PFC
	values /sys/class/net/"$nd"/ecn/roce_{np,rp}/enable/*
	path=$(basename "$(readlink -f "/sys/class/net/$nd/device")")
	values /sys/kernel/debug/mlx5/"$path"/cc_params/*
	ethtool -S "$nd" 2>/dev/null | grep -E 'pause|prio|discard|out_of_buffer|ecn|cnp' | head -n 200
done

topic modules
for name in rnbd-core rnbd rnbd-target ib_core rdma_cm nvme-rdma nvmet-rdma nvmet null_blk \
	$(for dev in $(devices); do basename "$(readlink -f "$IB/$dev/device/driver/module")"; done |
		grep -v '^module$' | sort -u); do
	echo "$name: $(modinfo "$name" 2>/dev/null |
		grep -E '^(filename|version|srcversion|vermagic|signer):' | tr -s ' \n' ' ')"
done
show lsmod
show rnbd --version
show fio --version
show nvme version

topic sysctl
values /proc/sys/kernel/{io_uring_disabled,numa_balancing,kptr_restrict,perf_event_paranoid,watchdog,hung_task_timeout_secs,timer_migration} \
	/proc/sys/vm/{nr_hugepages,zone_reclaim_mode,swappiness} \
	/proc/sys/net/ipv4/conf/all/{rp_filter,arp_ignore,arp_announce}
for nd in $(all_netdevs); do
	values /proc/sys/net/ipv4/conf/"$nd"/{rp_filter,arp_ignore,arp_announce}
done
echo "locked memory of a process: $(ulimit -l) KiB"

topic storage
show lsblk -o NAME,TYPE,SIZE,LOG-SEC,PHY-SEC,ROTA,MODEL
if [ -n "${HW_BACKEND-}" ]; then
	name=$(basename "$(readlink -f "$HW_BACKEND")")
	values /sys/class/block/"$name"/queue/{scheduler,nr_requests,write_cache,fua,max_sectors_kb,logical_block_size,max_segments}
fi
