# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the cluster tests: node 1 is the target; nodes 2 and 3 mount one file system from one
# export concurrently. A test sources this file as ../lib/cluster.sh.

# shellcheck source=tests/lib/lab.sh
. ../lib/lab.sh
# shellcheck source=tests/lib/rnbd.sh
. ../lib/rnbd.sh
# shellcheck source=tests/lib/document.sh
. ../lib/document.sh

DOCUMENTS="../../Documentation/admin/cluster*.rst"
# The names that the documents use for this machine
if [ "${NODE:?}" = 1 ]; then NAMES=target; else NAMES="n$NODE nodes"; fi
# The disk and the mount point in the document
# shellcheck disable=SC2034 # for those that source this
DISK=/dev/rnbd0 DIR=/srv/shared

# The node number of the other client
PEER=$((5 - NODE))

# fenced_is STATE: succeed if the fencing state of the host with the UUID $victim is STATE;
# refusals: print how many connections of fenced hosts were refused
fenced_is() { [ "$(rnbd fenced "${victim:?}")" = "$1" ]; }
refusals() { cat /sys/kernel/rnbd-target/refused/fenced; }
refused_over() { [ "$(refusals)" -gt "$1" ]; }

# both NAME [SECONDS]: wait until both clients have reached barrier NAME
both() { lab barrier "$1" --nodes 2,3 --timeout "${2:-60}" || die "barrier $1"; }

