# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# The guest root: made once per package list, kept in the cache, never modified.
#
#   root-KEY/tree      the root as a directory, for chroot (builds, static checks)
#   root-KEY/root.img  the same as an ext4 image, for the machines (snapshot=on)
#   root-KEY/vmlinux   the kernel, unpacked: decompressing costs a second under TCG
#   root-KEY/initrd    stage0 and the modules that stage0 loads
#   root-KEY/kver      the release of the kernel
#
# kernel.sh derives the roots with a debug kernel from this root.

readonly SUITE=trixie

# Directories and files of the modules that the root has uncompressed and without a signature. Under
# TCG both decompression and verification are slow: verification took most of the time of a boot.
# The other modules stay as they are.
readonly UNPACKED="arch crypto lib fs net block drivers/block drivers/md drivers/nvme
	drivers/infiniband drivers/virtio drivers/char/hw_random drivers/target
	drivers/scsi drivers/net/net_failover.ko.xz drivers/net/virtio_net.ko.xz
	drivers/net/dummy.ko.xz drivers/net/veth.ko.xz"

# Modules that stage0 loads, with their dependencies; modprobe after the boot would take longer
readonly STAGE0_MODULES="crc32c_generic ext4 virtio_blk virtio_rng 9pnet_virtio 9p
	virtio_net configfs rdma_rxe rdma_ucm"

root_packages() { sed 's/#.*//' "$LAB_D/packages" | xargs -n 1 | sort -u; }

# find_root: set ROOT, and set KVER if the root exists
find_root() {
	local key

	key=$({ root_packages && cat "$LAB_D/root.sh" "$LAB_D/guest/stage0.c"; } |
		sha256sum | cut -c 1-16)
	ROOT=$RNBD_LAB_CACHE/root-$key
	[ -e "$ROOT/kver" ] && KVER=$(cat "$ROOT/kver")
}

# need_guest_root: make the root with the selected kernel unless the cache has it
need_guest_root() {
	need_stock_root
	[ "${KERNEL:-stock}" = stock ] || need_debug_root
}

need_stock_root() {
	find_root
	[ -e "$ROOT/kver" ] && return
	need_root
	need_commands mmdebstrap:mmdebstrap mke2fs:e2fsprogs cpio:cpio zstd:zstd xz:xz-utils \
		rsync:rsync perl:perl /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
	mkdir -p "$RNBD_LAB_CACHE"
	(
		flock -n 9 || {
			say "waiting for another run that makes the guest root"
			flock 9
		}
		[ -e "$ROOT/kver" ] || make_root
	) 9>"$ROOT.lock" || exit
	KVER=$(cat "$ROOT/kver")
}

make_root() {
	local new=$ROOT.new log=$RNBD_LAB_CACHE/root.log tree kver

	rm -rf --one-file-system "$new"
	mkdir -p "$new"
	tree=$new/tree
	# INITRD=No: the lab does not use Debian's own initramfs, which takes long to make.
	logged "$log" "guest root: installing Debian $SUITE (about a minute)" \
		env INITRD=No mmdebstrap --variant=minbase \
		--aptopt='Apt::Install-Recommends "false"' \
		--aptopt='Acquire::Retries "3"' \
		--dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--include="$(root_packages | paste -sd ,)" \
		"$SUITE" "$tree"
	kver=$(basename "$tree"/boot/vmlinuz-*)
	kver=${kver#vmlinuz-}

	logged "$log" "guest root: unpacking kernel and modules" \
		unpack_kernel "$new" "$kver"
	logged "$log" "guest root: building stage0" make_initrd "$new" "$kver"
	# Machines discard their writes to the image, so a journal and checksums are useless.
	logged "$log" "guest root: making the disk image" \
		mke2fs -q -t ext4 -L root -m 0 -O '^has_journal,^metadata_csum' \
		-d "$tree" "$new/root.img" 8G
	echo "$kver" >"$new/kver"
	rm -rf --one-file-system "$ROOT"
	mv "$new" "$ROOT"
}

# remove_signatures DIR: remove the signatures of all uncompressed modules below DIR. After the
# signature, such a file ends with struct module_signature (12 bytes), whose last member is the
# length of the signature, and with one line of text (28 bytes).
remove_signatures() {
	# shellcheck disable=SC2016 # expanded by perl
	find "$1" -name '*.ko' -print0 | xargs -0 perl -e '
		for my $file (@ARGV) {
			my ($size, $module, $end) = -s $file;
			open($module, "+<", $file) && seek($module, -32, 2) &&
				read($module, $end, 32) == 32 or die "$file: $!\n";
			my ($length, $line) = unpack("N a28", $end);
			next if $line ne "~Module signature appended~\n";
			truncate($module, $size - 40 - $length) or die "$file: $!\n";
		}'
}

unpack_kernel() {
	local new=$1 kver=$2 modules=$1/tree/usr/lib/modules/$2/kernel dir offset offsets

	for dir in $UNPACKED; do
		find "$modules/$dir" -name '*.ko.xz' -print0
	done | xargs -0 -n 50 -P "$(nproc)" xz -d
	remove_signatures "$modules" || return
	chroot "$new/tree" depmod "$kver"

	cp "$new/tree/boot/vmlinuz-$kver" "$new/bzImage"
	# The compressed kernel is the first zstd frame that unpacks to an ELF file.
	mapfile -t offsets < <(LC_ALL=C grep -abo -P '\x28\xb5\x2f\xfd' "$new/bzImage" | cut -d: -f1)
	for offset in "${offsets[@]}"; do
		# Ignore the error of zstd, which it reports for the bytes after the frame.
		tail -c "+$((offset + 1))" "$new/bzImage" |
			zstd -dcq >"$new/vmlinux" 2>/dev/null || true
		if [ "$(head -c 4 "$new/vmlinux" | tail -c 3)" = ELF ]; then
			return 0
		fi
	done
	echo "no unpacked kernel found, machines boot the compressed one"
	mv "$new/bzImage" "$new/vmlinux"
}

make_initrd() {
	local new=$1 kver=$2 dir=$1/initrd.d name path

	mkdir -p "$dir/mod" "$dir/product"
	cp "$LAB_D/guest/stage0.c" "$new/tree/tmp/stage0.c"
	chroot "$new/tree" gcc -O2 -static -Wall -Wextra -o /tmp/stage0 /tmp/stage0.c
	mv "$new/tree/tmp/stage0" "$dir/init"
	rm "$new/tree/tmp/stage0.c"
	for name in $STAGE0_MODULES; do
		chroot "$new/tree" modprobe -S "$kver" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
		cp "$new/tree$path" "$dir/mod/"
		echo "/mod/${path##*/}"
	done >"$dir/modules"
	make_cpio "$dir" >"$new/initrd"
	rm -r "$dir"
}

make_cpio() { (cd "$1" && find . | cpio -o -H newc --quiet -R 0:0); }
