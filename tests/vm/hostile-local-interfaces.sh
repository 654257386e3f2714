#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 2 --mem 1024 --timeout 300
# turns: 2
# short: direct misuse of netlink and configfs gets the right error and does no harm: each rule broken, random messages, many concurrent processes
. ../lib/lab.sh
. ../lib/rnbd.sh

SEED=${1:-$RANDOM$RANDOM}
SOUP=12000 RACE=10
if [ -n "${LAB_SLOW-}" ]; then SOUP=5000 RACE=60; fi

X=$CFG/exports H=$CFG/hosts P=$CFG/ports
rows=0

# denied ERROR COMMAND...: COMMAND must fail with ERROR in its message
denied() {
	local text

	rows=$((rows + 1))
	if text=$("${@:2}" 2>&1); then die "not refused: ${*:2}"; fi
	[[ $text = *"$1"* ]] || die "${*:2}: $text, wanted $1"
}

# put FILE VALUE: write VALUE with a single write()
put() { printf '%s' "$2" >"$1"; } 2>/dev/null

must() { put "$@" || die "$1 rejects $2"; }

# value FILE: read FILE into $value without starting a program
value() { IFS= read -rd '' value <"$1" || true; }

# kept FILE VALUE...: each VALUE must be refused and must leave the file unchanged
kept() {
	local file=$1 before v

	value "$file"
	before=$value
	for v in "${@:2}"; do
		rows=$((rows + 1))
		if put "$file" "$v"; then die "$file accepts ${v@Q}"; fi
		value "$file"
		[ "$value" = "$before" ] || die "$file: $value after ${v@Q}, $before before"
	done
}

long() { printf "%$1s" '' | tr ' ' "${2:-a}"; }

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
before=$(rdma_own)
disk=$(null_disk 16) || exit 1
other=$(null_disk 16) || exit 1

note "netlink: every rule of every attribute and header"
run abuse cases
note "netlink: random messages"
run abuse soup $SOUP "$SEED"
[ -z "$(ls -d /sys/block/rnbd* 2>/dev/null)" ] || die "something was attached"

note "configfs: names"
one=$(host_id 1)
run mkdir "$X/e" "$P/p" "$H/$one"
for dir in "$X" "$P"; do
	for name in .hidden 'a b' $'a\nb' $'\e[2J' 'ä' 'a%n' 'a\b' '*' "$(long 64)" "$(long 255)"; do
		denied 'Invalid argument' mkdir "$dir/$name"
	done
	denied 'too long' mkdir "$dir/$(long 256)"
	run mkdir "$dir/$(long 63)"
	run rmdir "$dir/$(long 63)"
done
for name in e 1 "${one%?}" "${one}0" "{$one}" "${one//-/}" "${one/1/g}" \
	00000000-0000-0000-0000-000000000000 "$one " "$(long 255)"; do
	[ "$name" = "${one/1/g}" ] && name=${one%?}g
	denied 'Invalid argument' mkdir "$H/$name"
done
run mkdir "$H/abcdef00-0000-4000-8000-000000000000"
denied 'File exists' mkdir "$H/ABCDEF00-0000-4000-8000-000000000000"
run rmdir "$H/abcdef00-0000-4000-8000-000000000000"
denied 'not permitted' mkdir "$CFG/x"
denied 'not permitted' mkdir "$X/e/x"
denied 'not permitted' mkdir "$X/e/allowed_hosts/x"
denied 'not permitted' mkdir "$P/p/exports/x"
denied 'not permitted' mkdir "$H/$one/x"
for dir in "$X" "$P" "$H" "$X/e/allowed_hosts" "$P/p/exports"; do
	denied 'not permitted' rmdir "$dir"
done
denied '' touch "$X/e/file"
denied '' mv "$X/e" "$X/f"
denied '' rm "$X/e/path"