# from_document SECTION [WAS IS]...: run the commands of a section of the documents, with each text
# WAS replaced by IS. If $UP_TO is set, run only the commands before the first command that begins
# with this text.
from_document() {
	local section=$1 i
	shift

	read_commands "$DOCUMENTS" "$section"
	if [ -n "${UP_TO-}" ]; then
		need_commands "$UP_TO"
		for ((i = 0; i < ${#commands[@]}; i++)); do
			[[ ${commands[i]} != "$UP_TO"* ]] || break
		done
		commands=("${commands[@]:0:i}")
	fi
	while [ $# -gt 0 ]; do
		need_commands "$1"
		commands=("${commands[@]//"$1"/"$2"}")
		shift 2
	done
	# shellcheck disable=SC2086 # a list
	walk "${section// /-}" $NAMES
	took "$section"
}

# disk_from_document: run the commands of the document that export and attach the disk; the clients
# get the host ids that the document shows
disk_from_document() {
	local section="The target and the disk" i

	if [ "$NODE" = 1 ]; then
		ln -s "$(null_disk 400)" /dev/sdb
	else
		read_commands "$DOCUMENTS" "$section"
		for ((i = 0; i < ${#commands[@]}; i++)); do
			[ "${machines[i]} ${commands[i]}" = "n$NODE rnbd hostid" ] || continue
			mkdir -p /etc/rnbd
			echo "${outputs[i]}" >/etc/rnbd/hostid
		done
	fi
	from_document "$section"
}

# need_fstab TYPE: fail unless the line for $DIR that the document has added to /etc/fstab names the
# disk and the file system TYPE
need_fstab() {
	same "$(findfs "$(sed -n "s|^\(UUID=[^ ]*\) $DIR $1 .*|\1|p" /etc/fstab)")" $DISK "device that fstab mounts"
}

# bring_keys COMMAND: copy public keys between the nodes, as scp does on real machines. If COMMAND
# is ssh-keyscan, store the key of this node in $SHARED; if COMMAND writes authorized_keys, fetch
# the keys of all nodes from $SHARED.
bring_keys() {
	case $1 in
	ssh-keyscan*) cp /root/.ssh/fencing.pub "$SHARED/n$NODE.pub" ;;
	*authorized_keys) cp "$SHARED"/n?.pub /root/.ssh/ ;;
	esac
}

# start_corosync: start corosync and add its PID to daemons[]; make the device nodes for
# dlm_controld, as udev does on real machines
daemons=()
start_corosync() {
	local link

	mkdir -p /var/lib/corosync /run/dlm_controld /var/log/dlm_controld /dev/misc
	modprobe -a dlm gfs2 || die "no dlm"
	for link in dlm-control dlm-monitor dlm_plock; do ln -sf ../$link /dev/misc/$link; done
	corosync -f >"$OUT/corosync" 2>&1 &
	daemons+=($!)
	wait_for 60 corosync-quorumtool -s
}

# all_synced: the files that node 3 had synced before it was killed or paused must be complete;
# remove them
all_synced() {
	local i

	need_counter "$(told synced)" -ge 5 "files of node 3 that were synced"
	for ((i = 1; i <= $(told synced); i++)); do
		same "$(<"$DIR/load/$i")" "$i" "file of node 3"
	done
	run rm -r $DIR/load
}

# took WHAT: print WHAT and the time since the last call of took
took_since=${EPOCHREALTIME/[.,]/}
took() {
	local now=${EPOCHREALTIME/[.,]/}

	note "$1: $(((now - took_since) / 1000)) ms"
	took_since=$now
}

# agree NAME <TEXT: both clients must pass the same text, which must not be empty
agree() {
	cat >"$SHARED/$1.$NODE"
	both "agree-$1"
	[ -s "$SHARED/$1.$NODE" ] || die "$1: nothing to compare"
	cmp "$SHARED/$1.$NODE" "$SHARED/$1.$PEER" ||
		die "$1 differs: $(diff "$SHARED/$1.$NODE" "$SHARED/$1.$PEER" | head -n 5)"
}

# --- checks of one directory; each function runs on both nodes concurrently

# share_bytes DIR: each node must read the bytes that the other node has written; both nodes write
# and read through the page cache and with direct I/O
share_bytes() {
	local dir=$1 how

	for how in oflag=direct conv=fsync; do
		dd if=/dev/urandom of=/dev/shm/random bs=64k count=16 status=none || die "no random bytes"
		dd if=/dev/shm/random of="$dir/$how.$NODE" bs=64k "$how" status=none || die "write failed: $how"
		md5sum </dev/shm/random >"$SHARED/$how.$NODE"
	done
	both bytes
	for how in oflag=direct conv=fsync; do
		same "$(md5sum <"$dir/$how.$PEER")" "$(<"$SHARED/$how.$PEER")" "written with $how, read"
		same "$(dd if="$dir/$how.$PEER" bs=64k iflag=direct status=none | md5sum)" \
			"$(<"$SHARED/$how.$PEER")" "written with $how, read with iflag=direct"
	done
}

# round DIR WRITER N [DD-OPTION]: node WRITER overwrites a block that the other node has in its
# cache, without fsync unless DD-OPTION requests it; fail if the other node reads old data
round() {
	local dir=$1 writer=$2 text="round $3 of n$2" read
	shift 3

	if [ "$NODE" = "$writer" ]; then
		printf '%-4096s' "$text" >/dev/shm/block
		dd if=/dev/shm/block of="$dir/block" bs=4096 conv=notrunc "$@" status=none ||
			die "write failed: $*"
	fi
	both "$writer-wrote"
	[ "$NODE" != "$writer" ] || return 0
	read -r read <"$dir/block"
	[ "$read" = "$text" ]
}

# share_cache DIR: a write of one node must invalidate the cache of the other
share_cache() {
	local dir=$1 i

	if [ "$NODE" = 2 ]; then printf '%-4096s' "round 0" >"$dir/block"; fi
	both block
	cat "$dir/block" >/dev/null
	for i in 1 2; do
		if ! round "$dir" 2 "$i" || ! round "$dir" 3 "$i" oflag=direct; then
			die "round $i: the block does not have the data of node $PEER, but $(head -c 20 "$dir/block")"
		fi
	done
}

# share_block DIR: both nodes concurrently write single bytes of one block, one node the even bytes
# and the other node the odd bytes; no byte may be lost
share_block() {
	local dir=$1

	[ "$NODE" = 3 ] || : >"$dir/bytes"
	both bytes
	perl -e '
		use Fcntl;
		my ($file, $node, $n) = @ARGV;
		sysopen(my $f, $file, O_RDWR) or die "open: $!";
		for (my $i = 0; $i < $n; $i++) {
			sysseek($f, 2 * $i + $node - 2, 0);
			syswrite($f, $node) == 1 or die "write: $!";
		}' "$dir/bytes" "$NODE" 60 || die "byte writes failed"
	both one-block
	same "$(<"$dir/bytes")" "$(printf '23%.0s' {1..60})" "bytes of both nodes in one block"
}

# share_append DIR: both nodes increment a counter and append its value to a file under flock; each
# number must appear once and in order. The file is opened for each line, because OCFS2 loses lines
# of a file that stays open, on any disk.
share_append() {
	local dir=$1 n=10 i count

	# Create all files first: OCFS2 returns EEXIST if both nodes create a file concurrently,
	# even without O_EXCL.
	if [ "$NODE" = 2 ]; then
		: >"$dir/lock"
		: >"$dir/lines"
		echo 0 >"$dir/counter"
	fi
	both counter
	for ((i = 0; i < n; i++)); do
		flock 9
		read -r count <"$dir/counter"
		echo $((count + 1)) >"$dir/counter"
		echo "$((count + 1)) n$NODE" >>"$dir/lines"
		flock -u 9
	done 9>>"$dir/lock"
	both appended
	same "$(<"$dir/counter")" $((2 * n)) "the counter"
	same "$(cut -d ' ' -f 1 "$dir/lines" | xargs)" "$(seq -s ' ' $((2 * n)))" "the lines"
	same "$(grep -c "n$NODE" "$dir/lines")" "$n" "lines of this node"
	note "flock went to the other node $(uniq -f 1 "$dir/lines" | wc -l) times"
}

# share_race DIR: both nodes create the same names with O_EXCL; exactly one node must succeed for
# each name. For the first half of the names both nodes use the same order, so they compete for each
# name; for the second half they begin at different names.
share_race() {
	local dir=$1/race n=32

	[ "$NODE" = 3 ] || mkdir "$dir"
	both race
	perl -e '
		use Fcntl;
		my ($dir, $node, $n) = @ARGV;
		sub take {
			my ($name) = @_;
			if (sysopen(my $f, "$dir/$name", O_WRONLY | O_CREAT | O_EXCL)) {
				syswrite($f, "$node\n") == 2 or die "write: $!";
				print "$name\n";
			} else {
				$!{EEXIST} or die "$dir/$name: $!";
			}
		}
		my $half = $n / 2;
		take($_) for 0 .. $half - 1;
		take($half + ($_ + $node * $half / 2) % $half) for 0 .. $half - 1;' \
		"$dir" "$NODE" $n >"$SHARED/won.$NODE" || die "the race failed"
	both raced
	same "$(sort -n "$SHARED/won.2" "$SHARED/won.3" | xargs)" "$(seq -s ' ' 0 $((n - 1)))" "files that either node created"
	same "$(cd "$dir" && grep -lx "$NODE" -- * | sort -n | xargs)" "$(sort -n "$SHARED/won.$NODE" | xargs)" \
		"names with this node in them"
	note "this node created $(wc -l <"$SHARED/won.$NODE") of $n files"
}

# share_names DIR: both nodes create files in one directory, and rename, delete and link files of
# the other node
share_names() {
	local dir=$1/names n=8 i node want=()

	[ "$NODE" = 3 ] || mkdir "$dir"
	both names
	for ((i = 0; i < n; i++)); do
		echo "$NODE $i" >"$dir/n$NODE-$i" || die "create failed"
	done
	both created
	same "$(find "$dir" -type f | wc -l)" $((2 * n)) "names"
	both counted
	for ((i = 0; i < n; i += 4)); do
		mv "$dir/n$PEER-$i" "$dir/renamed-$PEER-$i" || die "rename failed"
		rm "$dir/n$PEER-$((i + 1))" || die "delete failed"
		ln "$dir/n$PEER-$((i + 2))" "$dir/link-$PEER-$i" || die "link failed"
		# Retry, because OCFS2 returns EACCES if the other node has just replaced "last".
		wait_for 20 mv "$dir/n$NODE-$((i + 3))" "$dir/last"
	done
	both changed
	for node in 2 3; do
		for ((i = 0; i < n; i += 4)); do
			want+=("renamed-$node-$i" "n$node-$((i + 2))" "link-$node-$i")
			same "$(<"$dir/renamed-$node-$i")" "$node $i" "contents of a renamed file"
			same "$(<"$dir/link-$node-$i")" "$node $((i + 2))" "contents of a linked file"
		done
	done
	same "$(ls "$dir")" "$(printf '%s\n' "${want[@]}" last | sort)" "names"
	grep -qE "^[23] (3|7)$" "$dir/last" || die "last is $(<"$dir/last")"
}

# share_tree DIR: both nodes build one directory tree; then node 2 deletes a part of the tree, and
# node 3 renames another part
share_tree() {
	local dir=$1/tree a b

	[ "$NODE" = 3 ] || mkdir "$dir"
	both trees
	for a in 1 2 3; do
		for b in 1 2; do
			mkdir -p "$dir/$a/$b" || die "mkdir failed"
			echo "$a/$b of $NODE" >"$dir/$a/$b/n$NODE"
			ln -s "../n$NODE" "$dir/$a/$b/link$NODE"
		done
	done
	both tree
	same "$(find "$dir" | wc -l)" $((1 + 3 + 6 + 6 * 4)) "entries of the tree"
	both grown
	if [ "$NODE" = 2 ]; then rm -r "$dir/1"; else mv "$dir/2" "$dir/two"; fi
	both felled
	same "$(find "$dir" | wc -l)" $((1 + 2 + 4 + 4 * 4)) "entries that are left of the tree"
}

# share_compare DIR: all metadata and all data must be the same on both nodes
share_compare() {
	local dir=$1

	(cd "$dir" && find . -not -type d -printf '%P %y %m %U %n %s %T@ %i %l\n' | sort) | agree metadata
	(cd "$dir" && find . -type d -printf '%P %m %n %T@ %i\n' | sort) | agree directories
	(cd "$dir" && find . -type f -print0 | sort -z | xargs -0 md5sum) | agree data
	note "$(wc -l <"$SHARED/data.$NODE") files and $(wc -l <"$SHARED/directories.$NODE") directories are the same on both"
}

share() {
	local check

	took "until here"
	for check in bytes cache block append race names tree compare; do
		share_$check "$1"
		took "$check"
	done
}
