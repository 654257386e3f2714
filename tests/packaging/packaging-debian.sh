#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --mem 1024 --timeout 400
# turns: 2
# short: Debian packages: DKMS's modules and the tool work and go without a trace
# kernel: stock
# host: tests/packaging/install
# beside: the host's part has a low priority
. ../lib/lab.sh
. ../lib/rnbd.sh

# The packages were installed in a copy of this very root; this is what that changed.
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
# completion as bash loads it, with the disk and the export that are there
# shellcheck disable=SC2016 # expanded by the inner shell
completed=$(bash -c '. /usr/share/bash-completion/completions/rnbd
	COMP_WORDS=(rnbd detach "") COMP_CWORD=2 && _rnbd && echo "${COMPREPLY[@]}"
	COMP_WORDS=(rnbd detach /dev/r) COMP_CWORD=2 && _rnbd && echo "${COMPREPLY[@]}"
	COMP_WORDS=(rnbd export disable d) COMP_CWORD=3 && _rnbd && echo "${COMPREPLY[@]}"')
same "$completed" "$(printf '%s\n' "${dev#/dev/}" "$dev" disk0)" "completion"

head -c 1M /dev/urandom >"$OUT/data"
run dd if="$OUT/data" of="$dev" bs=1M oflag=direct status=none
cmp "$OUT/data" <(dd if="$dev" bs=1M count=1 iflag=direct status=none) || die "read is not what was written"

# Packages go while the modules are in use: those that are loaded stay, and the tool's
# part is done by hand.
# The index of all modules would take a machine most of a minute, and this one needs none
# any more; that it is made is seen where the packages are purged, in tests/packaging.
run ln -sf /bin/true /usr/sbin/depmod
run dpkg -r rnbd-dkms
left=$(find /usr/lib/modules/*/updates -name 'rnbd*' 2>/dev/null)
[ -z "$left" ] || die "modules are left: $left"
[ -z "$(ls -A /var/lib/dkms)" ] || die "DKMS still has $(ls -A /var/lib/dkms)"
cmp "$OUT/data" <(dd if="$dev" bs=1M count=1 iflag=direct status=none) || die "the disk is gone"
detach "$dev"
configfs_clear
unload
run dpkg -r rnbd-tools
[ -s /etc/rnbd/hostid ] || die "the host's identity went without a purge"
run dpkg -P rnbd-tools rnbd-dkms
[ ! -e /etc/rnbd ] || die "/etc/rnbd is left after a purge"
left=$(find /usr/src /usr/lib/modules/*/updates /usr/sbin /usr/lib/systemd /usr/lib/udev /usr/lib/ocf \
	/usr/share/bash-completion /var/lib/dpkg/info -name '*rnbd*' 2>/dev/null)
[ -z "$left" ] || die "left after a purge: $left"
