#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 300
# turns: 2
# adapter: only
# without: event, because a lost packet costs a retry time-out that is longer than the keep-alive
# short: a host with a secret must prove it, and so must its target; without the right secret nothing is granted and nothing changes
. ../lib/lab.sh
. ../lib/rnbd.sh

HOST=$(host_id 1)
DIR=$CFG/hosts/$HOST
STORED=/etc/rnbd/secrets/$HOST
RIGHT=$OUT/right WRONG=$OUT/wrong

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

live() { [ "$(rnbd session list --target --json | grep -c '"state": "live"')" = "$1" ]; }
state() { counter "$dev" state; }
state_is() { [ "$(state)" = "$1" ]; }
last_error() { counter "$dev" last_error | grep -qF -- "$1"; }
failures() { same "$(cat "$DIR/authentication_failures")" "$1" "authentication failures"; }

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"

note "files with secrets"
run rnbd secret generate "$RIGHT"
run rnbd secret generate "$WRONG"
same "$(stat -c %a "$RIGHT")" 600 "mode of a secret"
grep -qE '^rnbd-secret:1:[0-9a-f]{64}:[0-9a-f]{8}$' "$RIGHT" || die "not the format of a secret: $(<"$RIGHT")"
cmp -s "$RIGHT" "$WRONG" && die "two secrets are the same"
fails "not replaced" rnbd secret generate "$RIGHT"
rnbd secret generate | grep -q '^rnbd-secret:1:' || die "the secret was not printed"
export_disk disk0 "$(null_disk 64)"

note "when a secret is set, sessions that logged in without it end"
dev=$(attach disk0 --queues 2) || exit 1
same "$(rnbd show "$dev" --json | sed -n 's/.*"authenticated": *\([a-z]*\).*/\1/p')" false authenticated
# The client must refuse the session before it requests the export, so the message is not about the
# missing export.
fails "the session is not authenticated" rnbd attach "$ADDR" nosuch --secret-file "$RIGHT"
run rnbd host secret "$HOST" --secret-file "$RIGHT"
live 0 || die "an unauthenticated session is live"
rnbd host list | grep -q "^$HOST *yes " || die "host list does not show that there is a secret"
wait_for 20 last_error "asks for the secret of this host"
run rnbd detach "$dev" --force

note "the secret cannot be read"
same "$(stat -c %a "$DIR/secret")" 200 "mode of the secret in configfs"
cat "$DIR/secret" 2>&1 && die "the secret can be read"
same "$(cat "$DIR/has_secret")" 1 has_secret
fails "Invalid argument" bash -c "echo rnbd-secret:1:$(printf '%064d' 0):00000000 >$DIR/secret"
dmesg | grep -q "host $HOST: secret: the checksum of the secret is wrong" || die "the log lacks the reason"
# shellcheck disable=SC2016 # $1 is for that shell
for text in '' ' ' nonet; do
	fails "Invalid argument" bash -c 'echo "$1" >"$2"' - "$text" "$DIR/secret"
done
same "$(cat "$DIR/has_secret")" 1 "has_secret after a line without a secret"
same "$(stat -c %a:%u "$STORED" "$(dirname "$STORED")" | paste -sd ' ')" "600:0 700:0" "modes and owners of the copy and its directory"
cmp "$RIGHT" "$STORED" || die "the copy has another secret"

note "without the secret, or with another one, nothing is granted and nothing listed"
fails "asks for the secret of this host (attach with --secret-file)" rnbd attach "$ADDR" disk0
fails "asks for the secret of this host" rnbd discover "$ADDR"
failures 0
fails "wrong secret for this host" rnbd attach "$ADDR" disk0 --secret-file "$WRONG"
fails "wrong secret for this host" rnbd attach "$ADDR" nosuch --secret-file "$WRONG"
fails "wrong secret for this host" rnbd discover "$ADDR" --secret-file "$WRONG"
failures 3
chmod 644 "$WRONG"
fails "chmod 600" rnbd attach "$ADDR" disk0 --secret-file "$WRONG"
chmod 600 "$WRONG"
head -c 40 "$RIGHT" >"$OUT/short" && chmod 600 "$OUT/short"
fails "cut off" rnbd attach "$ADDR" disk0 --secret-file "$OUT/short"
fails "No such file" rnbd attach "$ADDR" disk0 --secret-file "$OUT/nosuch"

note "with the secret, several queues, a list and a reconnect work"
run rnbd discover "$ADDR" --secret-file "$RIGHT"
fails "no such enabled export" rnbd attach "$ADDR" nosuch --secret-file "$RIGHT"
cat >"$OUT/disk0.conf" <<-END
	address = $ADDR
	export = disk0
	queues = 2
	poll-queues = 1
	secret-file = $RIGHT
