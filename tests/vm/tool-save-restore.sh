#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --disk 64M --timeout 300
# turns: 2
# short: the configuration of the target is saved, cleared and restored byte for byte; the tool names all that it cannot restore
. ../lib/lab.sh
. ../lib/rnbd.sh

FILE=/etc/rnbd/target.json
H1=$(host_id 1) H2=$(host_id 2)
BY_HAND=ABCDEF00-0000-4000-8000-000000000003
UUID=11111111-2222-4333-8444-555555555555

# fails PATTERN COMMAND...: COMMAND must exit with 1 and print PATTERN; all its output is stored in
# $text
fails() { fails_with 1 "$@"; }

# fails_with STATUS PATTERN COMMAND...: like fails, but COMMAND must exit with STATUS
fails_with() {
	local code=$1 want=$2 status
	shift 2
	text=$("$@" 2>&1)
	status=$?
	echo "! $*"
	echo "${text//rnbd:/  rnbd:}"
	[ "$status" = "$code" ] || die "exit status $status: $*"
	grep -q -- "$want" <<<"$text" || die "\"$want\" is not reported: $*"
}

# says PATTERN: $text contains PATTERN
says() { grep -q -- "$1" <<<"$text" || die "\"$1\" is not reported"; }

# unchanged FILE: fail unless the configuration of the target equals FILE
unchanged() { rnbd save - | cmp - "$1" || die "the target differs from $1"; }

set_host_id
target_start
disk=$(null_disk 64) || exit 1
mkfs.ext4 -q -F /dev/lab/disk0 || die "mkfs failed"
mkdir -p /mnt/b /mnt/t
mount /dev/lab/disk0 /mnt/b
truncate -s 8M /mnt/b/f /mnt/b/late "/mnt/b/g \"h"

echo "exports, hosts and ports"
run rnbd export add blk --path "$disk" --host "$H1" --host "$H2" --port "$ADDR"
run rnbd export add file --path /mnt/b/f --read-only --write-cache back --host "$H1" --port "$ADDR:4428"
run rnbd export add cached --path "/mnt/b/g \"h" --cache pagecache --uuid $UUID --host "$H1" --port "$ADDR"
run rnbd export disable cached
run rnbd host limit "${H2^^}" 1M --session-pool 512K --sessions 3
run rnbd host weight "$H2" 300
same "$(rnbd host weight "$H2")" 300 "the weight of a host"
run rnbd host cgroup "$H2" rnbd.slice//rnbd-b.slice/
same "$(rnbd host cgroup "$H2" 2>"$OUT/cgroup")" /rnbd.slice/rnbd-b.slice "the cgroup of a host"
grep -q 'is missing or has no io controller: limits of / apply' "$OUT/cgroup" ||
	die "not reported that the cgroup does not exist"
run rnbd export window blk 64
same "$(cat "$CFG/exports/blk/window")" 64 "the window of an export"
same "$(rnbd port add "$ADDR:4429")" 3 "the ID of the new port"
# Make objects by hand: links with other names, a host id in capitals, an export without a path.
mkdir "$CFG/hosts/$BY_HAND" "$CFG/ports/spare" "$CFG/exports/later"
ln -s "$CFG/hosts/$BY_HAND" "$CFG/exports/blk/allowed_hosts/by-hand"
ln -s "$CFG/exports/file" "$CFG/ports/3/exports/by-hand"

echo "save"
run rnbd save
same "$(stat -c %a:%u:%g $FILE)" 600:0:0 "mode and owner of the file"
same "$(find /etc/rnbd -type f | wc -l)" 2 "files in /etc/rnbd: hostid, target.json"
unchanged $FILE
cp $FILE "$OUT/target.json"
run rnbd restore --check
same "$(grep -c '"uuid"' $FILE)" 7 "UUIDs of three hosts and four exports"
grep -q "\"${BY_HAND,,}\"" $FILE || die "the host with capitals is missing"

echo "restore of the current configuration changes nothing"
run rnbd restore
run rnbd restore --compare
unchanged $FILE

echo "show and list"
text=$(rnbd export show blk) || die "export show failed"
says "^path: $disk$"
says "^hosts: .*$H1 $H2"
says "^ports: $ADDR:4427$"
same "$(rnbd export show blk --json | grep -c '": ')" "$(wc -l <<<"$text")" "keys of JSON and of text"
fails 'no export "nosuch"' rnbd export show nosuch
text=$(rnbd host list) || die "host list failed"
says "^$H2  *no  *1M  *512K  *3  *300  *0  *blk$"
says "^$BY_HAND  *no  *-  *-  *-  *100  *0  *blk$"
text=$(rnbd port list) || die "port list failed"
says "^1  *$ADDR  *4427  *listening  *0  *blk,cached$"
says "^3  *$ADDR  *4429  *listening  *0  *file$"
says "^spare  *-  *4427  *disabled  *0  *-$"
rnbd port list --json | grep -q '"state": "listening"' || die "port list --json"
for limit in max_pool_bytes:1048576 max_session_pool_bytes:524288 max_sessions:3 weight:300; do
	rnbd host list --json | grep -q "\"${limit%:*}\": ${limit#*:}," || die "$limit is not in host list --json"
