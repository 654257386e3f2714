# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# The RNBD and RTRS modules of the kernel, for comparison in benchmarks. Debian's kernel lacks them,
# so they are built once from Debian's source of exactly the version that the guest root has. They
# fit Debian's kernel only.
#
#   peers-KEY/peers.cpio     laid over the root of a machine: /opt/peers/*.ko
#   peers-KEY/kver           the release of the kernel that they fit

readonly PEERS_RTRS=drivers/infiniband/ulp/rtrs PEERS_RNBD=drivers/block/rnbd

# need_peers: build the archive unless the cache has it, and set PEERS to it; needs the stock root
need_peers() {
	local key

	[ "$KERNEL" = stock ] || die "--peers needs Debian's kernel, not '$KERNEL'"
	SOURCE_VERSION=$(STOCK_ROOT=$ROOT root_version "linux-image-$KVER") || die "no kernel in $ROOT"
	key=$({ echo "$SOURCE_VERSION $KVER" && cat "$LAB_D/peers.sh"; } | sha256sum | cut -c 1-16)
	PEERS_DIR=$RNBD_LAB_CACHE/peers-$key
	PEERS=$PEERS_DIR/peers.cpio
	[ -e "$PEERS_DIR/kver" ] && return
	need_commands mmdebstrap:mmdebstrap xz:xz-utils cpio:cpio strip:binutils \
		/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
	once "$PEERS_DIR" "builds the kernel's RNBD" make_peers
}

make_peers() {
	local build=$PEERS_DIR.build log=$PEERS_DIR.log src=/usr/src/peers dir config symbols=

	rm -rf --one-file-system "$build"
	mkdir -p "$build/upper$src" "$build/cpio/product/root/opt/peers"
	fetch_kernel_source "$build/upper$src" "$log" "$SOURCE_VERSION" 1 \
		"$PEERS_RTRS" "$PEERS_RNBD"
	config="CONFIG_INFINIBAND_RTRS=m CONFIG_INFINIBAND_RTRS_CLIENT=m CONFIG_INFINIBAND_RTRS_SERVER=m"
	config+=" CONFIG_BLK_DEV_RNBD=y CONFIG_BLK_DEV_RNBD_CLIENT=m CONFIG_BLK_DEV_RNBD_SERVER=m"
	for dir in "$PEERS_RTRS" "$PEERS_RNBD"; do
		# shellcheck disable=SC2086 # a list
		logged "$log" "building the kernel's ${dir##*/}" in_root "$build" \
			make -C "/usr/lib/modules/$KVER/build" M="$src/$dir" $config \
			KCFLAGS="-I$src/$PEERS_RTRS" \
			KBUILD_EXTRA_SYMBOLS="$symbols" modules
		symbols=$src/$dir/Module.symvers
		cp "$build/upper$src/$dir"/*.ko "$build/cpio/product/root/opt/peers/"
	done
	strip --strip-debug "$build"/cpio/product/root/opt/peers/*.ko
	make_cpio "$build/cpio" >"$build/peers.cpio" || die "cannot make the archive of the peers"
	echo "$KVER" >"$build/kver"
	rm -rf --one-file-system "$PEERS_DIR" "$build/upper" "$build/work" "$build/merged" "$build/cpio"
	mv "$build" "$PEERS_DIR"
}
