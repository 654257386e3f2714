#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 180
# turns: 3
# adapter: only
# short: an export is disabled while its storage hangs: only commands that wait for it block, and they can be killed; logins allocate without I/O
. ../lib/lab.sh
. ../lib/rnbd.sh

T=/sys/kernel/tracing
X=$CFG/exports

gone() { ! kill -0 "$1" 2>/dev/null; }
# quick COMMAND...: the command must end within 2 s; return its status
quick() {
	"$@" >"$OUT/quick" 2>&1 &
	local pid=$!
	wait_quietly 2 gone $pid || die "the command waits for the storage: $*"
	wait $pid
}
state_is() { [ "$(cat "$X/$1/state")" = "$2" ]; }
# waits COMMAND...: start a command that must wait for the storage; killed: fail unless this command
# still waits, and kill it
waits() {
	"$@" >"$OUT/waits" 2>&1 &
	waiting=$!
}
killed() {
	gone "$waiting" && die "the command does not wait for the storage: $(cat "$OUT/waits")"
	kill "$waiting"
	wait_for 2 gone "$waiting"
}
host_attr_is() { [ "$(cat "$CFG/hosts/$(host_id "$1")/$2")" = "$3" ]; }
port_is() { [ "$(cat "$CFG/ports/1/state")" = "$1" ]; }
# reads: every command and every file that shows state must answer within 2 s
reads() {
	local file
	quick rnbd export list || die "export list"
	quick rnbd export show hung --json || die "export show"
	quick rnbd host list || die "host list"
	quick rnbd port list || die "port list"
	quick rnbd session list --target || die "session list"
	quick rnbd save "$OUT/now.json" || die "save"
	quick rnbd restore --compare "$OUT/target.json"
	while read -r file; do
		quick cat "$file"
	done < <(find "$CFG" /sys/kernel/rnbd-target/sessions -type f -perm -400)
}

set_host_id
modprobe dm-mod 2>/dev/null
disk=$(null_disk 64) || exit 1
echo "0 131072 linear $disk 0" | dmsetup create back || die "dmsetup"
target_start
export_disk hung /dev/mapper/back
export_disk fine "$(null_disk 16)"
run rnbd host allow hung "$(host_id 2)"
run rnbd secret generate "$OUT/a"
run rnbd secret generate "$OUT/b"

note "no page of a login, a grant, a list of exports or a teardown is allocated in a way that may wait for I/O"
mount -t tracefs tracefs $T 2>/dev/null
echo 16384 >$T/buffer_size_kb
echo 1 >$T/options/stacktrace
echo 'comm ~ "kworker*"' >$T/events/kmem/mm_page_alloc/filter
echo 1 >$T/events/kmem/mm_page_alloc/enable || die "no trace point"
dev=$(attach fine --queues 2 --pool 8M) || exit 1
rnbd discover "$ADDR" >/dev/null || die "discover"
run fio --name=grow --filename="$dev" --direct=1 --ioengine=libaio --rw=randread --bs=256k \
    --iodepth=16 --size=8m --minimal --output=/dev/null
wait_for 10 counter_over "$dev" pool_grants 0
detach "$dev"
no_session() { [ -z "$(ls /sys/kernel/rnbd-target/sessions)" ]; }
wait_for 60 no_session
echo 0 >$T/events/kmem/mm_page_alloc/enable
echo 0 >$T/options/stacktrace
# Print the GFP flags of each page allocation whose stack has a function of the target.
awk '/mm_page_alloc:/ { flags = $NF }
     / => rnbdt_/ && flags { print flags; flags = "" }' $T/trace >"$OUT/pages"
sort "$OUT/pages" | uniq -c
need_counter "$(wc -l <"$OUT/pages")" -ge 8 "allocations of pages by the target"
if grep -q 'GFP_KERNEL\|__GFP_IO\|__GFP_FS\|GFP_NOFS' "$OUT/pages"; then die "the target waits for I/O"; fi

