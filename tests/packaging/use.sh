#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a guest root: install the packages, or purge them and look for files that the purge has not
# removed.
#
#   use.sh KVER install|purge
set -ex
kver=$1
export DEBIAN_FRONTEND=noninteractive
apt_get() { apt-get -q -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"; }

files() { find / -xdev \( -path /tmp -o -path /var/log -o -path /var/cache \) -prune -o -print | sort; }

if [ "$2" = install ]; then
	# Install DKMS before files are listed: the purge need not remove the files of DKMS itself.
	apt_get update
	apt_get install -y --no-install-recommends dkms
	files >/var/cache/files-before
	apt_get install -y --no-install-recommends /usr/src/packages/rnbd-{dkms,tools}_*.deb
	[[ $(dkms status rnbd) = *"$kver"*": installed" ]]
	for module in rnbd-core rnbd rnbd-target; do
		[[ $(modinfo -k "$kver" -n "$module") = */updates/dkms/$module.ko* ]]
	done
	release=$(rnbd --version)
	# dkms build skips a kernel that dkms.conf excludes (status 77). For a kernel that dkms.conf
	# includes, it fails because the headers are missing (status 21).
	for pair in 6.1.99:77 6.12.0:21 6.13.0:77 7.3.99:21 7.4.0:77; do
		status=0
		dkms build "rnbd/${release#rnbd }" -k "${pair%:*}" || status=$?
		[ "$status" = "${pair#*:}" ]
	done
	exit
fi

# This command creates /etc/rnbd/hostid, which the purge must remove.
rnbd hostid
test -s /etc/rnbd/hostid
echo 'export = disk' >/etc/rnbd/attach.d/disk.conf
systemctl enable rnbd-attach@disk rnbd-rxe@eth0
apt_get remove -y rnbd-dkms rnbd-tools
test -s /etc/rnbd/hostid
modprobe -S "$kver" --show-depends rnbd && exit 1
apt_get purge -y rnbd-dkms rnbd-tools
diff /var/cache/files-before <(files)