done

echo "adding the same again"
add=(rnbd export add blk --path "$disk" --host "$H2" --port "$ADDR")
run "${add[@]}" --idempotent
fails 'export show blk' "${add[@]}"
fails "host $(host_id 9) is not allowed" "${add[@]}" --idempotent --read-only --host "$(host_id 9)" \
	--port "$ADDR:4428" --uuid $UUID
says 'readonly is "0", not "1"'
says "not offered at $ADDR:4428"
says "uuid is .* not \"$UUID\""
fails 'no export' rnbd export remove nosuch
run rnbd export remove nosuch --idempotent
fails 'listens there already' rnbd port add "$ADDR"
fails 'offers exports (file)' rnbd port remove 3
fails 'no such port' rnbd port remove 10.9.0.9
unchanged $FILE

echo "ports that are disabled"
same "$(rnbd port add "$ADDR:4430")" 4 "the ID of the new port"
echo 0 >"$CFG/ports/4/enable"
run rnbd export add late --path /mnt/b/late --host "$H1" --port "$ADDR:4430"
same "$(cat "$CFG/ports/4/state")" listening "the port that was disabled"
run rnbd port remove 4 --force
add=(rnbd export add late --path /mnt/b/late --host "$H1" --idempotent)
run "${add[@]}"
same "$(find "$CFG"/ports/*/exports -name late | wc -l)" 4 "ports that offer it now"
run "${add[@]}" --port "$ADDR"
for id in 1 2 3; do echo 0 >"$CFG/ports/$id/enable"; done
fails 'all ports are disabled; run: rnbd port add' "${add[@]}"
run rnbd export remove late
fails 'all ports are disabled; run: rnbd port add' "${add[@]}"
[ ! -e "$CFG/exports/late" ] || die "a partial export is left"
# A command that fails after it has enabled a port must disable the port again.
fails 'cannot set 1' "${add[@]}" --port "$ADDR" --port 10.9.0.77
same "$(cat "$CFG/ports/1/state")" disabled "the port that a failed command had enabled"
run rnbd restore
unchanged $FILE

echo "limits, and hosts that are no longer used"
run rnbd host limit "$H2" none
same "$(cat "$CFG/hosts/$H2/max_pool_bytes")" 0 "max_pool_bytes without a limit"
fails "host $H2 differs: max_pool_bytes is \"0\", not \"1048576\"" rnbd restore
limits() { cat "$CFG/hosts/$H2"/max_{pool_bytes,session_pool_bytes,sessions} | xargs; }
same "$(limits)" "0 524288 3" "limits, one removed"
run rnbd restore --compare
run rnbd host limit "$H2" --sessions none
same "$(limits)" "0 524288 0" "limits, two removed"
fails "host $H2 differs: max_sessions is \"0\", not \"3\"" rnbd restore
run rnbd host limit "$H2" --session-pool none --sessions 4294967295
same "$(limits)" "0 0 4294967295" "limits"
fails_with 2 "sessions 0: wanted" rnbd host limit "$H2" 1M --sessions 0
same "$(limits)" "0 0 4294967295" "limits after one that was refused"
run rnbd host limit "$H2" 1024k --session-pool 512k --sessions 3
(echo 9223372036854775808 >"$CFG/hosts/$H2/max_pool_bytes") 2>/dev/null && die "a limit above the maximum was accepted"
dmesg_has "host $H2: max_pool_bytes is a number up to 9223372036854775807" || die "no reason in the log"
run rnbd host allow file "$(host_id 9)"
fails '(file); first run for each: rnbd host deny EXPORT' rnbd host remove "$(host_id 9)"
run rnbd host deny file "$(host_id 9)"
[ -e "$CFG/hosts/$(host_id 9)" ] || die "the host was removed too early"
run rnbd host remove "$(host_id 9)"
[ ! -e "$CFG/hosts/$(host_id 9)" ] || die "the host is still there"
unchanged $FILE

echo "hosts and ports are added and removed"
run rnbd host allow file "$H2"
fails "$H2" rnbd restore
says "export file differs: it allows host $H2"
run rnbd host deny file "${H2^^}"
fails "host $H2 is not allowed" rnbd host deny file "$H2"
run rnbd host deny blk "${BY_HAND,,}"
run rnbd port remove "$ADDR:4429" --force
fails "export blk: it does not allow host ${BY_HAND,,}" rnbd restore --compare
says 'port 3 is missing'
run rnbd restore
run rnbd restore --compare
unchanged $FILE

