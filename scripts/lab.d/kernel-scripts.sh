# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Scripts from the source of the kernel: checkpatch, kernel-doc and ynl-gen, the generator of
# netlink code.
#
#   kernel-scripts-VERSION-KEY   the files of KERNEL_SCRIPTS, with their paths in the source
#
# The scripts come from Debian's source of the kernel version that the guest root has. The cache
# keeps them.

readonly KERNEL_SCRIPTS="scripts/checkpatch.pl scripts/spelling.txt
	scripts/const_structs.checkpatch scripts/kernel-doc
	tools/net/ynl/ynl-gen-c.py tools/net/ynl/lib Documentation/netlink/genetlink-legacy.yaml"

# need_kernel_scripts: fetch the scripts unless the cache has them, and set SCRIPTS; needs the guest
# root
need_kernel_scripts() {
	local members

	read -rd '' -a members <<<"$KERNEL_SCRIPTS"
	SCRIPTS=$RNBD_LAB_CACHE/kernel-scripts-${KVER%%+*}-$(sha256sum <<<"${members[*]}" | cut -c 1-8)
	[ -e "$SCRIPTS" ] && return
	need_commands mmdebstrap:mmdebstrap xz:xz-utils
	(
		flock 9
		[ -e "$SCRIPTS" ] && exit 0
		STOCK_ROOT=$ROOT
		fetch_kernel_source "$SCRIPTS.new" "$RNBD_LAB_CACHE/kernel-scripts.log" \
			"$(root_version "linux-image-$KVER")" 1 "${members[@]}"
		mv "$SCRIPTS.new" "$SCRIPTS"
	) 9>"$SCRIPTS.lock" || exit
}
