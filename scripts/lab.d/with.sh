# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Guest roots with additional packages, for the few tests that need them (--with NAME). All other
# runs are spared the time to install and to copy these packages.
#
#   packages-NAME            the packages, any number per line, beside this file
#   with-NAME-KEY/root.img   the disk image: the guest root and these packages
#   with-NAME-KEY/kver       the release of its kernel
#
# Only the disk image differs: kernel, modules and tool are those of the guest root.

# need_image: set IMAGE; with --with, make this image unless the cache has it; needs the guest root
need_image() {
	local list=$LAB_D/packages-$WITH key

	IMAGE=$ROOT/root.img
	[ -n "$WITH" ] || return 0
	key=$({ echo "$ROOT" && sed 's/#.*//' "$list" | xargs -n 1 && cat "$LAB_D/with.sh"; } |
		sha256sum | cut -c 1-16)
	WITH_DIR=$RNBD_LAB_CACHE/with-$WITH-$key
	IMAGE=$WITH_DIR/root.img
	[ -e "$WITH_DIR/kver" ] && return
	need_commands mke2fs:e2fsprogs
	once "$WITH_DIR" "makes this disk image" make_image
}

make_image() {
	local new=$WITH_DIR.new log=$WITH_DIR.log packages

	packages=$(sed 's/#.*//' "$LAB_D/packages-$WITH" | xargs)
	rm -rf --one-file-system "$new"
	mkdir -p "$new"
	# shellcheck disable=SC2086 # a list
	logged "$log" "guest root with $WITH: installing packages, making the disk image" \
		install_more "$ROOT/tree" "$new" $packages
	rm -rf --one-file-system "$new"/{upper,work,merged}
	echo "$KVER" >"$new/kver"
	rm -rf --one-file-system "$WITH_DIR"
	mv "$new" "$WITH_DIR"
}

# install_more TREE DIR PACKAGE...: install the packages in a layer over TREE, without recommended
# packages and without starting services, and make the image of the result. The mounts end with the
# command.
install_more() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --propagation private bash -c '
		set -e
		tree=$1 dir=$2
		shift 2
		mkdir "$dir/upper" "$dir/work" "$dir/merged"
		mount -t overlay overlay -o "lowerdir=$tree,upperdir=$dir/upper,workdir=$dir/work" \
			"$dir/merged" 2>/dev/null || cp -a --reflink=auto "$tree/." "$dir/merged/"
		cd "$dir/merged"
		printf "#!/bin/sh\nexit 101\n" >usr/sbin/policy-rc.d
		chmod 755 usr/sbin/policy-rc.d
		mount --rbind /dev dev
		mount -t proc proc proc
		in_root() {
			env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
				HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot . "$@"
		}
		in_root apt-get -q -o Acquire::Retries=3 update
		in_root apt-get -q -y -o Acquire::Retries=3 --no-install-recommends install "$@"
		in_root apt-get clean
		umount -l dev proc
		rm -rf usr/sbin/policy-rc.d var/lib/apt/lists/*
		mke2fs -q -t ext4 -L root -m 0 -O "^has_journal,^metadata_csum" -d . "$dir/root.img" 8G
	' install_more "$@"
}