echo "an attached disk"
modprobe rnbd
dev=$(attach blk --loss-timeout 0) || exit 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=4 --size=256k
fails "host $H1 at $ADDR uses export blk" rnbd clear
fails "host $H1 at $ADDR uses export blk" rnbd restore --clear
says 'rnbd clear --force'
text=$(rnbd session list --target)
says "^[0-9]*  *$H1  *$ADDR  *blk  *live "
unchanged $FILE
run rnbd clear --force
configfs_is_empty || die "something is left"
unload_target() { rmmod rnbd-target 2>/dev/null; }
wait_for 20 unload_target
target_start
run rnbd restore
unchanged $FILE
state() { cat "/sys/block/${dev##*/}/rnbd/state"; }
is_live() { [ "$(state)" = live ]; }
wait_for 60 is_live
fio --name=again --filename="$dev" --direct=1 --ioengine=libaio --verify=crc32c-intel \
	--verify_fatal=1 --verify_only --rw=randwrite --bs=4k --size=256k --minimal >/dev/null ||
	die "the disk has wrong data"
detach "$dev"

echo "clear, restore"
run rnbd clear
configfs_is_empty || die "something is left"
run rnbd save "$OUT/empty.json"
run rnbd restore $FILE
unchanged $FILE
dev=$(attach blk) || exit 1
verify "$dev" --rw=randwrite --bs=4k --iodepth=4 --size=256k
detach "$dev"

echo "a restore that fails in part"
sed "s#/mnt/b/f\"#/mnt/b/other\"#; s#$ADDR\"#10.9.0.77\"#" $FILE >/tmp/part.json
sed -i "0,/10.9.0.77/s//$ADDR/" /tmp/part.json
run rnbd clear
fails 'exports/file/enable: cannot set 1: No such file' rnbd restore /tmp/part.json
says 'ports/2/enable: cannot set 1'
same "$(cat "$CFG/exports/blk/enable") $(cat "$CFG/exports/file/enable")" "1 0" "exports that are enabled"
fails 'export file: path is "/mnt/b/other", not "/mnt/b/f"' rnbd restore --compare
fails 'export file is not enabled' rnbd restore --compare /tmp/part.json
rnbd port list | grep -q "^1  *$ADDR .*blk,cached" || die "port 1 is missing"
truncate -s 8M /mnt/b/other
sed -i "s#10.9.0.77#$ADDR#" /tmp/part.json
fails 'port 2 differs: addr is "10.9.0.77", not' rnbd restore /tmp/part.json
same "$(cat "$CFG/exports/file/enable")" 1 "the export whose file is there now"
fails 'export file differs: path is "/mnt/b/other", not "/mnt/b/f"; not changed' rnbd restore
same "$(cat "$CFG/exports/file/path")" /mnt/b/other "its path"
run rnbd restore --clear
unchanged $FILE

echo "restore --clear clears nothing if a path or an address is missing"
sed "s#/mnt/b/f\"#/mnt/b/none\"#" $FILE >/tmp/part.json
fails 'nothing is cleared' rnbd restore --clear /tmp/part.json
says 'export file: /mnt/b/none: No such file or directory (on this machine, now)'
sed "s#$ADDR\"#10.9.0.77\"#" $FILE >/tmp/part.json
fails 'nothing is cleared' rnbd restore --clear /tmp/part.json
says 'port 1: 10.9.0.77: Cannot assign requested address'
unchanged $FILE

echo "a path that appears late"
rnbd clear || die "clear failed"
run mv /mnt/b/f /mnt/b/f.late
rnbd restore --wait 240 2>/tmp/waiting &
restore=$!
waits() { grep -q 'waiting 240 s for /mnt/b/f (export file)' /tmp/waiting; }
wait_for 60 waits
port_has_blk() { rnbd port list | grep -q "^1  *$ADDR  *4427  *listening .*blk"; }
wait_for 60 port_has_blk
same "$(cat "$CFG/exports/blk/enable") $(cat "$CFG/exports/file/enable")" "1 0" "exports that are enabled until then"
same "$(grep -c waiting /tmp/waiting)" 1 "paths that restore waits for"
# A save while the restore waits must keep the export enabled in the file, although its path is
# missing.
cp $FILE /tmp/meanwhile.json
run rnbd save /tmp/meanwhile.json
cmp $FILE /tmp/meanwhile.json || die "the file is not as before"
run mv /mnt/b/f.late /mnt/b/f
wait $restore || die "restore --wait failed: $(cat /tmp/waiting)"
unchanged $FILE
start=$SECONDS
run rnbd restore --wait 240
need_counter $((SECONDS - start)) -lt 200 "seconds of a restore with nothing to wait for"

