#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 300
# adapter: only
# turns: 2
# without: event, because a lost packet costs a retry time-out, as long as an interval of the rates
# short: counters of exports and hosts outlive sessions and agree in configfs, tool and Prometheus; waiting sessions log few lines
. ../lib/lab.sh
. ../lib/rnbd.sh

HOST=$(host_id 1)
WAITING=6
TRACING=/sys/kernel/tracing

# io KIND NAME OP KEY: print the number KEY of the operation OP from io_stat; KIND is exports or
# hosts
io() {
	gawk -v op="$3" -v key="$4" '
		$1 == op { for (i = 2; i <= NF; i++) { split($i, part, "="); if (part[1] == key) print part[2] } }
	' "$CFG/$1/$2/io_stat"
}

# grown OP KEY NUMBER WHAT: fail unless the number KEY of the operation OP of disk0 has grown by
# exactly NUMBER since it was last stored in $before; store the new number there
declare -A before
grown() {
	local now
	now=$(io exports disk0 "$1" "$2")
	same "$((now - ${before[$1 $2]:-0}))" "$3" "$4"
	before[$1 $2]=$now
}

# slow OP BUCKET: print the number of requests in this latency bucket and in the higher buckets
slow() {
	io exports disk0 "$1" latency |
		gawk -F, -v from="$2" '{ for (i = from + 1; i <= NF; i++) sum += $i } END { print sum + 0 }'
}

# error KIND NAME CLASS: print the number of errors of CLASS from io_errors
error() { gawk -v class="$3" '$1 == class { print $2 }' "$CFG/$1/$2/io_errors"; }

# series FILE SERIES: print the value of a Prometheus series
series() { gawk -v series="$2" 'index($0, series " ") == 1 { print $NF; found++ } END { exit found != 1 }' "$1" ||
	die "no $2 in $1"; }

set_host_id
modprobe dm-mod 2>/dev/null
target_start
for parameter in pool_limit_mb host_pool_limit_mb; do
	echo 26 >/sys/module/rnbd_target/parameters/$parameter || die "no $parameter"
done
disk=$(null_disk 64 cache_size=16) || exit 1
export_disk disk0 "$disk" -- --write-cache back
same "$(stat -c %a "$CFG/exports/disk0/io_stat" "$CFG/hosts/$HOST/io_errors" | xargs)" "400 400" "modes"
same "$(cut -d' ' -f2,3,4 "$CFG/exports/disk0/io_stat" | sort -u)" "requests=0 bytes=0 nsecs=0" "a new export"

echo "each operation is counted"
dev=$(attach disk0 --name data --queues 1 --pool 4M) || exit 1
for op in read write flush discard write-zeroes; do
	for key in requests bytes; do before[$op $key]=$(io exports disk0 $op $key); done
done
dd if="$dev" of=/dev/null bs=64k count=16 iflag=direct status=none || die "read failed"
grown read requests 16 "reads"
grown read bytes $((1 << 20)) "bytes read"
dd if=/dev/zero of="$dev" bs=4k count=8 oflag=direct status=none || die "write failed"
grown write requests 8 "writes"
grown write bytes $((1 << 15)) "bytes written"
sync "$dev" || die "flush failed"
grown flush requests 1 "flushes"
blkdiscard -l 4194304 "$dev" || die "discard failed"
grown discard bytes 4194304 "bytes discarded"
blkdiscard -z -l 1048576 "$dev" || die "write-zeroes failed"
grown write-zeroes bytes 1048576 "bytes zeroed"
cat "$CFG/exports/disk0/io_stat"

echo "a slow write is in its bucket"
# Bucket 18 begins at 131 ms.
was=$(slow write 18) nsecs=$(io exports disk0 write nsecs)
strike rnbd-target delay_submit 1 300
dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct status=none || die "write failed"
same "$(hits rnbd-target delay_submit)" 1 "writes delayed"
need_counter $(($(slow write 18) - was)) -ge 1 "slow writes"
need_counter $((($(io exports disk0 write nsecs) - nsecs) / 1000000)) -ge 300 "ms of the slow write"

echo "the connection is replaced under load"
before[write requests]=$(io exports disk0 write requests)
# zeroes: write until $OUT/replaced exists, and print the number of writes
zeroes() {
	local writes=0

	until [ -e "$OUT/replaced" ]; do
		dd if=/dev/zero of="$dev" bs=16k count=100 oflag=direct status=none || return
		writes=$((writes + 100))
	done
	echo $writes
}
zeroes >"$OUT/writes" &
load=$!
requests=$(counter "$dev" requests)
wait_for 20 counter_over "$dev" requests $((requests + 50))
strike rnbd kill_queue 1
wait_for 30 counter_over "$dev" reconnects 0
kill -0 $load || die "the load ended before the connection was replaced"
: >"$OUT/replaced"
wait $load || die "write failed"
writes=$(<"$OUT/writes")
was=${before[write requests]}
done=$(($(io exports disk0 write requests) - was))
note "$writes writes, $(counter "$dev" resent_requests) requests resent, $done counted"
need_counter "$done" -ge "$writes" "writes counted"
need_counter "$done" -le $((writes + $(counter "$dev" resent_requests))) "writes counted"
session=$(rnbd session list --target --json | jq '[.[] | select(.state == "live") | .requests] | add')
total=$(gawk '{ sub("requests=", "", $2); sum += $2 } END { print sum }' "$CFG/exports/disk0/io_stat")
need_counter "$session" -lt "$((total - 50))" "requests of the new session"

