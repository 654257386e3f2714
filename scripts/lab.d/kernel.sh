# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# The debug kernels, built once from Debian's source of exactly the version that the guest root has,
# and kept in the cache.
#
#   kernel-NAME-KEY/vmlinux  the kernel
#   kernel-NAME-KEY/tree     its modules and the files to build others, laid out as in a root
#   kernel-NAME-KEY/config, System.map, kver, log
#   kernel-NAME-KEY.build    an unfinished build; an interrupted build continues there
#   root-NAME-KEY            a guest root with this kernel instead of Debian's
#
# KERNEL is stock (Debian's own), debug (few checkers) or heavy (more checkers).

# slow_factor [KERNEL]: print the factor by which a test may be slower on KERNEL; nothing for stock.
# tests/run multiplies time limits by the factor; tests/lib/lab.sh, which runs in the machines,
# multiplies deadlines by the factor, which it gets in LAB_SLOW.
slow_factor() {
	case ${1:-$KERNEL} in
	debug) echo 5 ;;
	heavy) echo 20 ;;
	esac
}

# Approximate number of steps (compiler calls and the like) of a whole build, to report progress
readonly KERNEL_STEPS=2900

root_version() { dpkg-query --admindir="$STOCK_ROOT/tree/var/lib/dpkg" -W -f "\${Version}" "$1"; }

# find_kernel: set STOCK_ROOT, STOCK_KVER, SOURCE_VERSION, KERNEL_CONFIGS and KERNEL_DIR; needs the
# stock root
find_kernel() {
	local key

	STOCK_ROOT=$ROOT STOCK_KVER=$KVER
	KERNEL_CONFIGS=("$LAB_D/kernel/debug.config")
	[ "$KERNEL" = debug ] || KERNEL_CONFIGS+=("$LAB_D/kernel/$KERNEL.config")
	SOURCE_VERSION=$(root_version "linux-image-$KVER") || die "no kernel in $ROOT"
	key=$({ echo "$SOURCE_VERSION $(root_version gcc)" &&
		cat "${KERNEL_CONFIGS[@]}" "$LAB_D/guest/build-kernel"; } | sha256sum | cut -c 1-16)
	KERNEL_DIR=$RNBD_LAB_CACHE/kernel-$KERNEL-$key
}

# find_debug_root: set ROOT to the root with the debug kernel, and KVER if that root exists
find_debug_root() {
	local key

	find_kernel
	key=$({ echo "$STOCK_ROOT $KERNEL_DIR" && cat "$LAB_D/kernel.sh" "$LAB_D"/guest/faults*; } |
		sha256sum | cut -c 1-16)
	ROOT=$RNBD_LAB_CACHE/root-$KERNEL-$key
	[ -e "$ROOT/kver" ] && KVER=$(cat "$ROOT/kver")
}

need_debug_root() {
	find_debug_root
	[ -e "$ROOT/kver" ] && return
	need_root
	need_commands mmdebstrap:mmdebstrap mke2fs:e2fsprogs cpio:cpio xz:xz-utils \
		/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
	once "$KERNEL_DIR" "builds this kernel" make_kernel
	once "$ROOT" "makes this guest root" make_debug_root
	KVER=$(cat "$ROOT/kver")
}

# once DIR WHAT COMMAND: run COMMAND to make DIR unless DIR is complete (has the file kver). WHAT
# says what another run that holds the lock does; the message about the wait ends with WHAT.
once() {
	(
		flock -n 9 || {
			say "waiting for another run that $2"
			flock 9
		}
		[ -e "$1/kver" ] || "$3"
	) 9>"$1.lock" || exit
}

