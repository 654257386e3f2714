#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 300
# turns: 2
# adapter: only
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: a host that is recreated still has its secret; a secret is rotated under load; no secret is left in memory or in the log
. ../lib/lab.sh
. ../lib/rnbd.sh

HOST=$(host_id 1)
DIR=$CFG/hosts/$HOST
STORED=/etc/rnbd/secrets/$HOST
OLD=$OUT/old NEW=$OUT/new OTHER=$OUT/other
FOUND=$OUT/found

# fails TEXT COMMAND...: COMMAND must fail, and its message, which is stored in $text, must contain
# TEXT
fails() {
	local want=$1
	shift
	if text=$("$@" 2>&1); then die "not refused: $*: $text"; fi
	echo "! $*"
	echo "  $text"
	grep -qF -- "$want" <<<"$text" || die "\"$want\" is not reported: $*"
}

# watched STATUS FILE COMMAND...: run the command, which must exit with STATUS, with wiped.so. That
# library writes a line to $FOUND for each memory block that the command frees, and each message
# that it receives from a socket, with the secret of FILE in it, and at the end the line "watched".
# wiped STATUS FILE COMMAND...: do the same, and fail unless "watched" is the only line
watched() {
	local want=$1 file=$2 status
	shift 2
	rm -f "$FOUND"
	WIPED_HEX=$(cut -d: -f3 "$file") WIPED_TO=$FOUND LD_PRELOAD=/usr/local/bin/wiped.so "$@"
	status=$?
	echo "+ $*: $status, $(paste -sd ' ' "$FOUND")"
	same "$status" "$want" "exit status of $*"
}
wiped() {
	watched "$@"
	same "$(<"$FOUND")" watched "secrets in the memory of $3 $4"
}

# same_copies SECRET OLD-SECRET: the stored copies of the secret and of the old secret must equal
# these files
same_copies() {
	cmp "$1" "$STORED" || die "the copy has another secret"
	cmp "$2" "$STORED.old" || die "the copy of the old secret has another secret"
}

attr() { cat "$DIR/$1"; }
attr_is() { [ "$(attr "$1")" = "$2" ]; }
state_is() { [ "$(counter "$1" state)" = "$2" ]; }
last_error() { counter "$1" last_error | grep -qF -- "$2"; }
authenticated() { rnbd show "$1" --json | sed -n 's/.*"authenticated": *\([a-z]*\).*/\1/p'; }
# lose DEV: end a connection of the disk. The fault point kill_queue can hit the session of the
# other disk first, so arm it repeatedly until the disk has lost a connection.
lose() {
	local n
	n=$(counter "$1" connections_lost)
	until counter_over "$1" connections_lost "$n"; do
		strike rnbd kill_queue 1
		wait_quietly 1 counter_over "$1" connections_lost "$n"
	done
	strike rnbd kill_queue 0
}
reconnect() {
	local n
	n=$(counter "$1" reconnects)
	lose "$1"
	wait_for 20 counter_over "$1" reconnects "$n"
	wait_for 20 state_is "$1" live
}

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
for file in "$OLD" "$NEW" "$OTHER"; do run rnbd secret generate "$file"; done
disk=$(null_disk 64) || exit 1
run rnbd host secret "$HOST" --secret-file "$OLD"
export_disk disk0 "$disk"

note "a host that is created again has its secret"
run rnbd export remove disk0 --prune
[ ! -e "$DIR" ] || die "the host is still there"
cmp "$OLD" "$STORED" || die "the secret is no longer stored"
text=$(rnbd export add disk0 --path "$disk" --host "$HOST" --port "$ADDR" 2>&1) || die "export add: $text"
same "$(attr has_secret)" 1 "has_secret after export add"
grep -qF "host $HOST: secret read from ${STORED%/*}" <<<"$text" || die "unexpected message: $text"
fails "asks for the secret" rnbd attach "$ADDR" disk0
run rnbd host deny disk0 "$HOST"
rmdir "$DIR" || die "rmdir of the host"
run rnbd host allow disk0 "$HOST"
same "$(attr has_secret)" 1 "has_secret after host allow"
run rnbd host deny disk0 "$HOST"
rmdir "$DIR" || die "rmdir of the host"
mkdir "$DIR" || die "mkdir of the host"
same "$(attr has_secret)" 0 "has_secret of a host created in configfs"
run rnbd host allow disk0 "$HOST"
same "$(attr has_secret)" 1 "has_secret after host allow of a host created in configfs"

note "a host whose secret cannot be read is not created"
run rnbd export remove disk0 --prune
: >"$STORED"
fails "is allowed no export without its secret" rnbd export add disk0 --path "$disk" --host "$HOST" --port "$ADDR"
[ ! -e "$DIR" ] || die "the host exists without its secret"
cp "$OLD" "$STORED"