note "configfs: values"
# Values that every attribute must refuse. None begins like a boolean, because the kernel checks
# only the first character of a boolean.
garbage=('' $'\n' ' ' x -1 '%s%n' $'\x01\xff' '-0' 28446744073709551616 'e9' "$(long 4000 z)" "$(long 5000 9)")
files=0
for file in "$X"/e/* "$H/$one"/* "$P"/p/*; do
	[ -f "$file" ] || continue
	[ "$(stat -c %a "$file")" = 600 ] || continue
	# Skip the attribute cgroup: nearly any text is a valid path of a cgroup.
	[ "${file##*/}" != cgroup ] || continue
	files=$((files + 1))
	# The empty value is left out, because it would not cause a call of write().
	kept "$file" "${garbage[@]:1}"
done
note "$files attributes"
[ $files -ge 10 ] || die "too few attributes were found"
put "$X/e/resize" 1 && die "a disabled export was resized"
uuid=$(<"$X/e/uuid")
kept "$X/e/uuid" "${uuid}x" "$uuid $uuid" "${uuid%?}" 00000000-0000-0000-0000-000000000000
kept "$X/e/path" dev/null ../dev/null "  relative"
kept "$X/e/cache" nones pagecach 'none none'
kept "$X/e/write_cache" backwards 'through '
kept "$P/p/addr" 10.9.0 10.9.0.256 10.9.0.1.1 10.9.0.1/24 ::1::2 localhost "10.9.0.1 10.9.0.1" "$(long 100 1)"
kept "$P/p/port" 0 65536 0x10000 '4427 4427' 4427x
kept "$H/$one/max_pool_bytes" 9223372036854775808 1M '1 2' 1x
kept "$H/$one/weight" 0 10001 1x '1 2' 1k
kept "$H/$one/cgroup" / // . ../a /a/.. /a/./b "$(long 4095 z)"
kept "$X/e/window" 65537 1x '1 2' default
kept "$H/$one/fence_state" "0 1 $one" "4294967295 0 $one" "99999999999 0 $one" "-1 0 $one" "5 2 $one" \
	"5 1 ${one%?}" "5 1 ${one}0" "5 1 $one x" "5 1" "5"
# A write of a fence generation that is not newer than that of the host must succeed and change
# nothing.
must "$H/$one/fence_state" "1 1 $one"
value "$H/$one/fenced"
same "$value" $'0\n' "fenced after a write with an old generation"
for file in "$X"/e/{size,sessions,stale_requests} "$P"/p/{state,sessions} "$H/$one"/{{active_,}sessions,stale_frames}; do
	denied '' dd if=/dev/zero of="$file" bs=16 count=1
done

note "configfs: objects that cannot be enabled"
put "$X/e/enable" 1 && die "enabled without a path"
for path in /nowhere /dev/null /etc / "/$(long 4000)" "/$(long 300)/x" $'/a\tb' "$disk/x"; do
	must "$X/e/path" "$path"
	put "$X/e/enable" 1 && die "enabled with path ${path@Q}"
	value "$X/e/enable"
	same "$value" $'0\n' "enable"
done
printf '%s\0/x' "$disk" >"$X/e/path" 2>/dev/null && die "path accepts a NUL"
put "$P/p/enable" 1 && die "port enabled without an address"
must "$P/p/addr" 192.0.2.1
put "$P/p/enable" 1 && die "port enabled with an address that no device has"

