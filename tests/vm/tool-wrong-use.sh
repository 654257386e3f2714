#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --cpus 1 --mem 1024 --timeout 600
# turns: 2
# short: every command used wrongly ends with the documented exit code and one line that names object and remedy
. ../lib/lab.sh
. ../lib/rnbd.sh

ID=$(host_id 7)
bad=0 rows=0
declare -A used

# wrong CODE WORDS... -- COMMAND...: the command must exit with CODE, print nothing on standard
# output, and print one line with all WORDS on standard error. A failure is counted and does not end
# the test.
wrong() {
	local code=$1 words=() lines text status word why=
	shift
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	rows=$((rows + 1))
	timeout 60 "$@" >"$OUT/stdout.row" 2>"$OUT/stderr.row" </dev/null
	status=$?
	mapfile -t lines <"$OUT/stderr.row"
	text=${lines[0]-}
	[ "$status" = "$code" ] || why+=" exit code $status, not $code;"
	[ ! -s "$OUT/stdout.row" ] || why+=" output on stdout;"
	[ ${#lines[@]} = 1 ] || why+=" ${#lines[@]} lines on stderr;"
	[[ $text = "rnbd: "* ]] || why+=" not from rnbd;"
	for word in "${words[@]}"; do
		[[ $text = *"$word"* ]] || why+=" \"$word\" is missing;"
	done
	[ -z "$why" ] || bad=$((bad + 1))
	while [ "$1" != rnbd ]; do shift; done
	used["${2-}"]=1
	used["${2-} ${3-}"]=1
	echo "${why:+WRONG:$why }$*: $text"
}

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all)

# mounted DEV DIR: make a file system on DEV and mount it at DIR
mounted() {
	mkdir -p "$2"
	run mkfs.ext4 -q "$1"
	run mount "$1" "$2"
}

mapfile -t all < <(rnbd help | sed -n 's/^  \([a-z]\+ \?[a-z-]*\)  .*/\1/p' | sed 's/ $//')
[ ${#all[@]} -ge 15 ] || die "rnbd help lists only ${#all[@]} commands"

note "no command, unknown command, unknown option"
wrong 2 'frobnicate' 'rnbd help' -- rnbd frobnicate
wrong 2 'export frobnicate' 'rnbd help export' -- rnbd export frobnicate
wrong 2 'export needs a command' 'rnbd help export' -- rnbd export
wrong 2 'frobnicate' 'rnbd help' -- rnbd help frobnicate
wrong 2 'csh' 'bash' -- rnbd completion csh
wrong 2 'completion' 'operand is missing' -- rnbd completion
for command in "${all[@]}"; do
	# shellcheck disable=SC2086 # one word or two
	wrong 2 "$command: " '--frobnicate' "rnbd help $command" -- rnbd $command --frobnicate
done

wrong 2 'list: ' '-x is' 'rnbd help list' -- rnbd list -xy
wrong 2 'list: ' '-y is' 'rnbd help list' -- rnbd list rnbd0 -y
wrong 2 '--pol is ambiguous' '--poll-queues or --policy' 'rnbd help attach' -- rnbd attach "$ADDR" disk0 --pol fail
wrong 2 '--in=4K is ambiguous' '--inline-read or --inline-write' -- rnbd attach "$ADDR" disk0 --in=4K
wrong 2 '--json=yes' 'no value' 'rnbd help list' -- rnbd list --json=yes
wrong 2 '"?[2J? ?"' 'rnbd help' -- rnbd $'\e[2J\x7f\n\b'

note "operands missing or too many, options without their value or twice"
wrong 2 'attach' 'operand is missing' 'ADDR[:PORT] EXPORT' -- rnbd attach "$ADDR"
wrong 2 'attach' 'more' 'ADDR[:PORT] EXPORT' -- rnbd attach "$ADDR" disk0 more
wrong 2 'discover' 'operand is missing' 'ADDR[:PORT]' -- rnbd discover
wrong 2 'detach' 'DISK' '--all' -- rnbd detach
wrong 2 'detach' '--wait soon' 'number' -- rnbd detach rnbd0 --wait soon
wrong 2 'list' 'rnbd1' -- rnbd list rnbd0 rnbd1
wrong 2 'hostid' 'more' -- rnbd hostid more
wrong 2 'monitor' 'more' -- rnbd monitor more
wrong 2 'export add' 'operand is missing' 'NAME' -- rnbd export add
wrong 2 'export add' '--path is missing' -- rnbd export add disk0
wrong 2 'export add' '--path' 'needs a value' -- rnbd export add disk0 --path
wrong 2 'export add' '--path' 'twice' -- rnbd export add disk0 --path /a --path /b
wrong 2 'export list' 'more' -- rnbd export list disk0 more
for command in remove enable disable resize; do
	wrong 2 "export $command" 'operand is missing' 'NAME' -- rnbd export "$command"
done
for command in allow deny; do
	wrong 2 "export $command" 'operand is missing' 'UUID' -- rnbd export "$command" disk0
done
wrong 2 'export disable disk0' '--no-wait and --timeout' -- rnbd export disable disk0 --no-wait --timeout 1
wrong 2 'export deny disk0' '--no-wait and --timeout' -- rnbd export deny disk0 "$ID" --no-wait --timeout 1
wrong 2 'host deny disk0' '--timeout 0' -- rnbd host deny disk0 "$ID" --timeout 0
wrong 2 'session list' 'more' -- rnbd session list more
wrong 2 'session list' 'exclude each other' -- rnbd session list --client --target
wrong 2 'export owner disk0' 'UUID of a host, or none' -- rnbd export owner disk0 nobody
wrong 2 'export record-owners' 'more' -- rnbd export record-owners more
wrong 2 'export owner disk0' 'exclude each other' -- rnbd export owner disk0 none --no-wait --timeout 1
wrong 2 'show' 'operand is missing' 'DISK' -- rnbd show
wrong 2 'stat' 'is unexpected' -- rnbd stat rnbd0 1 2 3
wrong 2 'export show' 'operand is missing' 'NAME' -- rnbd export show
wrong 2 'export stat' 'is unexpected' -- rnbd export stat disk0 1 2 3
wrong 2 'host stat' 'is unexpected' -- rnbd host stat --all 1 2 3
wrong 2 'host allow' 'operand is missing' 'UUID' -- rnbd host allow disk0
wrong 2 'host deny' 'operand is missing' 'UUID' -- rnbd host deny disk0
wrong 2 'host list' 'more' -- rnbd host list more
wrong 2 'host limit' 'operand is missing' 'UUID [SIZE | none]' -- rnbd host limit --sessions 1
wrong 2 "host limit $ID" 'SIZE, --session-pool or --sessions' -- rnbd host limit "$ID"
wrong 2 'host limit' '--sessions' 'needs a value' -- rnbd host limit "$ID" --sessions
wrong 2 'host limit' '--sessions' 'twice' -- rnbd host limit "$ID" --sessions 1 --sessions 2
wrong 2 'host limit' 'more' -- rnbd host limit "$ID" 1M more
wrong 2 'host remove' 'operand is missing' 'UUID' -- rnbd host remove
wrong 2 'host fencing' 'operand is missing' -- rnbd host fencing "$ID"
wrong 2 "host fencing $ID" 'never: wanted restart or unfence' -- rnbd host fencing "$ID" never
wrong 2 'fence' 'operand is missing' 'UUID' -- rnbd fence
wrong 2 'unfence' 'more' -- rnbd unfence "$ID" more
wrong 2 'fenced' 'more' -- rnbd fenced "$ID" more
wrong 2 'port add' 'operand is missing' 'ADDR[:PORT]' -- rnbd port add
wrong 2 'port remove' 'operand is missing' 'ADDR[:PORT]' -- rnbd port remove
wrong 2 'port list' 'more' -- rnbd port list more
wrong 2 'save' 'more' -- rnbd save - more
wrong 2 'restore' 'more' -- rnbd restore - more
wrong 2 'restore' '--check' '--clear' -- rnbd restore --check --clear
wrong 2 'restore' '--check' '--wait' -- rnbd restore --check --wait 1
wrong 2 'restore' '--compare' '--clear' -- rnbd restore --compare --clear
wrong 2 'restore' '--compare' '--check' -- rnbd restore --check --compare
wrong 2 'restore' '--wait x' 'wanted a number from 0' -- rnbd restore --wait x
wrong 2 'clear' 'more' -- rnbd clear more

note "bad numbers, sizes, names, addresses, UUIDs"
wrong 2 '--port 65536' -- rnbd attach "$ADDR" disk0 --port 65536
wrong 2 '--queues many' 'number' -- rnbd attach "$ADDR" disk0 --queues many
wrong 2 '--pool 1X' 'size such as' -- rnbd attach "$ADDR" disk0 --pool 1X
wrong 2 '--policy maybe' 'queue or fail' -- rnbd attach "$ADDR" disk0 --policy maybe
wrong 2 '--transfer slow' 'zero-copy or copy' -- rnbd attach "$ADDR" disk0 --transfer slow
wrong 2 '--host-id 12' 'UUID' -- rnbd discover "$ADDR" --host-id 12
wrong 2 '--host-id 12' 'UUID' -- rnbd attach "$ADDR" disk0 --host-id 12
wrong 2 'bad/name' 'A-Z' -- rnbd attach "$ADDR" bad/name
wrong 2 '::1]' 'ADDR:PORT' -- rnbd attach '::1]' disk0
wrong 2 'bad/name' 'A-Z' -- rnbd export add bad/name --path /dev/null
wrong 2 'relative' 'absolute' -- rnbd export add disk0 --path relative
wrong 2 '--cache some' 'none or pagecache' -- rnbd export add disk0 --path /dev/null --cache some
wrong 2 '--write-cache some' 'through or back' -- rnbd export add disk0 --path /dev/null --write-cache some

wrong 2 '--name a/b' -- rnbd attach "$ADDR" disk0 --name a/b
wrong 2 'host limit 12' 'UUID' 'rnbd host list' -- rnbd host limit 12 1M
wrong 2 'host weight 12' 'UUID' 'rnbd host list' -- rnbd host weight 12 1
wrong 2 'host cgroup 12' 'UUID' 'rnbd host list' -- rnbd host cgroup 12 a
for number in 0 10001 x 1.5 none; do
	wrong 2 "host weight $ID: $number: " 'from 1 to 10000' -- rnbd host weight "$ID" "$number"
done
for number in 0 65537 x none; do
	wrong 2 "export window disk0: $number: " 'from 1 to 65536, or default' -- \
		rnbd export window disk0 "$number"
done
wrong 2 'host secret 12' 'UUID' 'rnbd hostid' -- rnbd host secret 12 --clear
wrong 2 "host secret $ID" '--secret-file FILE, --withdraw or --clear' -- rnbd host secret "$ID"
wrong 2 "host secret $ID" '--secret-file FILE, --withdraw or --clear' -- rnbd host secret "$ID" --withdraw --clear
wrong 2 "host secret $ID" '--rotate needs --secret-file' -- rnbd host secret "$ID" --withdraw --rotate
wrong 2 'DISK | --all' -- rnbd secret set --secret-file /dev/null
wrong 2 '--secret-file FILE' -- rnbd secret set rnbd0
wrong 1 '/dev/null' 'regular file' -- rnbd secret set rnbd0 --secret-file /dev/null
wrong 2 'host secret' 'operand is missing' -- rnbd host secret --clear
wrong 2 'secret generate' 'is unexpected' -- rnbd secret generate one two
wrong 1 'secret generate /nosuch/s' 'No such file' -- rnbd secret generate /nosuch/s
wrong 2 'host remove 12' 'UUID' 'rnbd host list' -- rnbd host remove 12
wrong 2 'fence 12' 'UUID' 'rnbd host list' -- rnbd fence 12
wrong 2 'fence' '--timeout 0' 'from 1' -- rnbd fence "$ID" --timeout 0
for size in 0 1X 8589934592G 18446744073709551616 ''; do
	wrong 2 "host limit $ID: $size: " 'size such as' 'none' -- rnbd host limit "$ID" "$size"
	wrong 2 "host limit $ID: --session-pool $size: " 'size such as' 'none' -- \
		rnbd host limit "$ID" 1M --session-pool "$size"
done
for number in 0 1K -1 4294967296 ''; do
	wrong 2 "host limit $ID: --sessions $number: " 'from 1 to 4294967295, or none' -- \
		rnbd host limit "$ID" --session-pool 1M --sessions "$number"
done
wrong 2 'INTERVAL 0' 'seconds' -- rnbd stat rnbd0 0
wrong 2 'COUNT x' 'number' -- rnbd stat rnbd0 1 x
wrong 2 'INTERVAL x' 'seconds' -- rnbd export stat --all x
wrong 2 'host stat 5' 'not a UUID' -- rnbd host stat 5
wrong 2 '--output' '--prometheus' -- rnbd stat --output /tmp/x
wrong 2 "$ADDR:x" 'ADDR:PORT' -- rnbd port add "$ADDR:x"

note "no module"
wrong 1 'disk0' 'modprobe rnbd' -- rnbd attach "$ADDR" disk0
wrong 1 "discover $ADDR:4427" 'modprobe rnbd' -- rnbd discover "$ADDR"
wrong 1 'detach' 'modprobe rnbd' -- rnbd detach rnbd0
wrong 1 'modprobe rnbd' -- rnbd deactivate rnbd0
wrong 1 'list' 'modprobe rnbd' -- rnbd list
wrong 1 'monitor' 'modprobe rnbd' -- rnbd monitor
wrong 1 'session list' 'modprobe rnbd-target' -- rnbd session list
wrong 1 'show' 'modprobe rnbd' -- rnbd show rnbd0
wrong 1 'stat' 'modprobe rnbd' -- rnbd stat
wrong 1 'modprobe rnbd-target' -- rnbd export stat
wrong 1 'disk0' 'modprobe rnbd-target' -- rnbd export add disk0 --path /etc/passwd
wrong 1 'host list' 'modprobe rnbd-target' -- rnbd host list
wrong 1 'host allow disk0' 'modprobe rnbd-target' -- rnbd host allow disk0 "$ID"
wrong 1 'host deny disk0' 'modprobe rnbd-target' -- rnbd host deny disk0 "$ID"
wrong 1 "host limit $ID" 'modprobe rnbd-target' -- rnbd host limit "$ID" 1M
wrong 1 "host remove $ID" 'modprobe rnbd-target' -- rnbd host remove "$ID"
wrong 1 "fence $ID" 'modprobe rnbd-target' -- rnbd fence "$ID"
wrong 1 "port add $ADDR" 'modprobe rnbd-target' -- rnbd port add "$ADDR"
wrong 1 'port remove 1' 'modprobe rnbd-target' -- rnbd port remove 1
wrong 1 'port list' 'modprobe rnbd-target' -- rnbd port list
wrong 1 'save' 'modprobe rnbd-target' -- rnbd save
wrong 1 'clear' 'modprobe rnbd-target' -- rnbd clear
echo '{ "version": 1 }' >"$OUT/empty.json"
wrong 1 'restore' 'modprobe rnbd-target' -- rnbd restore "$OUT/empty.json"
for command in list 'remove disk0' 'enable disk0' 'disable disk0' 'resize disk0' "allow disk0 $ID" "deny disk0 $ID"; do
	# shellcheck disable=SC2086 # words of a command
	wrong 1 "export ${command%% *}" 'modprobe rnbd-target' -- rnbd export $command
done

set_host_id
target_start
modprobe rnbd || die "modprobe rnbd failed"
disk=$(null_disk 32) || exit 1

note "nothing is configured"
for command in 'list gone' 'remove gone' 'enable gone' 'disable gone' 'resize gone' "allow gone $ID" "deny gone $ID"; do
	# shellcheck disable=SC2086 # words of a command
	wrong 1 gone 'rnbd export list' -- rnbd export $command
done
wrong 1 'rnbd7' 'not attached' 'rnbd list' -- rnbd detach rnbd7
wrong 1 'rnbd7' 'not attached' 'rnbd list' -- rnbd deactivate rnbd7
wrong 1 'rnbd7' 'not attached' 'rnbd list' -- rnbd list rnbd7
wrong 1 'rnbd7' 'not attached' 'rnbd list' -- rnbd show rnbd7
wrong 1 'rnbd7' 'not attached' 'rnbd list' -- rnbd stat rnbd7
wrong 2 '/dev/null' 'block device' 'rnbd list' -- rnbd detach /dev/null
wrong 2 '/dev/null' 'block device' 'rnbd list' -- rnbd deactivate /dev/null
wrong 1 'gone' 'rnbd export list' -- rnbd export show gone
wrong 1 'gone' 'rnbd export list' -- rnbd export stat gone
wrong 1 'gone' 'rnbd export list' -- rnbd export owner gone none
wrong 1 "host stat $ID" 'no such host' -- rnbd host stat "$ID"
wrong 1 'gone' 'rnbd export list' -- rnbd host allow gone "$ID"
wrong 1 'gone' 'rnbd export list' -- rnbd host deny gone "$ID"
wrong 1 "host limit $ID" 'no such host' "rnbd host allow EXPORT $ID" -- rnbd host limit "$ID" 1M
wrong 1 "host weight $ID" 'no such host' "rnbd host allow EXPORT $ID" -- rnbd host weight "$ID"
wrong 1 "host remove $ID" 'no such host' 'rnbd host list' -- rnbd host remove "$ID"
wrong 1 "fence $ID" 'no such host' 'rnbd host list' -- rnbd fence "$ID"
wrong 1 "host fencing $ID" 'no such host' -- rnbd host fencing "$ID" restart
wrong 1 "unfence $ID" 'no such host' -- rnbd unfence "$ID"
wrong 1 "fenced $ID" 'no such host' -- rnbd fenced "$ID"
wrong 1 'port remove 7' 'rnbd port list' -- rnbd port remove 7
wrong 1 '/nowhere/file' 'No such file' -- rnbd save /nowhere/file
wrong 1 '/nowhere/file' 'No such file' -- rnbd restore /nowhere/file
echo '{ "version": 1, "colour": "red" }' >"$OUT/unknown.json"
wrong 2 'unknown.json' 'colour' -- rnbd restore --check "$OUT/unknown.json"
echo '{ "version": 1, ' >"$OUT/torn.json"
wrong 2 'torn.json' -- rnbd restore --check "$OUT/torn.json"
wrong 2 'torn.json' -- rnbd restore "$OUT/torn.json"
wrong 1 '/dev/gone' 'No such file' -- rnbd export add disk0 --path /dev/gone
wrong 1 '/dev/null' 'block device' -- rnbd export add disk0 --path /dev/null
wrong 1 '/etc' 'block device' -- rnbd export add disk0 --path /etc
# For a number outside the range that the kernel accepts, the error message must give the range. No
# target listens yet, so the message also shows that the client does not try to connect.
wrong 2 '--queues: ' '(1 to 1024)' -- rnbd attach "$ADDR" disk0 --queues 0
wrong 2 '--keepalive: ' '(100 to 60000)' -- rnbd attach "$ADDR" disk0 --keepalive 99
wrong 2 '--slot-size: ' '(1024 to 65536)' -- rnbd attach "$ADDR" disk0 --slot-size 0
wrong 1 '--slot-size must be' 'multiple of 64' -- rnbd attach "$ADDR" disk0 --slot-size 1025
# No port listens yet, not even the default port.
wrong 1 "disk0 at $ADDR:4427" 'listens' -- rnbd attach "$ADDR" disk0
wrong 1 'disk0 at 192.0.2.1:4427' 'route' -- rnbd attach 192.0.2.1 disk0
wrong 1 'no-such-host.invalid' -- rnbd attach no-such-host.invalid disk0

export_disk disk0 "$disk" 1
note "a name or a device that is taken"
wrong 1 'disk0' 'exists' 'rnbd export remove disk0' -- rnbd export add disk0 --path "$disk"
wrong 1 "port add $ADDR" 'rnbd port list' -- rnbd port add "$ADDR"
wrong 1 "host remove $(host_id 1)" '(disk0)' 'rnbd host deny' -- rnbd host remove "$(host_id 1)"
wrong 1 'port remove 1' 'disk0' '--force' -- rnbd port remove 1
other=$(null_disk 32) || exit 1
mounted "$other" /mnt/other
wrong 1 'busy' 'busy' -- rnbd export add busy --path "$other" --host "$ID"
[ ! -e "$CFG/exports/busy" ] || die "a partial export is left"
umount /mnt/other
uuid=$(cat "$CFG/exports/disk0/uuid")
wrong 1 'other' 'export disk0' "$uuid" 'rnbd export disable disk0' -- \
	rnbd export add other --path "$other" --uuid "${uuid^^}"
[ ! -e "$CFG/exports/other" ] || die "a partial export is left"
mkdir "$CFG/exports/other"
echo "$other" >"$CFG/exports/other/path"
echo "$uuid" >"$CFG/exports/other/uuid"
wrong 1 'other' 'export disk0' "$uuid" 'rnbd export disable disk0' -- rnbd export enable other
(echo 1 >"$CFG/exports/other/enable") 2>/dev/null && die "two exports have one UUID"
dmesg_has 'export other: export disk0 is enabled and has the same uuid' || die "not in the kernel log"
run rnbd export disable disk0
run rnbd export enable other
wrong 1 'disk0' 'export other' 'rnbd export disable other' -- rnbd export enable disk0
run rnbd export remove other
run rnbd export enable disk0
run mount "$other" /mnt/other
# Storage that is exported already cannot be exported again by another name.
run truncate -s 1M /mnt/other/file
run ln /mnt/other/file /mnt/other/hard
run ln -s file /mnt/other/soft
run mkdir /mnt/bound
run mount --bind /mnt/other /mnt/bound
run mknod /mnt/other/node b "$(stat -c 0x%t "$disk")" "$(stat -c 0x%T "$disk")"
run rnbd export add file --path /mnt/other/file --host "$ID"
for name in /mnt/other/file /mnt/other/hard /mnt/other/soft /mnt/bound/hard; do
	wrong 1 'again' 'busy' 'kernel log' -- rnbd export add again --path $name --cache pagecache
	dmesg_has "export again: $name is in use by export file as /mnt/other/file; disable" ||
		die "the kernel log does not name the user of $name"
done
for name in "$disk" /mnt/other/node; do
	wrong 1 'again' 'busy' 'kernel log' -- rnbd export add again --path "$name" --cache pagecache
	dmesg_has "export again: $name is in use by export disk0 as $disk; disable" ||
		die "the kernel log does not name the user of $name"
done
run rnbd export disable file
run rnbd export add again --path /mnt/bound/hard --cache pagecache
wrong 1 'file' 'busy' -- rnbd export enable file
run rnbd export remove file
run rnbd export remove again
run umount /mnt/bound
wrong 1 "discover $ADDR:4999" 'listens' -- rnbd discover "$ADDR:4999"
wrong 1 "$ADDR:4999" 'listens' -- rnbd attach "$ADDR:4999" disk0
wrong 1 "other at $ADDR:4427" 'rnbd export list' -- rnbd attach "$ADDR" other
wrong 1 "disk0 at $ADDR:4427" 'not allowed' 'rnbd export allow' -- rnbd attach "$ADDR" disk0 --host-id "$ID"
wrong 2 'UUID' 12 -- rnbd export allow disk0 12
wrong 2 'UUID' 12 -- rnbd export deny disk0 12
wrong 1 "$ID" 'not allowed' -- rnbd export deny disk0 "$ID"
wrong 2 'UUID' '--host 12' -- rnbd export add other --path "$other" --host 12
wrong 2 'UUID' '--uuid 12' -- rnbd export add other --path "$other" --uuid 12
wrong 2 "--port $ADDR:x" 'ADDR:PORT' -- rnbd export add other --path "$other" --port "$ADDR:x"
[ ! -e "$CFG/exports/other" ] || die "a partial export is left"

note "a disk in use"
dev=$(attach disk0 --name mine) || exit 1
wrong 1 'mine' -- rnbd attach "$ADDR" disk0 --name mine
wrong 1 'session' 'disk0' '--force' -- rnbd clear
name=${dev##*/}
mounted "$dev" /mnt/disk
wrong 1 "$name" 'in use' 'force' -- rnbd detach "$dev"
wrong 1 "$name" 'in use' 'force' -- rnbd detach --all --wait 0
umount /mnt/disk
exec 9<"$dev"
wrong 1 "$name" 'in use' 'force' -- rnbd detach "$name"
exec 9<&-

note "not root"
wrong 1 'disk0' 'root' -- "${nobody[@]}" rnbd attach "$ADDR" disk0
wrong 1 'discover' 'root' -- "${nobody[@]}" rnbd discover "$ADDR"
wrong 1 "$name" 'root' -- "${nobody[@]}" rnbd detach "$name"
wrong 1 "deactivate $name" 'root' -- "${nobody[@]}" rnbd deactivate "$name"
wrong 1 'session list' 'root' -- "${nobody[@]}" rnbd session list
wrong 1 'monitor' 'root' -- "${nobody[@]}" rnbd monitor
wrong 1 'clear' 'root' -- "${nobody[@]}" rnbd clear
wrong 1 'restore' 'root' -- "${nobody[@]}" rnbd restore "$OUT/empty.json"
wrong 1 'host allow disk0' 'root' -- "${nobody[@]}" rnbd host allow disk0 "$ID"
wrong 1 'host deny disk0' 'root' -- "${nobody[@]}" rnbd host deny disk0 "$ID"
wrong 1 'host limit' 'root' -- "${nobody[@]}" rnbd host limit "$ID" 1M
wrong 1 'host secret' 'root' -- "${nobody[@]}" rnbd host secret "$ID" --clear
wrong 1 'secret generate /etc/rnbd/s' 'Permission denied' -- "${nobody[@]}" rnbd secret generate /etc/rnbd/s
wrong 1 'host remove' 'root' -- "${nobody[@]}" rnbd host remove "$ID"
wrong 1 'fence' 'root' -- "${nobody[@]}" rnbd fence "$ID"
wrong 1 'port add' 'root' -- "${nobody[@]}" rnbd port add "$ADDR:4999"
wrong 1 'port remove' 'root' -- "${nobody[@]}" rnbd port remove 1
wrong 1 'disk1' 'root' -- "${nobody[@]}" rnbd export add disk1 --path /etc/passwd
for command in 'remove disk0' 'enable disk0' 'disable disk0' 'resize disk0' "allow disk0 $ID" "deny disk0 $ID"; do
	# shellcheck disable=SC2086 # words of a command
	wrong 1 "export ${command%% *} disk0" 'root' -- "${nobody[@]}" rnbd export $command
done
mv /etc/rnbd/hostid /etc/rnbd/hostid.away
wrong 1 '/etc/rnbd' 'root' -- "${nobody[@]}" rnbd hostid
echo nonsense >/etc/rnbd/hostid
wrong 1 '/etc/rnbd/hostid' 'UUID' -- rnbd hostid
wrong 1 '/etc/rnbd/hostid' 'UUID' -- rnbd attach "$ADDR" disk0
mv /etc/rnbd/hostid.away /etc/rnbd/hostid

for command in "${all[@]}"; do
	[ "${used[$command]-}" ] || die "no wrong use of: $command"
done
detach "$dev"
umount /mnt/other
configfs_clear
unload
[ "$bad" = 0 ] || die "$bad of $rows wrong uses had an unexpected result"
note "$rows wrong uses"