note "a fenced host is not pruned"
export_disk disk0 "$disk"
run rnbd fence "$HOST"
text=$(rnbd export remove disk0 --prune 2>&1) || die "export remove: $text"
grep -qF "host $HOST is kept, it is fenced" <<<"$text" || die "unexpected message: $text"
same "$(rnbd fenced "$HOST")" fenced "the host after export remove --prune"
run rnbd unfence "$HOST"
export_disk disk0 "$disk"

note "a rotation ends no session, and either secret is accepted"
export_disk disk1 "$(null_disk 16)"
keepalive=$((500 * ${LAB_SLOW:-1}))
a=$(attach disk0 --queues 2 --keepalive $keepalive --secret-file "$OLD") || exit 1
# With --new-session each disk has its own session, and the client has a secret for each session.
b=$(attach disk1 --new-session --queues 2 --keepalive 60000 --secret-file "$OLD") || exit 1
fio --name=load --filename="$a" --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw --bs=4k --size=32m \
	--verify=crc32c --time_based --runtime=300 --minimal >"$OUT/fio" 2>&1 &
load=$!
wait_for 20 counter_over "$a" requests 100
fails "there is no such host" rnbd host secret "$(host_id 2)" --secret-file "$NEW" --rotate
mkdir "$CFG/hosts/$(host_id 2)"
fails "the host has no secret to rotate" rnbd host secret "$(host_id 2)" --secret-file "$NEW" --rotate
run rnbd host remove "$(host_id 2)"
run rnbd host secret "$HOST" --secret-file "$NEW" --rotate
same "$(attr has_old_secret) $(attr old_secret_sessions)" "1 2" "old secret and its sessions"
same_copies "$NEW" "$OLD"
rnbd host list | grep -q "^$HOST *two " || die "host list does not show two secrets"
for dev in "$a" "$b"; do
	state_is "$dev" live || die "$dev: $(counter "$dev" state)"
	need "$dev" reconnects -eq 0
done
for file in "$OLD" "$NEW"; do
	run rnbd discover "$ADDR" --secret-file "$file"
	same "$(attr authentication_failures)" 0 "authentication failures"
done
fails "wrong secret for this host" rnbd discover "$ADDR" --secret-file "$OTHER"
same "$(attr authentication_failures)" 1 "authentication failures"
fails "the old secret is still valid" rnbd host secret "$HOST" --secret-file "$OTHER" --rotate
run rnbd host secret "$HOST" --secret-file "$NEW" --rotate
same "$(attr old_secret_sessions)" 2 "sessions of the old secret"

note "under load: the old secret at a reconnect, then the new one"
# kill_queue can also end a connection of the other disk's session. That session is then missing in
# old_secret_sessions until it has reconnected.
reconnect "$a"
wait_for 20 attr_is old_secret_sessions 2
run rnbd secret set "$a" --secret-file - <"$NEW"
state_is "$a" live || die "$a: $(counter "$a" state)"
same "$(attr old_secret_sessions)" 2 "sessions of the old secret after rnbd secret set"
reconnect "$a"
wait_for 20 attr_is old_secret_sessions 1
same "$(authenticated "$a")" true authenticated

note "both survive a restart of the target"
run rnbd save "$OUT/target.json"
run rnbd clear --force
run rnbd restore "$OUT/target.json"
same "$(attr has_secret) $(attr has_old_secret)" "1 1" "secrets after restore"
for dev in "$a" "$b"; do wait_for 30 state_is "$dev" live; done
wait_for 10 attr_is old_secret_sessions 1

note "the old secret is withdrawn: a disk with the new one reconnects"
run rnbd secret set --all --secret-file "$NEW"
n=$(counter "$a" reconnects)
m=$(counter "$b" reconnects)
run rnbd host secret "$HOST" --withdraw
same "$(attr has_secret) $(attr has_old_secret) $(attr old_secret_sessions)" "1 0 0" "secrets"
[ ! -e "$STORED.old" ] || die "the copy of the old secret is still there"
run rnbd restore "$OUT/target.json"
same "$(attr has_old_secret)" 0 "has_old_secret after restore"
wait_for 20 counter_over "$b" reconnects "$m"
wait_for 20 state_is "$b" live
works "$b"
need "$a" reconnects -eq "$n"
failures=$(attr authentication_failures)
fails "wrong secret for this host" rnbd discover "$ADDR" --secret-file "$OLD"
fails "wrong secret for this host" rnbd attach "$ADDR" disk0 --new-session --secret-file "$OLD"
same "$(attr authentication_failures)" $((failures + 2)) "authentication failures"
kill -INT $load
wait $load
cut -d ';' -f 5 "$OUT/fio" | grep -qx 0 || die "fio reported an error: $(<"$OUT/fio")"