note "an export whose storage hangs is disabled"
rnbd save "$OUT/target.json" || die "save"
dev=$(attach hung --queues 2 --pool 4M --loss-timeout 0) || exit 1
dmsetup suspend --noflush --nolockfs back || die "suspend"
dd if=/dev/zero of="$dev" bs=64k count=8 oflag=direct status=none 2>/dev/null &
writer=$!
in_flight() { [ "$(awk '{ print $2 }' "/sys/block/${dev##*/}/inflight")" -gt 0 ]; }
wait_for 10 in_flight
quick sh -c "echo 0 >$X/hung/enable" || die "disable"
reads
state_is hung disabling || die "the export is $(cat "$X/hung/state")"
same "$(cat "$X/hung/closing")" 1 "attachments that wait for the storage"
quick rnbd export list
grep -q 'hung .* disabling ' "$OUT/quick" || die "the list does not show that the export is being disabled: $(cat "$OUT/quick")"

note "a waiting command can be killed or have a timeout, and the disable continues"
if rnbd export disable hung --timeout 1 2>"$OUT/limit"; then die "the export was disabled while the storage hangs"; fi
grep -q 'not completed all requests within 1 s (attachments: 1)' "$OUT/limit" || die "unexpected message: $(cat "$OUT/limit")"
rnbd export disable hung &
disable=$!
# The second host must be denied although the command waits for requests of the first host in the
# hung storage.
rnbd export deny hung "$(host_id 1)" "$(host_id 2)" &
deny=$!
wait_for 10 sh -c "[ -z \"\$(ls $X/hung/allowed_hosts)\" ]"
reads
kill -9 $disable
kill $deny
wait_for 2 gone $disable
wait_for 2 gone $deny
quick rnbd export disable hung --no-wait || die "disable"
state_is hung disabling || die "the export is $(cat "$X/hung/state")"
if quick rnbd export enable hung; then die "enabled while it is being disabled"; fi
grep -q 'busy' "$OUT/quick" || die "unexpected message: $(cat "$OUT/quick")"
dmesg_has 'export hung: still being disabled' || die "not in the log"
if quick sh -c "echo /dev/null >$X/hung/path"; then die "the path of the export was changed"; fi

note "a secret is set, rotated and withdrawn while storage hangs, and blocks no other host"
waits rnbd host secret "$(host_id 1)" --secret-file "$OUT/a"
wait_for 10 host_attr_is 1 has_secret 1
quick rnbd host secret "$(host_id 2)" --secret-file "$OUT/b" || die "host secret: $(cat "$OUT/quick")"
host_attr_is 2 has_secret 1 || die "the second host has no secret"
same "$(cat "$CFG/hosts/$(host_id 1)/stale_secret_sessions")" 1 "sessions of the first host that logged in without its secret"
quick rnbd host secret "$(host_id 1)" --secret-file "$OUT/b" --rotate || die "rotate: $(cat "$OUT/quick")"
host_attr_is 1 has_old_secret 1 || die "there is no old secret"
killed
waits rnbd host secret "$(host_id 1)" --withdraw
wait_for 10 host_attr_is 1 has_old_secret 0
killed
quick sh -c "cat '$OUT/a' >$CFG/hosts/$(host_id 1)/secret" || die "the kernel waits for the storage"
quick rnbd host secret "$(host_id 1)" --clear || die "clear: $(cat "$OUT/quick")"
quick rnbd host remove "$(host_id 2)" || die "host remove: $(cat "$OUT/quick")"

note "rnbd port remove and rnbd clear disable other objects, and can be killed while they wait"
waits rnbd port remove 1 --force
wait_for 10 port_is disabled
killed
waits rnbd clear --force
wait_for 10 state_is fine disabled
killed
quick sh -c "echo 1 >$X/fine/enable; echo 1 >$CFG/ports/1/enable" || die "enable: $(cat "$OUT/quick")"

note "other exports work"
other=$(attach fine --new-session --queues 1 --pool 1M) || exit 1
works "$other"
detach "$other"

note "the export can be removed, but its storage cannot be exported again before its requests have ended"
quick rm "$CFG/ports/1/exports/hung" || die "unlink: $(cat "$OUT/quick")"
quick rmdir "$X/hung" || die "rmdir: $(cat "$OUT/quick")"
same "$(ls "$X")" fine "exports"
mkdir "$X/again" || die "mkdir"
echo /dev/mapper/back >"$X/again/path"
if quick sh -c "echo 1 >$X/again/enable"; then die "two exports use one storage"; fi
quick rnbd export list || die "export list"
rnbd session list --target | grep -q closing || die "no session is closing"

note "the storage works again"
dmsetup resume back || die "resume"
enabled() { sh -c "echo 1 >$X/again/enable" 2>/dev/null; }
wait_for 20 enabled
dmesg_has 'export hung: disabled' || die "not in the log"
rnbd deactivate "$dev" || die "deactivate"
wait $writer && die "the write to the disk succeeded"
detach "$dev"

note "only root can read counters, and a reader takes no lock that a login needs"
wait_for 60 no_session
dev=$(attach fine --queues 2 --pool 1M) || exit 1
works "$dev"
session=$(ls /sys/kernel/rnbd-target/sessions)
for name in requests read_bytes write_bytes; do
	same "$(stat -c %a "/sys/kernel/rnbd-target/sessions/$session/$name")" 400 "mode of $name"
done
same "$(find "$CFG" -type f -perm /077)" "" "attributes in configfs that not only root can access"
lock=$(awk '$3 == "rnbdt_lock" { print "0x" $1 }' /proc/kallsyms)
for mode in read write; do
	echo "p:rnbdproof/$mode down_$mode lock=%di:x64" >>$T/kprobe_events || die "no probe"
	echo "lock == $lock && comm == \"cat\"" >$T/events/rnbdproof/$mode/filter ||
		die "no filter"
done
echo >$T/trace
echo 1 >$T/events/rnbdproof/enable
requests=$(cat "/sys/kernel/rnbd-target/sessions/$session/requests")
cat /sys/kernel/rnbd-target/sessions/"$session"/* >"$OUT/session"
same "$(grep -cE '\(down_(read|write)\+' $T/trace)" 0 "times that a reader took the lock"
# A reader of configfs takes rnbdt_lock; the probe must see that, which shows that the probe works.
cat "$X/fine/size" >/dev/null
need_counter "$(grep -cE '\(down_(read|write)\+' $T/trace)" -ge 1 "times that a reader of configfs took it"
echo 0 >$T/events/rnbdproof/enable
echo >$T/kprobe_events
need_counter "$requests" -gt 0 "requests counted"
detach "$dev"
configfs_clear
dmsetup remove back || die "dmsetup remove"
unload