END
strike rnbd fixed_session 1
dev=$(rnbd attach --config "$OUT/disk0.conf" --keepalive $((500 * ${LAB_SLOW:-1}))) || die "attach failed"
same "$(rnbd show "$dev" --json | sed -n 's/.*"authenticated": *\([a-z]*\).*/\1/p')" true authenticated
same "$(rnbd show "$dev" --json | sed -n 's/^ *"queues": *\([0-9]*\).*/\1/p' | head -1)" 3 queues
works "$dev"
strike rnbd kill_queue 1
wait_for 20 counter_over "$dev" reconnects 0
works "$dev"
failures 3
run rnbd attach --config "$OUT/disk0.conf" --idempotent

note "an unauthenticated login with a newer epoch ends nothing and is not remembered"
strike rnbd fixed_session 1
strike rnbd set_epoch 1 4000000000
fails "wrong secret for this host" rnbd attach "$ADDR" disk0 --new-session --secret-file "$WRONG"
[ "$(hits rnbd set_epoch)" = 1 ] || die "the epoch was not set"
strike rnbd fixed_session 1
strike rnbd set_epoch 1 4000000000
fails "asks for the secret" rnbd attach "$ADDR" disk0 --new-session
works "$dev"
need "$dev" reconnects -eq 1
strike rnbd kill_queue 1
wait_for 20 counter_over "$dev" reconnects 1
works "$dev"
failures 4

note "the same secret again: nothing happens"
run rnbd host secret "$HOST" --secret-file "$RIGHT"
state_is live || die "the disk is $(state)"
need "$dev" reconnects -eq 2

