# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the tests of make hw-check: sourced after rnbd.sh. On node 1 a script does not continue
# after this file: node 1 only serves ssh until node 2 has run the checks.

# Node 1 is the target. Node 2 is the client and also runs the check, which uses ssh to both nodes.
RESULTS=/tmp/results

serve_ssh() {
	mkdir -p /run/sshd /root/.ssh
	chmod 700 /root/.ssh
	told key >/root/.ssh/authorized_keys
	/usr/sbin/sshd || die "no sshd"
}

# state MACHINE: print the state of a machine that a check changes and must restore
# shellcheck disable=SC2016 # expanded by the other machine
state() {
	ssh "$1" 'cut -d " " -f 1 /proc/modules | sort
		find /sys/kernel/config /etc/rnbd /var/tmp -mindepth 1 2>/dev/null | sort
		ls /sys/block /sys/class/infiniband
		cat /sys/kernel/tracing/kprobe_events
		awk "{ print \$2 }" /proc/mounts
		ps -eo comm= | grep -E "^(fio|gencheck|node)$"
		true' || die "no state of $1"
}
states() { state n1 && echo --- && state n2; }
unchanged() { [ "$(states)" = "$before" ]; }

# check [VARIABLE=VALUE...]: run make hw-check with these variables, and write its output to
# $OUT/check
check() {
	note "make hw-check $*"
	make -s -C /lab/src hw-check TARGET=n1 CLIENT=n2 RESULTS=$RESULTS QUICK=1 "$@" >"$OUT/check" 2>&1
}

says() { grep -qE -- "$1" "$OUT/check" || die "'$1' is not in the output: $(cat "$OUT/check")"; }

# unpack: unpack the archive of results that the last check has named; set $results to its directory
unpack() {
	local archive

	archive=$(sed -n 's/^hw-check: [0-9]* passed, [0-9]* failed, [0-9]* skipped: //p' "$OUT/check")
	results=$(mktemp -d)
	tar -C "$results" -xzf "$archive" || die "no archive '$archive': $(cat "$OUT/check")"
	results=$(echo "$results"/*)
	cp -a "$results" "$OUT/"
}

# holds FILE RE: fail unless a file of the archive matches RE
holds() { grep -qE "$2" "$results/$1" || die "$1 has no '$2': $(tail -n 30 "$results/$1")"; }

if [ "$NODE" = 1 ]; then
	barrier key
	serve_ssh
	barrier ready
	barrier over 1190
	exit 0
fi

mkdir -p /root/.ssh
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 || die "ssh-keygen"
tell key "$(cat /root/.ssh/id_ed25519.pub)"
for i in n1 n2 127.0.0.1; do echo "$i $(cut -d ' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub)"; done >/root/.ssh/known_hosts
barrier key
serve_ssh
barrier ready
before=$(states)
