#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --disk 32M --disk 96M --timeout 500 --ignore-report rxe_comp.c:[0-9]+.rxe_completer
# turns: 3
# short: every kind of fault in random order under load on two disks: no I/O error, every generation right
#
# recover-mixed-faults.sh [MINUTES [SEED]] - each kind once, then repeated for MINUTES (make soak)
. ../lib/lab.sh
. ../lib/rnbd.sh

# Node 2 decides which fault happens next. Node 1 executes the operations that node 2 requests in
# $SHARED, one at a time. After node 1 was killed and restarted, it continues with the next
# operation.
KINDS=(kill-queue fail-post drop-reply hold-bio hold-submit cut loss delay device-target
	device-client export port reload target-dies storage forced)
MINUTES=${1-0}
SEED=${2-$RANDOM}
VERIFY_EVERY=16		# faults
# Threads of each checker: so few that the shell still gets processor time.
THREADS=3
[ -z "$LAB_SLOW" ] || THREADS=2
UUID=11111111-2222-4333-8444-55555555555

serve_exports() {
	target_start
	arm rnbd-target
	export_disk disk0 /dev/mapper/back -- --uuid ${UUID}0
	export_disk disk1 /mnt/b/file -- --uuid ${UUID}1
	export_disk disk2 "$null" -- --uuid ${UUID}2
}

