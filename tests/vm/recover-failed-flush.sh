#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 2 --mem 1024 --timeout 200
# turns: 2
# adapter: only
# short: a failed flush does not succeed when it is resent, nor does a later one; after the export is enabled again the disk fails
. ../lib/lab.sh
. ../lib/rnbd.sh

# The page cache of the target reports a failed write-back once and then regards the pages as clean.
# The storage fails during a flush, and the target drops the reply (drop_reply). The flush that the
# client sends again must fail although the page cache no longer reports the error.
set_host_id
if [ "$NODE" = 1 ]; then
	modprobe dm-mod 2>/dev/null
	disk=$(null_disk 32) || exit 1
	echo "0 65536 linear $disk 0" | dmsetup create back || die "dmsetup failed"
	table() {
		echo "0 65536 $*" | dmsetup reload back || die "reload failed"
		dmsetup suspend --noflush --nolockfs back || die "suspend failed"
		dmsetup resume back || die "resume failed"
	}
	target_start
	export_disk disk0 /dev/mapper/back -- --cache pagecache --write-cache back
	barrier exported
	barrier written
	table error
	strike rnbd-target drop_reply 1
	barrier flush
	wait_for 40 test -e "$SHARED/flushed"
	same "$(hits rnbd-target drop_reply)" 1 "replies dropped"
	table linear "$disk" 0
	barrier healed
	barrier again 60
	rnbd export disable disk0 || die "disable failed"
	rnbd export enable disk0 || die "enable failed"
	barrier enabled
	barrier end 120
	configfs_clear
	dmsetup remove back
	unload
	exit 0
fi

barrier exported
modprobe rnbd io_timeout=3
dev=$(attach disk0 --queues 1) || exit 1
sys=/sys/block/$(basename "$dev")/rnbd
dd if=/dev/urandom of="$dev" bs=64k count=4 oflag=direct status=none || die "write failed"
sync "$dev" || die "flush failed"
dd if=/dev/urandom of="$dev" bs=64k count=4 oflag=direct status=none || die "write failed"
barrier written
barrier flush
# The reply to the first execution of the flush is lost. The second execution must fail too,
# although the page cache reports the error only once.
if sync "$dev" 2>"$OUT/sync"; then die "the failed flush succeeded when it was resent"; fi
cat "$OUT/sync"
need "$dev" reconnects -eq 1
: >"$SHARED/flushed"
barrier healed
for i in 1 2; do
	if sync "$dev" 2>/dev/null; then die "flush $i after the failure succeeded"; fi
done
grep -q live "$sys/state" || die "state: $(cat "$sys/state")"
dd if=/dev/urandom of="$dev" bs=64k count=4 oflag=direct status=none || die "write failed"
barrier again 60
barrier enabled 60
wait_for 20 grep -q failed "$sys/state"
grep -q 'may have lost' "$sys/last_error" || die "reason: $(cat "$sys/last_error")"
cat "$sys/last_error"
detach "$dev"

dev=$(attach disk0 --queues 1) || exit 1
dd if=/dev/urandom of="$dev" bs=64k count=4 oflag=direct status=none || die "write failed"
sync "$dev" || die "the flush still fails"
detach "$dev"
barrier end
unload
