#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 300
# turns: 3
# adapter: only mlx5 irdma bnxt_re ionic
# short: a disk is found by each of its names; show, stat, list and Prometheus text agree; attach and detach are idempotent
# The profile minimal has one gather entry and so no inline data, whose rate this test expects.
. ../lib/lab.sh
. ../lib/rnbd.sh

UUID=5ca1ab1e-0000-4000-8000-000000000001

# fails STATUS TEXT COMMAND...: COMMAND must exit with STATUS and print one line that contains TEXT
fails() {
	local status=$1 want=$2 text ret=0
	shift 2
	text=$("$@" 2>&1) || ret=$?
	echo "  $text"
	same "$ret" "$status" "exit status of $*"
	same "$(echo "$text" | wc -l)" 1 "lines of $*"
	[[ $text == *"$want"* ]] || die "$*: no \"$want\""
}

# metric FILE NAME [LABELS]: print the value of metric NAME of disk $name; LABELS are further labels
# of the metric
metric() {
	local labels=$3
	gawk -v start="$2{disk=\"$name\",export=\"disk0\",name=\"db\"${labels:+,$labels}}" \
		'index($0, start " ") == 1 { print $NF; found++ } END { exit found != 1 }' "$1" ||
		die "no $2 in $1"
}

set_host_id
echo "without the module"
fails 1 'modprobe rnbd' rnbd show rnbd0
fails 1 'modprobe rnbd' rnbd stat
same "$(rnbd stat --prometheus | grep -v ^# | xargs)" "rnbd_up 0 rnbd_target_up 0" "without the modules"
rnbd stat --prometheus >"$OUT/none" || die "stat --prometheus failed without the module"
prometheus_text "$OUT/none"
run rnbd detach db --idempotent

target_start
export_disk disk0 "$(null_disk 64)" 1 2 -- --uuid $UUID
modprobe rnbd
same "$(rnbd stat --prometheus | grep '^rnbd_[a-z_]*up' | xargs)" "rnbd_up 1 rnbd_target_up 1" "without a disk"
same "$(rnbd list --json | jq -c .)" "[]" "no disks"

echo "two concurrent attach --idempotent, of which one attaches, with and without a name"
for named in "--name both" ""; do
	# shellcheck disable=SC2206 # two words or none
	at_once=(rnbd attach "$ADDR" disk0 $named --queues 1 --pool 4M --idempotent)
	"${at_once[@]}" >"$OUT/both1" &
	both=$!
	"${at_once[@]}" >"$OUT/both2" || die "an attach failed"
	wait $both || die "an attach failed"
	same "$(cat "$OUT/both1")" "$(cat "$OUT/both2")" "the disk of both"
	same "$(rnbd list --json | jq length)" 1 "disks"
	run rnbd detach "$(cat "$OUT/both1")"
done

