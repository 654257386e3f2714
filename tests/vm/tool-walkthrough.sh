#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 2 --cpus 1 --mem 1024 --disk 1G --disk 256M --timeout 600
# short: the commands of the tutorial and of the README work as printed there, on two machines
. ../lib/lab.sh
. ../lib/document.sh

# The pages whose commands this test executes; see document.sh.
PAGES="../../Documentation/tutorial.rst"
README=../../README.md

# The pages assume an Ethernet card, the host id that they show, the disk /dev/sdb, and a file
# system at /srv.
read_commands "$PAGES"
rdma link del rxe0 || die "rxe0 cannot be removed"
if [ "$NODE" = 1 ]; then
	me=target
	run ln -s lab/disk1 /dev/sdb
	run mkfs.ext4 -q -F /dev/lab/disk0
	run mount /dev/lab/disk0 /srv
else
	me=client
	for ((i = 0; i < ${#commands[@]}; i++)); do
		[ "${commands[i]}" = "rnbd hostid" ] || continue
		mkdir -p /etc/rnbd
		echo "${outputs[i]}" >/etc/rnbd/hostid
	done
fi

need_commands 'rdma link add ' 'rnbd export add ' 'rnbd attach ' mkfs. 'mount ' 'rnbd save' \
	'rnbd export resize ' 'rnbd detach ' 'rnbd export remove '
walk tutorial $me both
for module in rnbd rnbd_target; do
	! grep -q "^$module " /proc/modules || die "$module is still loaded"
done

read_commands "$README"
need_commands 'rnbd export add ' 'rnbd attach ' mkfs. 'mount ' 'rnbd detach '
walk readme $me both
