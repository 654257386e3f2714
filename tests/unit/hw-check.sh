#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test make hw-check without hardware: it refuses wrong options; without ACCEPT=yes it runs only
# commands on the two machines that change nothing; the archive does not contain names and
# addresses. A program replaces ssh.
#
#   hw-check.sh DIR     DIR is created and kept

cd "$(dirname "$0")" || exit
. ../lib/unit.sh
top=$(realpath ../..)
rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit
dir=$PWD

# This program replaces ssh for both hosts. It executes no command, but logs it and prints a fixed
# answer. The answer of env.sh has RDMA ports, and texts that must not be in the archive.
cat >ssh <<-'END'
	#!/bin/bash
	while [[ $1 = -* ]]; do
		case $1 in -o | -O) shift ;; esac
		shift
	done
	host=$1
	shift
	[ $# -gt 0 ] || exit 0
	echo "$host: $*" >>"$FAKE/commands"
	case $* in
	*id\ -u*) echo "$FAKE_UID" ;;
	*bash\ -s*)
		cat >"$FAKE/script"
		cat "$FAKE/environment"
		;;
	*ip\ -o\ route*) echo "10.9.0.1 dev eth7 src 10.9.0.2" ;;
	*) exit 1 ;;
	esac
END
chmod +x ssh
cat >environment <<-'END'
	@@ facts
	kernel 6.12.0
	cpus 4
	name storage1.example.com
	ssh 10.9.0.9 1000 10.9.0.1 22
	rdma mlx5_0 1 DOWN eth6 10.8.0.1
	rdma mlx5_1 1 ACTIVE eth7 10.9.0.1
	lacks nvme
	backend is mounted, or used as swap
	secret 10.9.0.1
	secret 10.9.0.2
	@@ link
	inet 10.9.0.1/24 link/ether 52:54:00:12:34:56 brd ff:ff:ff:ff:ff:ff inet6 fe80::5054:ff:fe12:3456/64
	link/infiniband 80:00:02:08:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:c0:41:d4
	at 12:34:56 firmware 230.0.157.0 on 0000:3b:00.0 of storage1 and of storage10
	latency 10.363184 us from 10.9.0.2
	@@ gid
	mlx5_1 3 0000:0000:0000:0000:0000:ffff:0a09:0001 RoCE v2
	node_guid 506b:4b03:00c2:1234 host 6f1f2c1e-8d3e-4c39-9d5b-0a4c4f0f3b11
	again fe80::5054:ff:fe12:3456 52:54:00:12:34:56
	@@ storage
	none
END
export FAKE=$dir FAKE_UID=0

# hw_check [VARIABLE=VALUE...]: run the check
hw_check() { env SSH="$dir/ssh" TARGET=root@storage1 CLIENT=compute1 RESULTS="$dir/results" "$@" "$top/tests/hw/run" 3>&-; }

says 2 "TARGET and CLIENT are needed" "no client" hw_check CLIENT=
says 2 "the same machine" "one machine" hw_check CLIENT=root@storage1
says 2 "MODULES is" "wrong MODULES" hw_check MODULES=none
says 2 'no part is called "all"' "wrong part" hw_check PARTS="env all"
[ ! -e commands ] || fail "a command was run on a machine in spite of a wrong option: $(cat commands)"

says 0 "Nothing was changed. To continue: make hw-check TARGET=root@storage1 CLIENT=compute1" "plan" hw_check
says 0 "TARGET_ADDR=10.9.0.1 QUICK=1 RESULTS=$dir/results ACCEPT=yes" "the command keeps options" hw_check QUICK=1
says 0 "address of the target's RDMA port: 10.9.0.1" "the address" hw_check
says 0 "client: no nvme" "missing commands" hw_check
says 0 "OVERWRITE /dev/sdz" "the plan names BACKEND" hw_check BACKEND=/dev/sdz
says 1 "BACKEND /dev/sdz is mounted, or used as swap: refused" "a mounted BACKEND" \
	hw_check ACCEPT=yes BACKEND=/dev/sdz
says 1 'neither root nor "sudo -n"' "not root" hw_check FAKE_UID=1000
same "$(grep -cvE '^[a-z0-9@]+: (sudo -n )? ?(id -u|bash -s|ip -o route get 10\.9\.0\.1) ?$' commands)" 0 \
	"commands that do not read"
same "$(grep -c 'sudo -n id -u' commands)" 1 "sudo where the user is not root"
cmp -s "$top/tests/hw/env.sh" <(tail -n +2 script) || fail "another script than env.sh was run"

# The archive of a run that changes nothing (PARTS=env)
rm -rf results
hw_check PARTS=env >said 2>&1 || fail "PARTS=env: $(cat said)"
tar -xzf results/*.tar.gz || fail "no archive: $(cat said)"
at=$(echo hw-check-*-target-client/environment/target)
line() { sed -n "$2p" "$at/$1.txt"; }
same "$(line link 1)" "inet ip4-1/24 link/ether mac-1 brd mac-2 inet6 ip6-1/64" "addresses"
same "$(line link 2)" "link/infiniband mac-3" "address of IPoIB"
same "$(line link 3)" "at 12:34:56 firmware 230.0.157.0 on 0000:3b:00.0 of target and of storage10" \
	"text that is not an address"
same "$(line gid 1)" "mlx5_1 3 gid-1 RoCE v2" "a GID"
same "$(line gid 2)" "node_guid guid-1 host uuid-1" "GUID and UUID"
same "$(line gid 3 | tr -d 0-9)" "again ip- mac-" "replacements that are the same in two files"
grep -rqE 'storage1\b|compute1|10\.9\.0\.' hw-check-* && fail "names are left: $(grep -rE 'storage1\b|compute1|10\.9\.0\.' hw-check-*)"
rm -rf results hw-check-*
hw_check PARTS=env CLIENT=10.9.0.2 >said 2>&1
tar -xzf results/*.tar.gz || fail "no archive of a host named by its address: $(cat said)"
at=$(echo hw-check-*-target-client/environment/target)
same "$(line link 4)" "latency 10.363184 us from client" "a number that begins as the address does"
hw_check PARTS=env ANON=no >said 2>&1
tar -xzf results/hw-check-*-storage1-compute1.tar.gz || fail "no archive with the names: $(cat said)"
grep -rq 10.9.0.1 hw-check-*-storage1-compute1/environment || fail "ANON=no has replaced an address"
summary