echo "counters of the host and of its only export are the same, also in the tool"
wait_for 10 sh -c "[ \$(cat /sys/block/${dev##*/}/rnbd/pool_used) = 0 ]"
same "$(cat "$CFG/hosts/$HOST/io_stat")" "$(cat "$CFG/exports/disk0/io_stat")" "the host"
same "$(rnbd host stat "$HOST" --json | jq -c 'del(.time, .host)')" \
	"$(rnbd export stat disk0 --json | jq -c 'del(.time, .export)')" "statistics of both"
rnbd export stat disk0 --json >"$OUT/stat" || die "export stat failed"
for op in read write flush discard write-zeroes; do
	same "$(jq -r --arg op $op '.[$op] | "\(.requests) \(.bytes) \(.nsecs) \(.latency | join(","))"' "$OUT/stat")" \
		"$(for key in requests bytes nsecs latency; do io exports disk0 $op $key; done | xargs)" "$op of the tool"
	jq -e --arg op $op '.[$op] | .requests == (.latency | add) and .requests > 0' "$OUT/stat" >/dev/null ||
		die "latencies of $op"
done
rnbd export stat disk0 >"$OUT/table" || die "export stat failed"
cat "$OUT/table"
same "$(gawk '$1 == "write" { print $2 }' "$OUT/table")" "$(io exports disk0 write requests)" "writes of the table"
seen=$(io exports disk0 read requests)
(while dd if="$dev" of=/dev/null bs=4k count=64 iflag=direct status=none; do [ ! -e /tmp/enough ] || exit 0; done) &
load=$!
# On a busy machine the process can start after the end of the first interval, so wait for its
# reads.
reads_on() { [ "$(io exports disk0 read requests)" -gt "$seen" ]; }
wait_for 20 reads_on
# On a slow machine dd can take more than a second to start, so each interval is longer.
interval=${LAB_SLOW:-1}
rnbd export stat disk0 "$interval" 2 >"$OUT/rates" || die "rates failed"
rnbd host stat --all "$interval" 2 --json >"$OUT/rates.json" || die "rates failed"
touch /tmp/enough
wait $load || die "read failed"
cat "$OUT/rates"
gawk 'NR == 1 && $2 == "EXPORT" && NF == 12 { head++ }
      NR > 1 && $2 == "disk0" && NF == 12 && $3 > 0 && $8 > 0 { busy++ }
      END { exit head != 1 || busy != 2 || NR != 3 }' "$OUT/rates" || die "not a table of rates"
jq -se --arg host "$HOST" 'length == 2 and all(.host == $host and .read.iops > 0 and
	(.read.bytes_per_second / .read.iops | . > 4090 and . < 4102) and .read.p99_us >= 1 and .write.iops == 0 and
	.write.mean_us == null and .errors.io == 0)' "$OUT/rates.json" >/dev/null || die "$(cat "$OUT/rates.json")"
detach "$dev"
kept=$(cat "$CFG/exports/disk0/io_stat")
run rnbd export disable disk0
run rnbd export enable disk0
same "$(cat "$CFG/exports/disk0/io_stat")" "$kept" "counters after disable and enable"

echo "failed requests are counted by class"
echo "0 32768 error" | dmsetup create bad || die "dmsetup failed"
export_disk bad /dev/mapper/bad
dev=$(attach bad --queues 1 --pool 4M) || exit 1
bad=$(error exports bad io) reads=$(io exports bad read requests) bytes=$(io exports bad read bytes)
for i in 1 2 3; do
	if dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null; then die "read $i did not fail"; fi
done
same "$(($(error exports bad io) - bad))" 3 "errors"
same "$(error hosts "$HOST" io)" "$(error exports bad io)" "errors of the host"
same "$(error exports disk0 io)" 0 "errors of the other export"
same "$(($(io exports bad read requests) - reads))" 3 "failed reads"
same "$(io exports bad read bytes)" "$bytes" "bytes of failed reads"
detach "$dev"

echo "$WAITING sessions wait for storage that hangs"
for i in $(seq $WAITING); do
	echo "0 8192 linear $(null_disk 4) 0" | dmsetup create "hung$i" || die "dmsetup failed"
	export_disk "hung$i" "/dev/mapper/hung$i"
	devs[i]=$(attach "hung$i" --new-session --queues 1 --pool 4M --pool-floor fixed --inline-write 0 --keepalive 1000) || exit 1
