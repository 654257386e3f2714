# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# The modules, the tool and the tools of the tests, built in the guest root for the guest kernel.
#
# Each checkout has a directory in the cache: a writable layer over the guest root with a copy of
# the sources and their objects. So a second build is incremental, and the checkout stays clean.

readonly SOURCES="Kbuild Makefile drivers include userspace tests/lib/tool.mk tests/lib/hmac.h
	tests/tools tests/adapter"

# Options of make for the stock kernel. Debug kernels build without them: their instrumentation can
# cause warnings of its own, for example about the size of stack frames.
readonly STRICT=(W=1 KCFLAGS=-Werror)

# find_build: set BUILD, the directory of this checkout for this root
find_build() {
	local id

	id=$(printf '%s' "$TOP" | sha256sum | cut -c 1-12)
	BUILD=$RNBD_LAB_CACHE/build/$id-${ROOT##*root-}
}

# drop_old_builds: remove the builds of this checkout for former guest roots with the same kind of
# kernel; the pattern has 16 question marks, because a key of a root has 16 digits
drop_old_builds() {
	local dir

	for dir in "${BUILD%-*}"-????????????????; do
		[ "$dir" = "$BUILD" ] || rm -rf --one-file-system "$dir" "$dir".*
	done
}

# list_sources: set SRC to those SOURCES that exist
list_sources() {
	local name

	SRC=()
	for name in $SOURCES; do
		[ -e "$TOP/$name" ] && SRC+=("$name")
	done
	return 0
}

hash_sources() {
	(cd "$TOP" && find "${SRC[@]}" "${LITTER_FIND[@]}" -type f -print0 | sort -z |
		xargs -0 sha256sum; cat "$LAB_D/product.sh" "$LAB_D/guest/build") | sha256sum
}

# Names of files that a build in the checkout itself makes; these are neither copied nor hashed
LITTER=('*.o' '*.ko' '*.mod' '*.mod.c' '*.cmd' '*.probe' '*.a' '*.d' '*.tmp' '*.swp' .tmp_versions
	modules.order Module.symvers)
LITTER_FIND=()
LITTER_RSYNC=()
for name in "${LITTER[@]}"; do
	LITTER_FIND+=('!' -name "$name")
	LITTER_RSYNC+=(--exclude="$name")
done
unset name

# copy_sources DIR: copy the sources of the checkout to DIR; objects in DIR are kept
copy_sources() {
	mkdir -p "$1"
	(cd "$TOP" && rsync -a --delete --relative "${LITTER_RSYNC[@]}" "${SRC[@]}" "$1/")
}

# in_root STATE COMMAND...: run COMMAND in the guest root. COMMAND writes to a layer over the root,
# which is in the directory STATE and stays there. The mounts end with COMMAND.
in_root() {
	local state=$1

	shift
	mkdir -p "$state/upper" "$state/work" "$state/merged"
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --propagation private bash -c '
		set -e
		tree=$1 state=$2
		shift 2
		if ! mount -t overlay overlay -o "lowerdir=$tree,upperdir=$state/upper,workdir=$state/work" \
			"$state/merged" 2>/dev/null; then
			# Overlay fails on this file system: use a copy of the tree.
			[ -e "$state/copy/etc" ] || cp -a --reflink=auto "$tree" "$state/copy"
			mount --bind "$state/copy" "$state/merged"
		fi
		mount --rbind /dev "$state/merged/dev"
		mount -t proc proc "$state/merged/proc"
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root LC_ALL=C.UTF-8 chroot "$state/merged" "$@"
	' in_root "$ROOT/tree" "$state" "$@"
}

# build_product: build the product if its sources changed; set PRODUCT to its cpio archive
build_product() {
	local start=$SECONDS options=()

	need_guest_root
	find_build
	[ "${KERNEL:-stock}" != stock ] || options=("${STRICT[@]}")
	mkdir -p "$BUILD"
	PRODUCT=$BUILD/product.cpio
	list_sources
	(
		flock 9
		hash_sources >"$BUILD/hash.new"
		if [ -e "$PRODUCT" ] && cmp -s "$BUILD/hash.new" "$BUILD/hash"; then
			exit 0
		fi
		need_root
		need_commands rsync:rsync cpio:cpio
		rm -f "$BUILD/hash"
		drop_old_builds
		copy_sources "$BUILD/upper/usr/src/rnbd"
		say "building modules and tool for $KVER ..."
		if ! in_root "$BUILD" bash -s "$KVER" "${options[@]}" <"$LAB_D/guest/build" >"$BUILD/log" 2>&1; then
			grep -aE 'error|Error|warning|undefined' "$BUILD/log" | head -n 40 >&2
			die "the build failed (all of it: $BUILD/log)"
		fi
		rm -rf "$BUILD/cpio"
		mkdir -p "$BUILD/cpio/product"
		cp -a "$BUILD/upper/product" "$BUILD/cpio/product/root"
		make_cpio "$BUILD/cpio" >"$PRODUCT.new"
		mv "$PRODUCT.new" "$PRODUCT"
		mv "$BUILD/hash.new" "$BUILD/hash"
		say "modules and tool: built in $((SECONDS - start)) s"
	) 9>"$BUILD.lock" || exit
}