note "a secret that cannot be stored, or that the kernel rejects, changes nothing"
only_copy() {
	cmp "$1" "$STORED" || die "the copy has another secret"
	same "$(ls -A "${STORED%/*}")" "$HOST" "files in the directory of the copy"
}
run mount -t tmpfs -o mode=700,nr_inodes=1 full "${STORED%/*}"
fails "nothing is changed: cannot store the secret" rnbd host secret "$HOST" --secret-file "$WRONG"
same "$(ls -A "${STORED%/*}")" "" "files on the full disk"
run umount "${STORED%/*}"
run mount --bind /dev/full "$DIR/secret"
fails "cannot set it" rnbd host secret "$HOST" --secret-file "$WRONG"
run umount "$DIR/secret"
only_copy "$RIGHT"
mkdir "$CFG/hosts/$(host_id 2)"
run mount --bind /dev/full "$CFG/hosts/$(host_id 2)/secret"
fails "cannot set it" rnbd host secret "$(host_id 2)" --secret-file "$WRONG"
run umount "$CFG/hosts/$(host_id 2)/secret"
run rnbd host remove "$(host_id 2)"
only_copy "$RIGHT"
state_is live || die "the disk is $(state)"
need "$dev" reconnects -eq 2

note "killed before the kernel has the secret: the new one is stored, and temporary files are removed"
mkfifo /tmp/never-read && run mount --bind /tmp/never-read "$DIR/secret"
rnbd host secret "$HOST" --secret-file "$WRONG" &
killed=$!
wait_for 10 cmp -s "$WRONG" "$STORED"
kill -KILL $killed
wait $killed
run umount "$DIR/secret"
state_is live || die "the disk is $(state)"
run rnbd host secret "$HOST" --secret-file "$RIGHT"
only_copy "$RIGHT"
state_is live || die "the disk is $(state)"
need "$dev" reconnects -eq 2

note "another secret is set while a session uses the old one"
fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw --bs=4k \
	--time_based --runtime=300 --minimal >/dev/null 2>&1 &
load=$!
served=$(counter "$dev" requests)
wait_for 10 counter_over "$dev" requests "$((served + 100))"
run rnbd host secret "$HOST" --secret-file "$WRONG"
live 0 || die "a session that authenticated with the old secret is live"
wait_for 20 last_error "wrong secret for this host"
rnbd show "$dev" | grep "last_error: wrong secret" || die "show lacks the reason"
run rnbd host secret "$HOST" --secret-file "$RIGHT"
wait_for 20 state_is live
served=$(counter "$dev" requests)
wait_for 10 counter_over "$dev" requests "$((served + 100))"
kill $load
wait $load
works "$dev"

note "a client with a secret rejects a target that does not know it"
run rnbd host secret "$HOST" --clear
[ ! -e "$STORED" ] || die "the copy is still there"
live 0 || die "a session that authenticated with the old secret is live"
wait_for 20 last_error "the target has no secret for this host"
run rnbd detach "$dev" --force
fails "the target has no secret for this host" rnbd attach "$ADDR" disk0 --secret-file "$RIGHT"
fails "the target has no secret for this host" rnbd discover "$ADDR" --secret-file "$RIGHT"
dev=$(attach disk0) || exit 1
works "$dev"
fails "secret-file (none)" rnbd attach "$ADDR" disk0 --secret-file "$RIGHT" --idempotent
detach "$dev"

note "save and restore"
run rnbd save "$OUT/before.json"
run rnbd host secret "$HOST" --secret-file "$RIGHT"
run rnbd save "$OUT/target.json"
grep -q "\"secret_file\": \"$STORED\"" "$OUT/target.json" || die "the configuration file does not name the file of the secret"
grep -qF "$(cut -d: -f3 "$RIGHT")" "$OUT/target.json" && die "the configuration file contains the secret"
run rnbd clear
mv "$STORED" "$OUT/moved"
fails "is allowed no export without its secret; run: rnbd host secret" rnbd restore "$OUT/target.json"
[ ! -e "$DIR" ] || die "the host exists without its secret"
[ -z "$(ls "$CFG/exports/disk0/allowed_hosts")" ] || die "a host is allowed"
fails "not allowed" rnbd attach "$ADDR" disk0
mkdir "$DIR"
fails "is allowed no export without its secret" rnbd restore "$OUT/target.json"
[ -z "$(ls "$CFG/exports/disk0/allowed_hosts")" ] || die "a host without its secret is allowed"
echo 0 >"$CFG/exports/disk0/enable"
ln -s "$DIR" "$CFG/exports/disk0/allowed_hosts/by-hand"
fails "export disk0: left disabled: host $HOST was not restored, see above" rnbd restore "$OUT/target.json"
same "$(cat "$CFG/exports/disk0/enable")" 0 "the export of a host without its secret"
rm "$CFG/exports/disk0/allowed_hosts/by-hand"
cp "$OUT/moved" "$STORED"
run rnbd restore "$OUT/target.json"
fails "asks for the secret" rnbd attach "$ADDR" disk0
dev=$(attach disk0 --secret-file "$RIGHT") || exit 1
works "$dev"

note "restore sets the secret of the file, and the same one ends no session"
run rnbd restore "$OUT/target.json"
state_is live || die "the disk is $(state)"
need "$dev" reconnects -eq 0
sed "s#$STORED#$WRONG#" "$OUT/target.json" >"$OUT/other.json"
run rnbd restore "$OUT/other.json"
live 0 || die "a session that authenticated with the old secret is live"
wait_for 20 last_error "wrong secret for this host"
chmod 644 "$WRONG"
fails "host $HOST keeps its current secret" rnbd restore "$OUT/other.json"
run rnbd restore "$OUT/target.json"
wait_for 20 state_is live
works "$dev"
detach "$dev"
wait_for 20 live 0

note "a file that names an unreadable secret changes nothing"
fails "nothing is cleared" rnbd restore --clear "$OUT/other.json"
grep -qF "host $HOST: $WRONG: see above" <<<"$text" || die "the error message lacks the reason"
same "$(cat "$DIR/has_secret") $(cat "$CFG/exports/disk0/enable")" "1 1" "secret and export"
text=$(rnbd restore --check "$OUT/other.json" 2>&1) || die "restore --check: $text"
grep -qF "$WRONG: accessible to others" <<<"$text" || die "restore --check does not report the reason"
chmod 600 "$WRONG"
run rnbd restore --clear "$OUT/target.json"

note "restore of a file without secret still sets the stored secret"
run rnbd clear
text=$(rnbd restore "$OUT/before.json" 2>&1) || die "restore: $text"
echo "  $text"
grep -qF "secret read from $STORED" <<<"$text" || die "unexpected message"
same "$(cat "$DIR/has_secret")" 1 has_secret
fails "asks for the secret" rnbd attach "$ADDR" disk0
dev=$(attach disk0 --secret-file "$RIGHT") || exit 1
rm "$STORED"
fails "nothing is saved" rnbd save "$OUT/target.json"
cp "$OUT/moved" "$STORED"
run rnbd save "$OUT/again.json"
cmp "$OUT/target.json" "$OUT/again.json" || die "the saved files differ"

note "the kernel log contains no secret"
for file in "$RIGHT" "$WRONG"; do
	dmesg | grep -qF "$(cut -d: -f3 "$file")" && die "the kernel log contains a secret"
done
detach "$dev"
run rnbd export remove disk0
run rnbd host remove "$HOST"
[ ! -e "$STORED" ] || die "the copy is still there"
configfs_clear
unload
