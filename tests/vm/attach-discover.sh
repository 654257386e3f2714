#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 1 --mem 1024 --timeout 300
# turns: 2
# short: discovery lists exactly the exports that a host may attach at a port, also while exports and ports change
. ../lib/lab.sh
. ../lib/rnbd.sh

MANY=120
STORY="connecting>login login>listing listing>closing closing>dead"

sessions_gone() { [ -z "$(ls /sys/kernel/rnbd-target/sessions)" ]; }
held() { [ "$(hits rnbd-target delay_login)" = "$1" ]; }
listing() { rnbd session list --target --json | jq -e 'length == 1 and .[0].state == "listing"'; }

# story: print "old>new" for each change of a session state that rnbd monitor has reported
story() { sed -nE 's/^[^ ]+ session .* ([a-z]+) -> ([a-z]+)(: .*)?$/\1>\2/p' "$OUT/monitor" | xargs; }
story_is() { [ "$(story)" = "$1" ]; }

# make_many NAME...: export small files to host 4 only, through configfs because the tool is slower
make_many() {
	local name

	mkdir -p "$CFG/hosts/$(host_id 4)"
	for name; do names+=("$CFG/exports/$name"); done
	mkdir "${names[@]}" || die "mkdir"
	for name in "${names[@]}"; do
		echo "/dev/shm/many/${name##*/}" >"$name/path"
		echo 1 >"$name/enable" || die "enable $name"
		ln -s "$CFG/hosts/$(host_id 4)" "$name/allowed_hosts/4" || die "allow $name"
	done
	ln -s "${names[@]}" "$CFG/ports/1/exports/" || die "links"
}