note "a wrong secret is noticed at the next login, and replaced"
run rnbd secret set "$a" --secret-file "$OTHER"
works "$a"
lose "$a"
wait_for 20 last_error "$a" "wrong secret for this host"
run rnbd secret set "$a" --secret-file "$NEW"
wait_for 30 state_is "$a" live
works "$a"

note "an interrupted rotation is completed"
run cp -p "$STORED" "$STORED.old"
echo current >"$DIR/old_secret" || die "old_secret"
run rnbd host secret "$HOST" --secret-file "$OTHER" --rotate
same_copies "$OTHER" "$NEW"
# The last kill_queue has possibly hit the session of the other disk: wait until both sessions are
# live again.
wait_for 30 attr_is old_secret_sessions 2
run rnbd host secret "$HOST" --secret-file "$NEW"
same "$(attr has_old_secret)" 0 "has_old_secret after a replacement"
for dev in "$a" "$b"; do state_is "$dev" live || die "$dev: $(counter "$dev" state)"; done

note "restore completes a rotation that was killed before the kernel got the new secret"
echo current >"$DIR/old_secret" || die "old_secret"
for file in "$STORED.old" "$STORED.former"; do run cp -p "$STORED" "$file"; done
run cp "$OTHER" "$STORED"
run rnbd restore "$OUT/target.json"
same_copies "$OTHER" "$NEW"
for file in "$OTHER" "$NEW"; do run rnbd discover "$ADDR" --secret-file "$file"; done
for dev in "$a" "$b"; do state_is "$dev" live || die "$dev: $(counter "$dev" state)"; done

note "restore sets the old secret if an earlier restore was killed before that"
echo none >"$DIR/old_secret" || die "old_secret"
same "$(attr has_secret) $(attr has_old_secret)" "1 0" "secrets"
run rnbd restore "$OUT/target.json"
same "$(attr has_secret) $(attr has_old_secret)" "1 1" "secrets after restore"
for dev in "$a" "$b"; do wait_for 30 state_is "$dev" live; done
for file in "$OTHER" "$NEW"; do run rnbd discover "$ADDR" --secret-file "$file"; done
run rnbd host secret "$HOST" --secret-file "$NEW"
run rnbd restore "$OUT/target.json"
same "$(attr has_secret) $(attr has_old_secret)" "1 0" "secrets after a replacement and restore"
for dev in "$a" "$b"; do state_is "$dev" live || die "$dev: $(counter "$dev" state)"; done

note "a disk and a host without a secret get one"
detach "$a"
run rnbd host secret "$HOST" --clear
same "$(ls -A "${STORED%/*}")" "" "copies that are still there"
fails "Required key not available" bash -c "echo current >$DIR/old_secret"
run rnbd detach "$b" --force
b=$(attach disk1 --keepalive $keepalive) || exit 1
same "$(authenticated "$b")" false authenticated
run rnbd secret set "$b" --secret-file "$NEW"
same "$(authenticated "$b")" false "authenticated before a login"
run rnbd host secret "$HOST" --secret-file "$NEW"
wait_for 20 counter_over "$b" reconnects 0
wait_for 20 state_is "$b" live
same "$(authenticated "$b")" true authenticated
works "$b"

note "no secret is left in memory or returned in an error"
watched 0 "$NEW" cat "$NEW" >/dev/null
[ "$(<"$FOUND")" = "freed"$'\n'"watched" ] || die "wiped.so does not detect a secret: $(<"$FOUND")"
wiped 1 "$NEW" rnbd attach "$ADDR" nosuch --new-session --secret-file "$NEW"
wiped 2 "$NEW" rnbd attach "$ADDR" disk0 --secret-file "$NEW" --queue-depth 77777
wiped 0 "$NEW" rnbd discover "$ADDR" --secret-file "$NEW"
wiped 1 "$OTHER" rnbd discover "$ADDR" --secret-file "$OTHER"
wiped 0 "$NEW" rnbd secret set "$b" --secret-file "$NEW"
wiped 0 "$OTHER" rnbd host secret "$HOST" --secret-file "$OTHER" --rotate
wiped 0 "$NEW" rnbd host secret "$HOST" --secret-file - < <(cat "$NEW")
for file in "$OLD" "$NEW" "$OTHER"; do
	dmesg | grep -qF "$(cut -d: -f3 "$file")" && die "the kernel log contains a secret"
done
detach "$b"
configfs_clear
unload