done
same "$(cat /sys/kernel/rnbd-target/limits/pool_near)" 1 "times that the pools came near their limit"
dmesg_has 'pools use 24 of 26 MiB' || die "not logged"
# all_received: succeed if the target has received a write of each disk. A tracepoint shows this;
# the statistics count a request only when it is answered.
mountpoint -q $TRACING || run mount -t tracefs tracefs $TRACING
all_received() { [ "$(grep -c 'rnbdt_request: .* write offset=' $TRACING/trace)" -ge $WAITING ]; }
echo 1 >$TRACING/events/rnbd_target/rnbdt_request/enable
for i in $(seq $WAITING); do
	dmsetup suspend --nolockfs --noflush "hung$i" || die "suspend failed"
	dd if=/dev/zero of="${devs[i]}" bs=4k count=1 oflag=direct status=none &
	writes[i]=$!
done
wait_for 20 all_received
echo 0 >$TRACING/events/rnbd_target/rnbdt_request/enable
killed=$(hits rnbd kill_queue)
all_killed() { [ "$(hits rnbd kill_queue)" = $((killed + WAITING)) ]; }
strike rnbd kill_queue $WAITING
wait_for 20 all_killed
rnbd stat --prometheus >"$OUT/rnbd.prom" || die "stat --prometheus failed"
prometheus_text "$OUT/rnbd.prom"
for op in read write flush discard write-zeroes; do
	labels="export=\"disk0\",op=\"$op\""
	same "$(series "$OUT/rnbd.prom" "rnbd_target_export_request_seconds_count{$labels}")" \
		"$(io exports disk0 $op requests)" "$op for Prometheus"
	same "$(series "$OUT/rnbd.prom" "rnbd_target_export_bytes_total{$labels}")" \
		"$(io exports disk0 $op bytes)" "bytes of $op for Prometheus"
done
same "$(series "$OUT/rnbd.prom" 'rnbd_target_export_errors_total{export="bad",error="io"}')" \
	"$(error exports bad io)" "errors for Prometheus"
same "$(series "$OUT/rnbd.prom" 'rnbd_target_limit_hits_total{limit="pool_near"}')" 1 "the limit for Prometheus"
text=$(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all \
	rnbd stat --prometheus 2>&1 >"$OUT/nobody.prom") || die "stat --prometheus of a user: $text"
grep -q 'only root may read' <<<"$text" || die "not reported: $text"
prometheus_text "$OUT/nobody.prom"
same "$(series "$OUT/nobody.prom" rnbd_target_up) $(grep -c '^rnbd_disk_info' "$OUT/nobody.prom")" "1 $WAITING" \
	"target and disks shown to a user"
same "$(grep -c '^rnbd_target_\(export\|host\)_' "$OUT/nobody.prom")" 0 "metrics of exports for a user"
run mount --bind /proc/$$/mem "$CFG/exports/disk0/io_stat"
if rnbd stat --prometheus --output "$OUT/broken.prom"; then die "an unreadable statistic did not fail"; fi
run umount "$CFG/exports/disk0/io_stat"
same "$(grep -c '^rnbd_disk_info' "$OUT/broken.prom")" "$WAITING" "disks beside a target that cannot be read"
wait_for 60 dmesg_has 'waits for the storage of export'
wait_for 60 dmesg_has "host $HOST: its logins or requests to attach have been put off for"
need_counter "$(cat "$CFG/hosts/$HOST/logins_deferred")" -gt $WAITING "logins deferred"
# All sessions begin to wait within a few seconds. If each session logged that it waits, all these
# lines would be in the log after 8 s.
wait_for 60 sh -c "[ \$(rnbd session list --target --json | jq 'map(select(.state == \"closing\")) | length') = $WAITING ]"
since=$(dmesg | sed -n '0,/waits for the storage/s/^\[ *\([0-9]*\)\..*waits for the storage.*/\1/p')
wait_for 30 sh -c "[ \$(cut -d. -f1 /proc/uptime) -gt $((since + 8)) ]"
# Count only the lines of the first 29 s, because sessions log again after 30 s, and a slow machine
# can reach this command later than that.
lines=$(dmesg | awk -F '[][]' -v end=$((since + 29)) '/waits for the storage/ && $2 < end { n++ } END { print n + 0 }')
dmesg | grep 'waits for the storage\|put off\|suppressed'
[ "$lines" -le 4 ] || die "$lines lines for $WAITING sessions that wait"
dmesg_has "sessions that wait: $WAITING" || die "their number is missing"
for i in $(seq $WAITING); do
	dmsetup resume "hung$i" || die "resume failed"
done
for i in $(seq $WAITING); do
	wait "${writes[i]}" || die "write $i failed"
	detach "${devs[i]}"
done
configfs_clear
for i in $(seq $WAITING); do dmsetup remove "hung$i" || die "dmsetup remove failed"; done
dmsetup remove bad || die "dmsetup remove failed"
unload