set_host_id
if [ "$NODE" = 1 ]; then
	target_start
	export_disk plain "$(null_disk 64)" 2
	export_disk both "$(null_disk 16 blocksize=4096)" 2 3
	export_disk fixed "$(null_disk 32)" 2 -- --read-only
	export_disk foreign "$(null_disk 16)" 3
	export_disk off "$(null_disk 16)" 2
	rnbd export disable off || die "disable"
	rnbd export add elsewhere --path "$(null_disk 16)" --host "$(host_id 2)" --port "$ADDR:4428" ||
		die "export elsewhere"
	mkdir /dev/shm/many || die "mkdir"
	mapfile -t many < <(seq -f 'm%03g' $MANY)
	truncate -s 1M "${many[@]/#//dev/shm/many/}"
	make_many "${many[@]}"
	tell uuids "$(cat "$CFG"/exports/{both,fixed,plain}/uuid | xargs)"
	rnbd monitor >"$OUT/monitor" 2>"$OUT/monitor.err" &
	monitor=$!
	wait_for 10 grep -q 'listening to rnbd-target$' "$OUT/monitor.err"
	barrier exported 120

	barrier first
	wait_for 10 story_is "$STORY"
	kill $monitor
	barrier seen
	barrier listed 120

	strike rnbd-target delay_login 1 1000000
	barrier armed
	wait_for 20 held 1
	barrier held
	barrier killed
	strike rnbd-target delay_login 0
	wait_for 20 sessions_gone

	# A paused client returns no credits, so the target cannot complete the list for host 4.
	strike rnbd-target delay_login 1 1000000
	barrier armed
	wait_for 20 held 2
	lab pause 2
	strike rnbd-target delay_login 0
	wait_for 10 listing
	name=${many[-1]}
	rm "$CFG/ports/1/exports/$name" "$CFG/exports/$name/allowed_hosts/4"
	rmdir "$CFG/exports/$name" || die "remove $name"
	listing || die "the session is gone"
	echo 0 >"$CFG/ports/1/enable" || die "disable the port"
	sessions_gone || wait_for 5 sessions_gone
	echo 1 >"$CFG/ports/1/enable" || die "enable the port"
	lab resume 2
	barrier resumed

	barrier begin
	for ((i = 0; i < 12; i++)); do
		name=${many[i]}
		rm "$CFG/ports/1/exports/$name" || die "unlink $name"
		echo 0 >"$CFG/exports/$name/enable" || die "disable $name"
		[ $((i % 3)) != 2 ] || {
			echo 0 >"$CFG/ports/1/enable" || die "disable the port"
			echo 1 >"$CFG/ports/1/enable" || die "enable the port"
		}
		rm "$CFG/exports/$name/allowed_hosts/4"
		rmdir "$CFG/exports/$name" || die "remove $name"
	done
	: >"$SHARED/churned"
	barrier churned 120
	barrier end
	wait_for 20 sessions_gone
	same "$(rnbd session list --target --json | jq length)" 0 "sessions that are left"
	rm "$CFG"/ports/1/exports/m* "$CFG"/exports/m*/allowed_hosts/*
	rmdir "$CFG"/exports/m*
	configfs_clear
	[ -z "$(ls "$CFG/exports")" ] || die "exports are left over"
	unload
	exit 0
fi

# names HOST-NODE OPTION...: print on one line the names of the exports that rnbd discover lists for
# the host id of HOST-NODE
names() { rnbd discover "$ADDR" --host-id "$(host_id "$1")" --json "${@:2}" | jq -r '.[].name' | xargs; }

# fails STATUS PATTERN ARGUMENT...: rnbd discover must exit with STATUS and print one line that
# matches PATTERN
fails() {
	local status=0 text

	text=$(rnbd discover "${@:3}" 2>&1 >/dev/null) || status=$?
	echo "  $text"
	same $status "$1" "exit status of discover ${*:3}"
	same "$(wc -l <<<"$text")" 1 "lines of: $text"
	echo "$text" | grep -q "$2" || die "unexpected message: $text"
}

fails 1 'loaded; run: modprobe rnbd' "$ADDR"
modprobe rnbd
before=$(rdma_own)
barrier exported 120

rnbd discover "$ADDR" --json >"$OUT/first" || die "discover failed"
cat "$OUT/first"
barrier first
read -r both fixed plain <<<"$(told uuids)"
same "$(jq -c . "$OUT/first")" "$(jq -nc --arg both "$both" --arg fixed "$fixed" --arg plain "$plain" '
	def row($name; $uuid; $size; $block; $ro):
		{name: $name, uuid: $uuid, size: ($size * 1048576), block_size: $block, readonly: $ro};
	[row("both"; $both; 16; 4096; false), row("fixed"; $fixed; 32; 512; true),
	 row("plain"; $plain; 64; 512; false)]')" "exports that host 2 may attach"
barrier seen

same "$(rnbd discover "$ADDR" | sed 's/ \+/ /g')" "EXPORT SIZE BLOCK MODE UUID
both 16M 4096 rw $both
fixed 32M 512 ro $fixed
plain 64M 512 rw $plain" "table"
same "$(names 3)" "both foreign" "exports that host 3 may attach"
same "$(names 2 --port 4428)" elsewhere "exports of the other port"
note "a host without exports, and an unknown host"
for host in 3 9; do
	rnbd discover "$ADDR:4428" --host-id "$(host_id $host)" --json >"$OUT/list" 2>"$OUT/hint" ||
		die "host $host: $(cat "$OUT/hint")"
	same "$(jq -c . "$OUT/list")" '[]' "list of host $host"
	grep -q "host $(host_id $host) is allowed no export there" "$OUT/hint" || die "no hint: $(cat "$OUT/hint")"
done

count_calls rnbdc_handle_export rnbdc_handle_control
same "$(names 4)" "$(seq -f 'm%03g' $MANY | xargs)" "a long list"
need_counter "$(calls rnbdc_handle_export)" -ge $MANY "entries of the long list"
need_counter "$(calls rnbdc_handle_control)" -ge $((MANY / 18)) "frames with control entries"
echo 0 >/sys/kernel/tracing/events/rnbdproof/enable

fails 1 'no rnbd target listens' "$ADDR:4999"
fails 1 'answer\|reach\|resolve\|route' 10.9.0.77
text=$(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all \
	rnbd discover "$ADDR" --host-id "$(host_id 2)" 2>&1) && die "an unprivileged user may discover: $text"
echo "$text" | grep -qi 'not permitted' || die "unexpected message: $text"
fails 2 'UUID' "$ADDR" --host-id 7
fails 2 'operand is missing'
wait_for 10 rdma_own_is "$before"
barrier listed 120

note "a fatal signal ends the discovery"
barrier armed
rnbd discover "$ADDR" >/dev/null &
asker=$!
barrier held
kill -KILL $asker
wait $asker && die "the discovery ended without a signal"
wait_for 10 rdma_own_is "$before"
barrier killed

note "an export is removed, then the port disabled, while the list is sent"
barrier armed
fails 1 'clos\|retry' "$ADDR" --host-id "$(host_id 4)"
barrier resumed
wait_for 10 rdma_own_is "$before"

note "exports are removed and the port is disabled and enabled concurrently"
barrier begin
done=0 refused=0
while :; do
	last=
	[ ! -e "$SHARED/churned" ] || last=1
	if timeout 60 rnbd discover "$ADDR" --host-id "$(host_id 4)" --json >"$OUT/list" 2>"$OUT/error"; then
		done=$((done + 1))
		same "$(jq -r '.[].name' "$OUT/list" | uniq -d)" '' "exports that are listed twice"
	else
		status=$?
		same $status 1 "exit status during the changes: $(cat "$OUT/error")"
		same "$(wc -l <"$OUT/error")" 1 "lines of: $(cat "$OUT/error")"
		sort "$OUT/error" >>"$OUT/errors"
		refused=$((refused + 1))
	fi
	[ -z "$last" ] || break
done
note "$done lists, $refused refused"
[ ! -e "$OUT/errors" ] || sort "$OUT/errors" | uniq -c
[ $done -gt 1 ] || die "too few lists succeeded"
same "$(names 4)" "$(seq -f 'm%03g' 13 $((MANY - 1)) | xargs)" "exports that are left"
barrier churned 120
wait_for 10 rdma_own_is "$before"
unload
barrier end
