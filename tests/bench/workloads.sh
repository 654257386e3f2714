# shellcheck shell=bash disable=SC2154 # the caller sets $fs and $sys
# SPDX-License-Identifier: GPL-2.0-only
# Workloads for the measured file systems, in $DIR. Sourced after ../lib/lab.sh.

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

# megabytes FIO-OPTIONS...: print the MB/s of fio in the directory
megabytes() {
	fio --name=f --directory="$DIR" --ioengine=psync --output-format=json "$@" >"$OUT/fio.json" \
	    2>"$OUT/fio.err" || die "fio: $(cat "$OUT/fio.err")"
	jq '.jobs[0] | (.read.bw_bytes + .write.bw_bytes) / 1e6 | . * 10 | round / 10' "$OUT/fio.json"
}

# stream WORK BS RW FIO-OPTIONS...: record the MB/s of one file
stream() {
	local work=$1 bs=$2 rw=$3
	shift 3
	cold
	result "$work $bs" MB/s "$(megabytes --filename=stream --rw="$rw" --bs="$bs" --size=$SIZE "$@")"
}

# seconds COMMAND...: run COMMAND and print its duration
seconds() {
	local start=${EPOCHREALTIME/[.,]/} took
	"$@" >"$OUT/log" 2>&1 || die "$*: $(tail -3 "$OUT/log")"
	took=$((${EPOCHREALTIME/[.,]/} - start))
	echo "$((took / 1000000)).$(printf %02d $((took % 1000000 / 10000)))"
}

untar() { tar -C "${1:-$DIR}" -xf /dev/shm/tree.tar && sync -f "$DIR"; }

# make_tree all|FILES: archive a tree of about TREE MB, made of files of the guest root and the same
# in all runs; or only FILES files of it
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

# postmarks DIR N: print the seconds of postmark with N files and as many transactions
postmarks() {
	printf 'set number %d\nset transactions %d\nset location %s\nset seed 7\nrun %s\nquit\n' \
		"$2" "$2" "$1" "$OUT/postmark" >/tmp/pm.conf
	seconds postmark /tmp/pm.conf
}
