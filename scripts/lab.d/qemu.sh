# shellcheck shell=bash disable=SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Make sure that QEMU is new enough.
#
# Before version 8.1, QEMU translated a page of code without locking it. Linux puts a breakpoint
# into code while it changes the code. A processor of the guest could execute such a breakpoint
# after the change was complete, and the guest died of "Oops: int3". QEMU 7.2 in Debian 12 has this
# fault; the version in the backports of Debian 12 does not. tests/vm/lab-code-patching.sh shows
# the difference.

readonly QEMU_LEAST="8 1"

# qemu_suffices MAJOR MINOR: succeed if this version of QEMU is new enough
qemu_suffices() {
	local least

	read -ra least <<<"$QEMU_LEAST"
	[ "$1" -gt "${least[0]}" ] || { [ "$1" -eq "${least[0]}" ] && [ "$2" -ge "${least[1]}" ]; }
}

# installed_qemu: print "MAJOR MINOR" of the installed QEMU, or "0 0"
installed_qemu() {
	local version

	version=$(qemu-system-x86_64 --version 2>/dev/null | sed -nE '1s/.*version ([0-9]+)\.([0-9]+).*/\1 \2/p')
	echo "${version:-0 0}"
}

need_qemu() {
	local version

	version=$(installed_qemu)
	# shellcheck disable=SC2086 # two words
	qemu_suffices $version && return
	command -v apt-get >/dev/null ||
		die "QEMU ${version/ /.} is too old: install version ${QEMU_LEAST/ /.} or newer"
	[ "$(id -u)" = 0 ] || die "QEMU ${version/ /.} is missing or too old (not root, cannot install)"
	mkdir -p "$RNBD_LAB_CACHE"
	(
		flock 9
		# shellcheck disable=SC2046 # two words
		qemu_suffices $(installed_qemu) ||
			logged "$RNBD_LAB_CACHE/qemu.log" "installing QEMU on this machine" install_qemu
	) 9>"$RNBD_LAB_CACHE/apt.lock" || exit
	version=$(installed_qemu)
	# shellcheck disable=SC2086 # two words
	qemu_suffices $version ||
		die "QEMU ${version/ /.} is too old: install version ${QEMU_LEAST/ /.} or newer"
}

# install_qemu: install QEMU from the release if that version is new enough, otherwise from its
# backports. The package list of the backports stays in the cache of the lab, so that the package
# sources of the host do not change.
install_qemu() {
	local candidate codename lists=$RNBD_LAB_CACHE/apt options

	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	candidate=$(apt-cache policy qemu-system-x86 |
		sed -nE 's/^  Candidate: ([0-9]+:)?([0-9]+)\.([0-9]+).*/\2 \3/p')
	# shellcheck disable=SC2086 # two words
	if [ -n "$candidate" ] && qemu_suffices $candidate; then
		apt-get install -qq -y --no-install-recommends qemu-system-x86
		return
	fi
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	mkdir -p "$lists/parts" "$lists/state/partial"
	find /etc/apt/sources.list.d /etc/apt/sources.list -maxdepth 1 -type f \
		-exec cp -t "$lists/parts" {} + 2>/dev/null
	[ ! -e "$lists/parts/sources.list" ] || mv "$lists/parts/sources.list" "$lists/parts/main.list"
	echo "deb http://deb.debian.org/debian $codename-backports main" >"$lists/parts/backports.list"
	options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$lists/parts"
		-o "Dir::State::Lists=$lists/state")
	apt-get update -qq "${options[@]}"
	apt-get install -qq -y "${options[@]}" --no-install-recommends -t "$codename-backports" \
		qemu-system-x86
}
