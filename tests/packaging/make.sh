#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a guest root: build the packages; then check that make dkms installs the modules without
# packages.
#
#   make.sh KVER
set -ex
kver=$1
export DEBIAN_FRONTEND=noninteractive
apt_get() { apt-get -q -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"; }

cd /usr/src/rnbd
apt_get update
apt_get build-dep -y --no-install-recommends .
make deb
release=$(sed -n 's/^#define RNBD_RELEASE "\(.*\)"$/\1/p' include/rnbd/version.h)
# The source package must equal the checkout, without build results and files of git.
dpkg-source -x "build/deb/rnbd_$release.dsc" /tmp/source
for part in Kbuild Makefile dkms.conf debian drivers include userspace Documentation \
	COPYING LICENSES ChangeLog README.md CONTRIBUTING.md SECURITY.md; do
	diff -r -x .gitignore "$part" "/tmp/source/$part"
done
# The parts of tests/ that hw-check needs
for part in tests/hw tests/lib tests/bench/peers.sh tests/tools/gencheck; do
	diff -r -x .gitignore "$part" "/tmp/source/$part"
done
test "$(find /tmp/source -mindepth 1 -maxdepth 1 | wc -l)" = 15
dpkg -x "build/deb/rnbd-dkms_${release}_all.deb" /tmp/rnbd-dkms
dpkg -x build/deb/rnbd-tools_"${release}"_*.deb /tmp/rnbd-tools

# The packages must contain exactly the files that make installs. Of the files of the tool only
# the names are compared, because its compiler options differ.
make install-tool DESTDIR=/tmp/tool PREFIX=/usr CFLAGS=-O0
diff <(cd /tmp/tool && find . ! -type d | sort) \
	<(cd /tmp/rnbd-tools && find . ! -type d ! -path './usr/share/doc/*' | sed 's/\.gz$//' | sort)
make dkms DESTDIR=/tmp/dkms
diff -r /tmp/dkms/usr/src /tmp/rnbd-dkms/usr/src
cmp /tmp/tool/usr/share/bash-completion/completions/rnbd <(build/userspace/rnbd completion bash)
test "$(ls Documentation/man)" = "$(cd /tmp/tool/usr/share/man && find . -type f -printf '%f\n' | sort)"
test "$(build/userspace/rnbd --version)" = "rnbd $release"
make uninstall-tool DESTDIR=/tmp/tool PREFIX=/usr
test -z "$(find /tmp/tool ! -type d)"

# make dkms must install the modules for a kernel other than the running one, although DKMS already
# has modules of this version.
apt_get install -y --no-install-recommends dkms
trees() { find /lib/modules /var/lib/dkms /usr/src -path /usr/src/rnbd -prune -o -print | sort; }
trees >/tmp/before
[ "$(uname -r)" != "$kver" ]
cp -r /tmp/dkms/usr/src/* /usr/src/
dkms add "rnbd/$release"
# use.sh shows that DKMS can compile all of the source; the diff above shows that the files are the
# same. Here, empty modules save the minute of compiling, and their description shows that the
# modules of the checkout were installed.
truncate -s 0 drivers/*/*.c
for main in drivers/*/main.c; do
	cat >"$main" <<-END
		#include <linux/module.h>
		#include <rnbd/version.h>
		MODULE_DESCRIPTION("of the checkout");
		MODULE_LICENSE("GPL");
		MODULE_VERSION(RNBD_RELEASE);
	END
done
make dkms KVER="$kver"
[[ $(dkms status "rnbd/$release") = *"$kver"*": installed" ]]
for module in rnbd-core rnbd rnbd-target; do
	[[ $(modinfo -k "$kver" -n "$module") = */updates/dkms/$module.ko* ]]
	[ "$(modinfo -k "$kver" -F version "$module")" = "$release" ]
	[ "$(modinfo -k "$kver" -F description "$module")" = "of the checkout" ]
done
dkms remove "rnbd/$release" --all
rm -r "/usr/src/rnbd-$release"
diff /tmp/before <(trees)