note "configfs: links"
denied '' ln -s "$X/e" "$X/e/allowed_hosts/x"
denied '' ln -s "$P/p" "$X/e/allowed_hosts/x"
denied '' ln -s "$H/$one" "$P/p/exports/x"
denied '' ln -s "$P/p" "$P/p/exports/x"
denied '' ln -s "$X/e/allowed_hosts" "$P/p/exports/x"
denied '' ln -s /etc "$X/e/allowed_hosts/x"
denied '' ln -s /nowhere "$X/e/allowed_hosts/x"
denied '' ln -s "$H/$one/sessions" "$X/e/allowed_hosts/x"
denied '' ln -s "$H/$one" "$X/e/x"
denied '' ln -s "$H/$one" "$CFG/x"
denied '' ln -s "$H/$one" "$X/x"
run ln -s "$H/$one" "$X/e/allowed_hosts/any name"
denied 'File exists' ln -s "$H/$one" "$X/e/allowed_hosts/another"
run ln -s "$X/e" "$P/p/exports/e"
denied 'File exists' ln -s "$X/e" "$P/p/exports/f"
denied 'busy' rmdir "$H/$one"
denied '' rmdir "$X/e"
denied '' rmdir "$P/p"

note "configfs: attributes of enabled objects"
must "$X/e/path" "$disk"
must "$X/e/enable" 1
must "$P/p/addr" "$ADDR"
must "$P/p/enable" 1
kept "$X/e/path" "$other"
kept "$X/e/readonly" 1
kept "$X/e/cache" pagecache
kept "$X/e/write_cache" back
kept "$X/e/uuid" "$(host_id 5)"
kept "$P/p/addr" 127.0.0.1
kept "$P/p/port" 4428
for text in 'export e: disable it before changing path' 'port p: disable it before changing addr' \
	'allowed_hosts takes links to hosts' 'exports takes links to exports' \
	"a host's name is its UUID" "export e: uuid is not a UUID"; do
	dmesg_has "$text" || die "not in the kernel log: $text"
done
dev=$(attach e --host-id "$one") || exit 1
denied '' rmdir "$X/e"
denied 'busy' rmdir "$H/$one"
verify "$dev" --rw=randwrite --bs=4k --size=256k

note "a user without privilege"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all)
run "${nobody[@]}" abuse denied
# Root in its own user namespace has no privilege in this one.
[ ! -e /proc/self/ns/user ] || run unshare --user --map-root-user abuse denied
# shellcheck disable=SC2016 # expanded by the inner shell
run "${nobody[@]}" bash -c '
	cd "$0" || exit 1
	bad=0
	try() { "$@" 2>/dev/null && { echo "allowed without privilege: $*"; bad=1; }; }
	put() { echo 0 >"$1"; }
	for f in exports/e/* hosts/*/* ports/p/*; do
		[ -f "$f" ] || continue
		try put "$f"
	done
	try mkdir exports/x
	try mkdir hosts/00000000-0000-4000-8000-000000000009
	try mkdir ports/x
	try rm "exports/e/allowed_hosts/any name"
	try rm ports/p/exports/e
	try ln -s "$0/exports/e" ports/p/exports/x
	try rmdir exports/e
	try chmod 666 exports/e/enable
	try ls /sys/kernel/debug/rnbd
	for f in /sys/block/rnbd*/rnbd/*; do
		[ -f "$f" ] && try put "$f"
	done
	exit $bad' "$CFG"
value "$X/e/enable"
same "$value" $'1\n' "enable"
detach "$dev"
run rm "$X/e/allowed_hosts/any name" "$P/p/exports/e"
run rmdir "$X/e" "$P/p" "$H/$one"
note "$rows wrong uses of configfs"

note "a name of the maximum length"
run mkdir "$X/$(long 63)"
must "$X/$(long 63)/path" "$disk"
must "$X/$(long 63)/enable" 1
run rmdir "$X/$(long 63)"

note "many concurrent processes"
truncate -s 16M /var/tmp/storage
run abuse race "$CFG" $RACE "$SEED" "$disk" "$other" /var/tmp/storage /nowhere
rnbd list
wait_for 30 rnbd detach --all --force
configfs_clear
for dir in "$X" "$H" "$P"; do
	[ -z "$(ls "$dir")" ] || die "left over: $(ls "$dir")"
done
[ "$(rdma_own)" = "$before" ] || wait_for 10 rdma_own_is "$before"
unload
