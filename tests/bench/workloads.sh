# shellcheck shell=bash disable=SC2154 # the caller sets $fs and $sys
# SPDX-License-Identifier: GPL-2.0-only
# Workloads by which the file system that is mounted at $DIR is measured. Sourced after
# ../lib/lab.sh.

SIZE=32m		# size of the file that streams write and read
TREE=50			# MB of the tree that untar unpacks
DIR=/mnt/t

# result WORK UNIT VALUE: record a result
result() {
	jq -nc --arg fs "$fs" --arg system "$sys" --arg work "$1" --arg unit "$2" \
		--argjson value "$3" '{ $fs, $system, $work, $unit, $value }' >>"$OUT/results" ||
		die "$1: $3 is not a number"
	lab log "$sys $fs: $1: $3 $2"
}

cold() {
	sync -f "$DIR"
	echo 3 >/proc/sys/vm/drop_caches
}

# megabytes FIO-OPTIONS...: run fio in $DIR and print its MB/s
megabytes() {
	fio --name=f --directory="$DIR" --ioengine=psync --output-format=json "$@" >"$OUT/fio.json" \
	    2>"$OUT/fio.err" || die "fio: $(cat "$OUT/fio.err")"
	jq '.jobs[0] | (.read.bw_bytes + .write.bw_bytes) / 1e6 | . * 10 | round / 10' "$OUT/fio.json"
}

# stream WORK BS RW FIO-OPTIONS...: read or write one file with fio, and record the MB/s as WORK BS
stream() {
	local work=$1 bs=$2 rw=$3
	shift 3
	cold
	result "$work $bs" MB/s "$(megabytes --filename=stream --rw="$rw" --bs="$bs" --size=$SIZE "$@")"
}

# seconds COMMAND...: run COMMAND and print its duration in seconds
seconds() {
	local start=${EPOCHREALTIME/[.,]/} took
	"$@" >"$OUT/log" 2>&1 || die "$*: $(tail -3 "$OUT/log")"
	took=$((${EPOCHREALTIME/[.,]/} - start))
	echo "$((took / 1000000)).$(printf %02d $((took % 1000000 / 10000)))"
}

untar() { tar -C "${1:-$DIR}" -xf /dev/shm/tree.tar && sync -f "$DIR"; }

# make_tree all|FILES: copy about TREE MB of files of the guest root into a tree, which is the same
# in all runs; write all of it, or only its first FILES files, to the archive /dev/shm/tree.tar
make_tree() {
	local i=0
	mkdir -p /dev/shm/tree
	cp -a /usr/share/zoneinfo /usr/include /usr/share/perl /usr/share/doc /dev/shm/tree/ 2>/dev/null
	while [ "$(du -sm /dev/shm/tree | cut -f1)" -lt $TREE ]; do
		cp -a /usr/share/zoneinfo "/dev/shm/tree/more$((i++))"
	done
	if [ "$1" = all ]; then
		tar -C /dev/shm -cf /dev/shm/tree.tar tree
	else
		(cd /dev/shm && find tree -type f | sort | head -n "$1" | tar -cf tree.tar -T -)
	fi
	rm -rf /dev/shm/tree
}

# postmarks DIR N: run postmark in DIR with N files and N transactions; print its duration in
# seconds
postmarks() {
	printf 'set number %d\nset transactions %d\nset location %s\nset seed 7\nrun %s\nquit\n' \
		"$2" "$2" "$1" "$OUT/postmark" >/tmp/pm.conf
	seconds postmark /tmp/pm.conf
}
