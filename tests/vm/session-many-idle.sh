#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 2048 --timeout 300
# adapter: only mlx5 irdma bnxt_re ionic
# turns: 4
# short: hung storage of 4 disks holds most of a small pool: 36 idle disks of the session can still do I/O, one after the other
. ../lib/lab.sh
. ../lib/rnbd.sh

# The client reserves pool space for the first requests of idle disks, so that busy disks leave some
# space to them. This must also work if the idle disks have more hardware queues (here 72)
# than the reserve has units (64).
HUNG=4 IDLE=36

set_host_id
modprobe dm-mod 2>/dev/null
target_start
for ((i = 0; i < HUNG; i++)); do
	disk=$(null_disk 16) || exit 1
	echo "0 32768 linear $disk 0" | dmsetup create "back$i" || die "dmsetup"
	export_disk "hung$i" "/dev/mapper/back$i"
done
for ((i = 0; i < IDLE; i++)); do
	disk=$(null_disk 16) || exit 1
	export_disk "idle$i" "$disk"
done
export_disk other "$(null_disk 16)"
modprobe rnbd io_timeout=600
common=(--queues 2 --pool 2M --pool-floor fixed)
hung=() idle=()
for ((i = 0; i < HUNG; i++)); do
	hung[i]=$(attach "hung$i" "${common[@]}" --loss-timeout 0) || exit 1
done
for ((i = 0; i < IDLE; i++)); do
	idle[i]=$(attach "idle$i" "${common[@]}") || exit 1
done
need "${idle[0]}" pool_units -eq 512
same "$(find /sys/kernel/rnbd-target/sessions -mindepth 1 -maxdepth 1 | wc -l)" 1 sessions

for ((i = 0; i < HUNG; i++)); do
	dmsetup suspend --noflush --nolockfs "back$i" || die "suspend"
done
# A process per CPU and disk keeps 4 requests of 256 KiB in flight.
jobs=()
for dev in "${hung[@]}"; do jobs+=(--name="${dev##*/}" --filename="$dev"); done
fio --ioengine=libaio --direct=1 --rw=randread --bs=256k --iodepth=4 --number_ios=8 \
	--numjobs=2 --cpus_allowed=0-1 --cpus_allowed_policy=split \
	"${jobs[@]}" --minimal >"$OUT/fio" 2>&1 &
load=$!
# The hung disks use all the space that they may use: at least 6 requests of 64 units each.
full() { [ "$(counter "${idle[0]}" pool_used)" -ge 384 ] &&
	[ "$(counter "${idle[0]}" pool_stalls)" -gt 0 ]; }
wait_for 60 full
# all_asked: succeed if each hung disk has requests in flight; for wait_for
asked() { awk '{ print $1 + $2 }' "/sys/block/${1##*/}/inflight"; }
all_asked() {
	local dev
	for dev in "${hung[@]}"; do [ "$(asked "$dev")" -ge 1 ] || return 1; done
}
wait_for 60 all_asked
need "${idle[0]}" pool_used -ge 384

note "each idle disk reads and writes"
for dev in "${idle[@]}"; do
	timeout $((20 * ${LAB_SLOW:-1})) \
		dd if="$dev" of=/dev/null bs=4k count=4 iflag=direct status=none ||
		die "$dev: no read beside the hung disks"
	timeout $((20 * ${LAB_SLOW:-1})) \
		dd if=/dev/zero of="$dev" bs=4k count=4 oflag=direct status=none ||
		die "$dev: no write beside the hung disks"
done
note "attach and detach"
dev=$(timeout $((20 * ${LAB_SLOW:-1})) rnbd attach "$ADDR" other "${common[@]}") ||
	die "no attach beside the hung disks"
timeout $((20 * ${LAB_SLOW:-1})) \
	dd if="$dev" of=/dev/null bs=4k count=4 iflag=direct status=none ||
	die "$dev: no read beside the hung disks"
timeout $((20 * ${LAB_SLOW:-1})) rnbd detach "$dev" --wait 5 || die "no detach"
need "${idle[0]}" pool_used -ge 384
need "${idle[0]}" connections_lost -eq 0
kill -0 $load || die "the requests of the hung disks have ended"

note "the storage completes the requests"
for ((i = 0; i < HUNG; i++)); do dmsetup resume "back$i" || die "resume"; done
wait $load || die "a read failed: $(cat "$OUT/fio")"
unused() { [ "$(counter "${idle[0]}" pool_used)" = 0 ]; }
wait_for 60 unused
for dev in "${hung[@]}" "${idle[@]}"; do
	need "$dev" connections_lost -eq 0
	detach "$dev"
done
configfs_clear
dmsetup_free() { dmsetup remove "back$1" 2>/dev/null; }
for ((i = 0; i < HUNG; i++)); do wait_for 10 dmsetup_free "$i"; done
unload
