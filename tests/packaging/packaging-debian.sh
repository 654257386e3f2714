#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --mem 1024 --timeout 400
# turns: 2
# short: Debian packages: the modules of DKMS and the tool work; remove and purge leave nothing behind
# kernel: stock
# host: tests/packaging/install
# beside: the host's part has a low priority
. ../lib/lab.sh
. ../lib/rnbd.sh

# tests/packaging/install has installed the packages in a copy of this root; the archive has the
# files that the installation changed.
run tar -C / --keep-directory-symlink -xf ../../build/packaging/installed.tar
release=$(sed -n 's/^#define RNBD_RELEASE "\(.*\)"$/\1/p' ../../include/rnbd/version.h)
for package in rnbd-dkms rnbd-tools; do
	same "$(dpkg-query -W -f '${Version} ${db:Status-Status}' $package)" "$release installed" $package
done
same "$(rnbd --version)" "rnbd $release"
for module in rnbd rnbd-target; do
	file=$(modinfo -n $module)
	[[ $file = */updates/dkms/$module.ko* ]] || die "$module is $file"
	run modprobe $module
done
for module in rnbd_core rnbd rnbd_target; do
	same "$(cat /sys/module/$module/version)" "$release" "version of $module"
done

set_host_id
export_disk disk0 "$(null_disk 64)"
dev=$(attach disk0) || exit
# Load the completion of the tool as bash does; it must offer the existing disk and export.
# shellcheck disable=SC2016 # expanded by the inner shell
completed=$(bash -c '. /usr/share/bash-completion/completions/rnbd
	COMP_WORDS=(rnbd detach "") COMP_CWORD=2 && _rnbd && echo "${COMPREPLY[@]}"
	COMP_WORDS=(rnbd detach /dev/r) COMP_CWORD=2 && _rnbd && echo "${COMPREPLY[@]}"
	COMP_WORDS=(rnbd export disable d) COMP_CWORD=3 && _rnbd && echo "${COMPREPLY[@]}"')
same "$completed" "$(printf '%s\n' "${dev#/dev/}" "$dev" disk0)" "completion"

head -c 1M /dev/urandom >"$OUT/data"
run dd if="$OUT/data" of="$dev" bs=1M oflag=direct status=none
cmp "$OUT/data" <(dd if="$dev" bs=1M count=1 iflag=direct status=none) || die "the data read differ from the data written"

# Remove the package of the modules while they are in use: the disk must stay readable, and the tool
# must still detach it. depmod is replaced, because it would take most of a minute and this machine
# no longer needs its index; tests/packaging/install purges with the real depmod.
run ln -sf /bin/true /usr/sbin/depmod
run dpkg -r rnbd-dkms
left=$(find /usr/lib/modules/*/updates -name 'rnbd*' 2>/dev/null)
[ -z "$left" ] || die "modules are left: $left"
[ -z "$(ls -A /var/lib/dkms)" ] || die "DKMS still has $(ls -A /var/lib/dkms)"
cmp "$OUT/data" <(dd if="$dev" bs=1M count=1 iflag=direct status=none) || die "the disk is no longer readable"
detach "$dev"
configfs_clear
unload
run dpkg -r rnbd-tools
[ -s /etc/rnbd/hostid ] || die "the host id was removed without a purge"
run dpkg -P rnbd-tools rnbd-dkms
[ ! -e /etc/rnbd ] || die "/etc/rnbd is left after a purge"
left=$(find /usr/src /usr/lib/modules/*/updates /usr/sbin /usr/lib/systemd /usr/lib/udev /usr/lib/ocf \
	/usr/share/bash-completion /var/lib/dpkg/info -name '*rnbd*' 2>/dev/null)
[ -z "$left" ] || die "left after a purge: $left"