echo "a path that never appears, and a save afterwards"
rnbd clear || die "clear failed"
run mv /mnt/b/f /mnt/b/f.late
start=$SECONDS
fails 'exports/file/enable: cannot set 1: No such file' rnbd restore --wait 3
says 'waiting 3 s for /mnt/b/f (export file)'
need_counter $((SECONDS - start)) -ge 3 "seconds"
need_counter $((SECONDS - start)) -lt 120 "seconds"
same "$(cat "$CFG/exports/blk/enable") $(cat "$CFG/exports/file/enable")" "1 0" "enabled"
text=$(rnbd save 2>&1) || die "save failed: $text"
says 'export file is disabled because /mnt/b/f is missing; the file keeps it enabled'
cmp $FILE "$OUT/target.json" || die "the export is not enabled in the file"
rnbd save - | cmp -s - $FILE && die "the export is enabled without its file"
# A save must write the export as disabled if there is no older file, if the older file is not a
# configuration, or if the path exists: in the last case an administrator has disabled the export.
run rnbd save /tmp/fresh.json
rnbd save - | cmp - /tmp/fresh.json || die "a new file differs from the target"
echo old >/tmp/fresh.json
text=$(rnbd save /tmp/fresh.json 2>&1) || die "save failed: $text"
says 'not a configuration'
run mv /mnt/b/f.late /mnt/b/f
cp $FILE /tmp/meanwhile.json
run rnbd save /tmp/meanwhile.json
rnbd save - | cmp - /tmp/meanwhile.json || die "a disabled export stays enabled in the file"
run rnbd restore
unchanged $FILE

echo "files that are refused as a whole"
bad() {
	fails_with 2 "$1" rnbd restore --check /tmp/bad.json
	fails_with 2 "$1" rnbd restore --clear /tmp/bad.json
}
sed 's/"version": 1/"version": 7/' $FILE >/tmp/bad.json; bad '"version" is 7'
sed 's/"path"/"pfad"/' $FILE >/tmp/bad.json; bad 'export blk: "path" is missing'
head -c 300 $FILE >/tmp/bad.json; bad 'line 1[0-9]: '
head -c 100000 /dev/urandom >/tmp/bad.json; bad ': '
truncate -s 33M /tmp/bad.json; bad 'larger than'
fails 'No such file' rnbd restore --check /tmp/nosuch.json
fails 'No such file' rnbd restore --compare /tmp/nosuch.json
unchanged $FILE

echo "a file that cannot be written is not changed"
mount -t tmpfs -o size=4k tmpfs /mnt/t || die "no tmpfs"
echo old >/mnt/t/c.json
fails 'No space left' rnbd save /mnt/t/c.json
same "$(cat /mnt/t/c.json) $(ls -A /mnt/t)" "old c.json" "files on the full disk"
mount -o remount,ro /mnt/t
fails 'Read-only' rnbd save /mnt/t/c.json
umount /mnt/t
fails 'No such file' rnbd save /mnt/t/no/c.json
fails 'not a regular file' rnbd save /dev/null
[ -c /dev/null ] || die "/dev/null was replaced"
ln -s c.json /mnt/t/link.json
echo old >/mnt/t/c.json
run rnbd save /mnt/t/link.json
[ -L /mnt/t/link.json ] || die "the link was replaced"
unchanged /mnt/t/c.json

run rm /mnt/t/c.json
fails 'dangling symbolic link' rnbd save /mnt/t/link.json
same "$(ls -A /mnt/t) $(readlink /mnt/t/link.json)" "link.json c.json" "files and link target"

echo "a file keeps its owner, and no other user can read it"
for mode in 600 400 640 666; do
	echo old >/mnt/t/owned.json
	chown 65534:7 /mnt/t/owned.json
	chmod $mode /mnt/t/owned.json
	run rnbd save /mnt/t/owned.json
	want=600
	[ $mode != 400 ] || want=400
	same "$(stat -c %a:%u:%g /mnt/t/owned.json)" $want:65534:7 "mode and owner of a file with mode $mode"
done

echo "restore --check needs neither root nor the module"
run rnbd clear
unload
run setpriv --reuid 65534 --clear-groups rnbd restore --check - <$FILE
fails 'modprobe rnbd-target' rnbd restore
fails 'modprobe rnbd-target' rnbd restore --compare
fails 'modprobe rnbd-target' rnbd save
fails 'modprobe rnbd-target' rnbd clear
fails 'modprobe rnbd-target' rnbd host list
fails 'modprobe rnbd-target' rnbd port add "$ADDR"
cmp $FILE "$OUT/target.json" || die "the file changed"
umount /mnt/b || die "the backing file system is still held"