# fetch_kernel_source DIR LOG VERSION STRIP [MEMBER...]: unpack the source of the kernel, or these
# members, to DIR, without STRIP leading components of their names
fetch_kernel_source() {
	local dir=$1 log=$2 version=$3 strip=$4 name

	shift 4
	name=linux-source-$(cut -d . -f 1-2 <<<"$version")
	rm -rf "$dir" "$dir.package"
	mkdir -p "$dir"
	(logged "$log" "fetching Debian's $name=$version" \
		mmdebstrap --variant=extract --aptopt='Apt::Install-Recommends "false"' \
		--aptopt='Acquire::Retries "3"' --include="$name=$version" "$SUITE" "$dir.package") ||
		die "if Debian has a newer kernel by now, remove $RNBD_LAB_CACHE/root-*: it is made anew"
	logged "$log" "unpacking it" tar -C "$dir" --strip-components="$strip" \
		-xJf "$dir.package/usr/src/$name.tar.xz" "${@/#/$name/}"
	rm -rf "$dir.package"
}

make_kernel() {
	local build=$KERNEL_DIR.build log=$KERNEL_DIR.log

	if [ -e "$build/unpacked" ]; then
		say "going on with a build that was interrupted"
	else
		rm -rf --one-file-system "$build"
		mkdir -p "$build/upper/usr/src"
		fetch_kernel_source "$build/upper/usr/src/kernel" "$log" "$SOURCE_VERSION" 1
		touch "$build/unpacked"
	fi
	rm -rf "$build/upper/usr/src/kernel-configs"
	mkdir -p "$build/upper/usr/src/kernel-configs"
	cp "${KERNEL_CONFIGS[@]}" "$build/upper/usr/src/kernel-configs"
	ROOT=$STOCK_ROOT PROGRESS=$KERNEL_STEPS \
		logged "$log" "building the kernel '$KERNEL' (15 to 40 minutes, once)" \
		in_root "$build" bash -s "${KERNEL_CONFIGS[@]##*/}" <"$LAB_D/guest/build-kernel"
	mv "$log" "$build/upper/kernel/log"
	rm -rf --one-file-system "$KERNEL_DIR"
	# The rename makes kver visible together with the other files.
	mv "$build/upper/kernel" "$KERNEL_DIR"
	rm -rf --one-file-system "$build"
}

# make_debug_root: make ROOT. Except for the files of the kernel, its tree consists of hard links to
# the files of the stock root: never write to these files.
make_debug_root() {
	local new=$ROOT.new log=$ROOT.log kver

	rm -rf --one-file-system "$new"
	mkdir -p "$new"
	cp -al "$STOCK_ROOT/tree" "$new/tree"
	rm -rf "$new/tree/usr/lib/modules/$STOCK_KVER" "$new"/tree/usr/src/linux-* \
		"$new"/tree/usr/lib/linux-kbuild-* "$new"/tree/boot/*
	cp -a "$KERNEL_DIR/tree/." "$new/tree/"
	cp "$KERNEL_DIR/vmlinux" "$new/vmlinux"
	kver=$(cat "$KERNEL_DIR/kver")
	logged "$log" "guest root with kernel '$KERNEL': building the module of faults" \
		make_faults "$new" "$kver"
	logged "$log" "guest root with kernel '$KERNEL': building stage0" make_initrd "$new" "$kver"
	logged "$log" "guest root with kernel '$KERNEL': making the disk image" \
		mke2fs -q -t ext4 -L root -m 0 -O '^has_journal,^metadata_csum' \
		-d "$new/tree" "$new/root.img" 8G
	echo "$kver" >"$new/kver"
	rm -rf --one-file-system "$ROOT"
	mv "$new" "$ROOT"
}

# make_faults ROOT KVER: build a module with deliberate faults for the tests of the lab itself; its
# name begins with rnbd, as the names of the modules under test
make_faults() {
	local new=$1 kver=$2 state=$1/faults

	mkdir -p "$state/upper/usr/src/faults"
	cp "$LAB_D/guest/faults.c" "$state/upper/usr/src/faults/rnbd_faults.c"
	echo "obj-m := rnbd_faults.o" >"$state/upper/usr/src/faults/Kbuild"
	ROOT=$new in_root "$state" make -C "/usr/lib/modules/$kver/build" M=/usr/src/faults modules &&
		install -D -m 644 "$state/upper/usr/src/faults/rnbd_faults.ko" \
			"$new/tree/usr/lib/modules/$kver/extra/rnbd_faults.ko" &&
		chroot "$new/tree" depmod "$kver" &&
		rm -rf "$state"
}