# serve OPERATION [ARG...] - execute an operation for node 2; the last line of output is the answer
serve() {
	case $1 in
	strike) strike rnbd-target "$2" "$3" "${4-0}" ;;
	hits) hits rnbd-target "$2" ;;
	export)
		rnbd export disable "$2" && rnbd export enable "$2"
		;;
	port)
		echo 0 >"$CFG/ports/1/enable" && echo 1 >"$CFG/ports/1/enable"
		;;
	reload)
		configfs_clear
		unload
		serve_exports
		;;
	device)
		rdma link delete rxe0
		sleep 1
		rdma link add rxe0 type rxe netdev eth0
		wait_for 20 grep -q listening "$CFG/ports/1/state"
		;;
	suspend) dmsetup suspend --nolockfs --noflush back ;;
	resume) dmsetup resume back ;;
	stale) cat "$CFG"/exports/*/stale_{requests,frames} | awk '{ n += $1 } END { print n }' ;;
	*) die "unknown fault: $1" ;;
	esac || die "failed: $*"
}

set_host_id
if [ "$NODE" = 1 ]; then
	modprobe dm-mod 2>/dev/null
	echo "0 $((32 * 2048)) linear /dev/lab/disk0 0" | dmsetup create back || die "dmsetup failed"
	if [ "$LAB_BOOT" = 1 ]; then
		rm -f "$OUT/served"
		run mkfs.ext4 -q -F -b 4096 /dev/lab/disk1
	fi
	mkdir -p /mnt/b
	mount /dev/lab/disk1 /mnt/b || die "mount failed"
	[ -e /mnt/b/file ] || truncate -s 32M /mnt/b/file
	sync
	null=$(null_disk 8) || exit 1
	serve_exports
	: >"$SHARED/up$LAB_BOOT"
	n=$(cat "$OUT/served" 2>/dev/null || echo 0)
	while :; do
		n=$((n + 1))
		until [ -e "$SHARED/op-$n" ]; do sleep 0.05; done
		read -ra op <"$SHARED/op-$n"
		echo $n >"$OUT/served"
		[ "${op[0]}" = end ] && break
		serve "${op[@]}" >"$SHARED/did.tmp" || exit 1
		mv "$SHARED/did.tmp" "$SHARED/did-$n"
	done
	configfs_clear
	umount /mnt/b
	dmsetup remove back
	unload
	exit 0
fi

asked=0
# tell_target OPERATION... - request the operation and do not wait for it
# ask OPERATION... - request the operation, wait until node 1 has executed it, and set $answer
tell_target() {
	asked=$((asked + 1))
	echo "$*" >"$SHARED/op.tmp"
	mv "$SHARED/op.tmp" "$SHARED/op-$asked"
}
ask() {
	tell_target "$@"
	wait_for 60 test -e "$SHARED/did-$asked"
	answer=$(tail -n 1 "$SHARED/did-$asked")
}
ask_hits() { ask hits "$1"; [ "$answer" -gt "$2" ]; }

# sum COUNTER - print the sum of the counters of both disks
# sum_over COUNTER VALUE - succeed if that sum is larger than VALUE; for wait_for
sum() { echo $(($(counter "${dev[0]}" "$1") + $(counter "${dev[1]}" "$1"))); }
sum_over() { [ "$(sum "$1")" -gt "$2" ]; }
is() { [ "$(counter "$1" state)" = "$2" ]; }

load() {
	local i
	for i in 0 1; do
		gencheck run --journal /dev/shm/journal$i --threads $THREADS --io 1-16 --time 1000000 \
			"${dev[i]}" >"$OUT/gencheck$i" 2>&1 &
		pid[i]=$!
	done
}

# settle - wait until both disks, which share a session, are live and complete requests
settle() {
	local i before
	for i in 0 1; do
		wait_for 60 is "${dev[i]}" live
		before=$(completed "${dev[i]}")
		wait_for 60 completed_over "${dev[i]}" $((before + 20))
		kill -0 "${pid[i]}" 2>/dev/null || die "gencheck ended: $(cat "$OUT/gencheck$i")"
	done
}

check() {
	local i
	kill "${pid[@]}"
	for i in 0 1; do
		wait "${pid[i]}" || die "${dev[i]}: $(cat "$OUT/gencheck$i")"
		gencheck verify --journal /dev/shm/journal$i "${dev[i]}" >"$OUT/verify$i" ||
			die "${dev[i]}: $(cat "$OUT/verify$i")"
	done
}

# lost BEFORE - wait until the sum of the counters "reconnects" of both disks exceeds BEFORE. Both
# disks count each reconnect, because they share a session.
lost() { wait_for 60 sum_over reconnects "$1"; }

fault() {
	local before seen got i
	before=$(sum reconnects)
	case $1 in
	kill-queue)
		strike rnbd kill_queue 1 $((RANDOM % 4))
		lost "$before"
		;;
	fail-post)
		strike rnbd fail_post 1
		lost "$before"
		;;
	drop-reply)
		ask strike drop_reply 1
		lost "$before"
		;;
	hold-bio | hold-submit)
		# The target holds an old write while the client reconnects.
		i=delay_${1#hold-}
		ask hits "$i"
		seen=$answer
		ask strike "$i" 1 100000
		wait_for 30 ask_hits "$i" "$seen"
		got=$(hits rnbd kill_queue)
		strike rnbd kill_queue 2 0
		wait_for 30 killed $((got + 1))
		wait_for 30 some_reconnecting
		ask strike "$i" 0
		lost "$before"
		strike rnbd kill_queue 0
		;;
	cut)
		lab cut 2
		wait_for 30 some_reconnecting
		lab join 2
		lost "$before"
		;;
	loss)
		nft -f - <<-EOF
			table ip loss {
				chain input {
					type filter hook input priority 0;
					udp dport 4791 numgen random mod 100 < 5 counter drop
				}
			}
		EOF
		before=$(sum requests)
		wait_for 60 sum_over requests $((before + 200))
		got=$(nft list table ip loss | grep -o 'packets [0-9]*' | tr -dc 0-9)
		nft delete table ip loss
		[ "$got" -gt 0 ] || die "no packet was lost"
		;;
	delay)
		got=$(netem_packets)
		netem delay 15ms reorder 60% 50%
		before=$(sum requests)
		wait_for 60 sum_over requests $((before + 100))
		netem delay 0
		[ "$(netem_packets)" -gt "$got" ] || die "no packet was delayed"
		;;
	device-target)
		ask device
		lost "$before"
		;;
	device-client)
		rdma link delete rxe0
		wait_for 20 some_reconnecting
		rdma link add rxe0 type rxe netdev eth0
		lost "$before"
		;;
	export)
		# The disk must be attached again in the same session.
		i=$((RANDOM % 2))
		seen=$(now_ms)
		ask export disk$i
		wait_for 60 back_since "${dev[i]}" "$seen"
		;;
	port)
		ask port
		lost "$before"
		;;
	reload)
		before=$(sum target_restarts)
		ask reload
		wait_for 60 sum_over target_restarts "$before"
		;;
	target-dies)
		before=$(sum target_restarts)
		lab kill 1
		wait_for 30 some_reconnecting
		lab start 1
		boots=$((boots + 1))
		wait_for 120 test -e "$SHARED/up$boots"
		wait_for 60 sum_over target_restarts "$before"
		;;
	storage)
		ask suspend
		wait_for 30 stands_still
		ask resume
		;;
	forced)
		i=$(attach disk2 --new-session --queues 1) || exit 1
		fio --name=l --filename="$i" --direct=1 --ioengine=libaio --rw=randrw --bs=4k --iodepth=8 \
			--size=4m --time_based --runtime=3600 >"$OUT/forced" 2>&1 &
		got=$!
		# fio starts slowly while the two other disks are busy: wait for its requests.
		wait_for 60 counter_over "$i" requests 20
		rnbd detach "$i" --force || die "forced detach failed"
		wait $got && die "fio saw no error"
		[ ! -e "/sys/block/$(basename "$i")" ] || die "$i is still there"
		;;
	esac
}
killed() { [ "$(hits rnbd kill_queue)" -ge "$1" ]; }
some_reconnecting() { is "${dev[0]}" reconnecting || is "${dev[1]}" reconnecting; }
# stands_still - the disk with suspended storage completes no request for 0.5 s; for wait_for
stands_still() {
	local before
	before=$(completed "${dev[0]}")
	sleep 0.5
	[ "$(completed "${dev[0]}")" = "$before" ]
}

# die TEXT... - like die() of lab.sh, but also show the state of the disks and the blocked tasks
die() {
	local d
	echo "FAILED: $*; fault: ${kind-none}" >&2
	for d in "${dev[@]}"; do
		(cd "/sys/block/$(basename "$d")/rnbd" &&
			grep . state reason last_error attempt next_try_ms epoch requests reconnects pool_used) >&2
	done
	echo w >/proc/sysrq-trigger
	exit 1
}

netem_ready
modprobe rnbd io_timeout=3 || die "no rnbd"
arm rnbd
wait_for 60 test -e "$SHARED/up1"
boots=1
dev=() pid=()
for i in 0 1; do
	dev[i]=$(attach disk$i --queues 2 --keepalive 1000) || exit 1
done
RANDOM=$SEED
echo "seed $SEED"
load
settle
declare -A count=()
total=0
end=$((SECONDS + MINUTES * 60))
while :; do
	# Draw the random numbers in this shell: a subshell would not advance the sequence of
	# $RANDOM here.
	ranks=()
	for k in "${KINDS[@]}"; do ranks+=("$RANDOM $k"); done
	mapfile -t order < <(printf '%s\n' "${ranks[@]}" | sort -n | cut -d ' ' -f 2)
	for kind in "${order[@]}"; do
		start=${EPOCHREALTIME/[.,]/}
		fault "$kind"
		settle
		count[$kind]=$((${count[$kind]-0} + 1))
		total=$((total + 1))
		echo "$(((SECONDS + 59) / 60)) min, $total: $kind, I/O continued after" \
		     "$(((${EPOCHREALTIME/[.,]/} - start) / 1000)) ms; reconnects $(counter "${dev[0]}" reconnects), resent $(sum resent_requests)"
		if [ $((total % VERIFY_EVERY)) = 0 ]; then
			check
			load
			settle
		fi
		# End only after each kind has happened at least once.
		if [ $SECONDS -ge $end ] && [ $total -gt ${#KINDS[@]} ]; then break; fi
	done
	[ $SECONDS -lt $end ] || break
done
check
ask stale
echo "$total faults in $((SECONDS / 60)) min, seed $SEED:"
for kind in "${KINDS[@]}"; do printf '  %-14s %d\n' "$kind" "${count[$kind]-0}"; done
echo "lost $(counter "${dev[0]}" connections_lost), reconnects $(counter "${dev[0]}" reconnects), restarts $(sum target_restarts)," \
     "resent $(sum resent_requests), stale requests and frames dropped since the last start $answer"
cat "$OUT"/gencheck? "$OUT"/verify?
for i in 0 1; do detach "${dev[i]}"; done
tell_target end
unload