echo "attach --idempotent attaches once"
asked=(disk0 --name db --queues 1 --queue-depth 32 --pool 4M --policy fail --idempotent)
dev=$(attach "${asked[@]}") || exit 1
name=${dev##*/}
same "$(attach "${asked[@]}")" "$dev" "attached again"
same "$(attach disk0 --idempotent)" "$dev" "attached again, without options"
same "$(attach disk0 --idempotent --name db --json | jq -r .disk)" "$name" "attached again, as JSON"
same "$(rnbd list --json | jq length)" 1 "disks"
fails 1 "$name is attached with --name db, not log; --queue-depth 32, not 64" \
	rnbd attach "$ADDR" disk0 --idempotent --name log --queue-depth 64 --queues 1
fails 1 "--policy fail, not queue" rnbd attach "$ADDR" disk0 --idempotent --policy queue
fails 1 "--read-only off, not on" rnbd attach "$ADDR" disk0 --idempotent --read-only
fails 1 db rnbd attach "$ADDR" disk0 --name db
fails 2 "--name $name" rnbd attach "$ADDR" disk0 --name "$name"

echo "a disk is found by each of its names"
mkdir -p /dev/disk/by-id
ln -sf "../../$name" /dev/disk/by-id/rnbd-$UUID
mknod /tmp/node b $((0x$(stat -c %t "$dev"))) $((0x$(stat -c %T "$dev")))
for word in "$dev" "$name" "${name#rnbd}" db $UUID ${UUID^^} /dev/disk/by-id/rnbd-$UUID /tmp/node; do
	same "$(rnbd list "$word" --json | jq -r 'length, .[0].disk, .[0].name' | xargs)" \
		"1 $name db" "list $word"
	same "$(rnbd show "$word" --json | jq -r .disk)" "$name" "show $word"
	same "$(rnbd stat "$word" --json | jq -r .disk)" "$name" "stat $word"
done
fails 1 'log is not attached' rnbd show log
fails 1 'rnbd77 is not attached' rnbd stat /dev/rnbd77 1
fails 1 'No such file' rnbd show /dev/disk/by-id/none
fails 2 'not a block device' rnbd show /dev/null
fails 1 'is not an rnbd disk' rnbd show /dev/nullb0
fails 2 'is not a disk' rnbd show 'a b'
# A partition table with one partition of 2048 sectors at sector 2048
{
	head -c 446 /dev/zero
	printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\10\0\0'
	head -c 48 /dev/zero
	printf '\125\252'
} | dd of="$dev" bs=512 iflag=fullblock conv=fsync status=none
run partx -a "$dev"
wait_for 10 test -b "${dev}p1"
fails 2 "name the whole disk: $dev" rnbd detach "${dev}p1"
fails 2 "name the whole disk: $dev" rnbd detach "${name}p1"
run partx -d "$dev"

echo "two disks with one export: the UUID is ambiguous"
second=$(attach disk0 --queues 1 --pool 4M --host-id "$(host_id 2)") || exit 1
fails 1 "$name, ${second##*/}; name one of them" rnbd detach $UUID
same "$(rnbd list | gawk '{ print $1, $NF }' | xargs)" "DISK NAME $name db ${second##*/} -" "the table"
same "$(rnbd stat --json | jq -r .disk | xargs)" "$name ${second##*/}" "counters of both"
run rnbd detach "$second"
run rnbd detach "$second" --idempotent
fails 1 "is not attached" rnbd detach "$second"

echo "rates while fio runs"
rnbd stat db 2 --json >"$OUT/rates" 2>"$OUT/rates.err" &
rates=$!
rnbd stat --all 1 >"$OUT/table" &
table=$!
fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --rw=randrw --bs=4k --iodepth=8 \
	--time_based --runtime=$((12 * (LAB_SLOW ? 3 : 1))) --output-format=json --output="$OUT/fio" || die "fio failed"
kill -INT $rates
kill -TERM $table
wait $rates || die "rnbd stat ended with $? on SIGINT"
wait $table || die "rnbd stat ended with $? on SIGTERM"
cat "$OUT/table"
[ -z "$(tail -c 1 "$OUT/rates")" ] || die "the last line is not whole"
# Keep only the intervals during all of which fio ran.
jq -s 'map(select(.read_iops > 0)) | .[1:-1]' "$OUT/rates" >"$OUT/steady"
jq -c '.[]' "$OUT/steady"
for way in read write; do
	jq -n --arg way $way --slurpfile fio "$OUT/fio" --slurpfile rates "$OUT/steady" '
		$fio[0].jobs[0][$way] as $truth | $rates[0] | length >= 2 and
		((map(.[$way + "_iops"]) | add / length) / $truth.iops | . > 0.5 and . < 2) and
		((map(.[$way + "_bytes_per_second"]) | add / length) / $truth.bw_bytes |
		 . > 0.5 and . < 2)' -e >/dev/null || die "rates of $way are not those of fio"
done
# A late line makes the next interval shorter, so only the mean interval is bounded.
jq -e '(map(.seconds) | add / length | . > 1.2 and . < 6) and
	all(.seconds > 0 and .frames_per_second > 0 and .entries_per_frame >= 1 and
	.inline_hits_per_second > 0 and .reconnects == 0)' "$OUT/steady" >/dev/null ||
	die "rates are not plausible"
gawk 'NR == 1 { if ($1 != "TIME" || NF != 12) exit 1; next }
      NF != 12 || $2 != "'"$name"'" { exit 1 }
      $3 > 0 { busy++ }
      END { if (busy < 3) exit 1 }' "$OUT/table" || die "not a table of rates"
same "$(rnbd stat --all 1 2 --json | wc -l)" 2 "samples"

echo "without I/O every view has the same values"
wait_for 10 sh -c "[ \$(cat /sys/block/$name/rnbd/pool_used) = 0 ]"
rnbd show db --json >"$OUT/show" || die "show failed"
rnbd stat db --json >"$OUT/stat" || die "stat failed"
mkdir /tmp/collector
echo old >/tmp/collector/rnbd.prom
rnbd stat --prometheus --output /tmp/collector/rnbd.prom || die "stat --prometheus failed"
same "$(ls /tmp/collector)" rnbd.prom "files that are left"
same "$(stat -c %a /tmp/collector/rnbd.prom)" 644 "mode of the file"
cp /tmp/collector/rnbd.prom "$OUT"
prometheus_text "$OUT/rnbd.prom"
rnbd show db >"$OUT/show.txt" || die "show failed"
cat "$OUT/show.txt"
jq -r '.counters | to_entries[] | "\(.key) \(.value)"' "$OUT/show" >"$OUT/counters"
need_counter "$(wc -l <"$OUT/counters")" -gt 30 "counters"
while read -r key value; do
	# Keep-alives continue to change these counters.
	[[ $key != credit_frames_* ]] || continue
	same "$(jq ".$key" "$OUT/stat")" "$value" "$key of stat"
	grep -qx "  $key: $value" "$OUT/show.txt" || die "$key of show is not $value"
done <"$OUT/counters"
for key in requests frames_sent entries_sent inline_reads inline_writes coalesced connections_lost; do
	same "$(jq ".counters.$key" "$OUT/show")" "$(counter "$dev" $key)" "$key in sysfs"
done
for key in requests frames_sent entries_sent; do
	same "$(metric "$OUT/rnbd.prom" rnbd_${key}_total)" "$(counter "$dev" $key)" "$key for Prometheus"
done
same "$(metric "$OUT/rnbd.prom" rnbd_disk_read_bytes_total)" \
	"$(($(gawk '{ print $3 }' "/sys/block/$name/stat") * 512))" "bytes read for Prometheus"
same "$(metric "$OUT/rnbd.prom" rnbd_disk_state 'state="live"')" 1 "state live"
same "$(metric "$OUT/rnbd.prom" rnbd_disk_state 'state="failed"')" 0 "state failed"
same "$(metric "$OUT/rnbd.prom" rnbd_disk_size_bytes)" $((64 << 20)) "size"
metric "$OUT/rnbd.prom" rnbd_disk_info \
	"export_id=\"$UUID\",address=\"$ADDR\",port=\"4427\",transfer=\"zero-copy\",policy=\"fail\",session=\"$(rnbd list db --json | jq '.[0].session')\"" >/dev/null
# The output of rnbd show must contain all values of rnbd list.
rnbd list db --json | jq -e --slurpfile show "$OUT/show" '.[0] | del(.attached_ms, .state_ms) as $list |
	$show[0] | contains($list) and .attached_ms > 0 and .state_ms > 0 and
	(.requested | .queues == 1 and .depth == 32 and .pool_bytes == 4194304)' ||
	die "show and list differ"
grep -qx '  pool_bytes: 4194304' "$OUT/show.txt" || die "no size of the pool"

echo "a disk is detached and attached while rates are printed"
rnbd stat --all 1 --json >"$OUT/coming" 2>"$OUT/coming.err" &
rates=$!
lines() { [ "$(jq -rs "map(select($1)) | length" "$OUT/coming")" -ge 1 ]; }
wait_for 15 lines true
detach "$dev"
run rnbd detach db --idempotent
dev=$(attach disk0 --name other --queues 1 --pool 4M) || exit 1
dd if="$dev" of=/dev/null bs=1M count=8 iflag=direct status=none || die "read failed"
wait_for 15 lines '.name == "other" and .read_bytes_per_second > 0'
jq -se 'all(.seconds > 0 and .read_iops >= 0 and .read_iops < 1000000)' "$OUT/coming" ||
	die "rates of a disk that was attached again"
run rnbd detach other
configfs_clear
unload
wait $rates
same $? 1 "end of rnbd stat without the module"
grep -q 'was unloaded' "$OUT/coming.err" || die "unexpected message: $(cat "$OUT/coming.err")"
