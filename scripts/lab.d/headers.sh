# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables shared with the other pieces
# SPDX-License-Identifier: GPL-2.0-only
# Headers of the kernels that Debian serves for the release of the guest root and for its backports.
# They need the compiler of the guest root.
#
#   headers/served             "RELEASE VERSION" of each kernel, the oldest kernel first;
#                              need_served() renews the list if it is older than 12 hours
#   headers/RELEASE_VERSION    the unpacked packages

readonly HEADERS=$RNBD_LAB_CACHE/headers

# need_served: make the list of the kernels that Debian serves, unless it is younger than 12 hours;
# on failure, an old list stays unchanged
need_served() {
	need_root
	mkdir -p "$HEADERS"
	(
		flock 9
		[ -z "$(find "$HEADERS/served" -mmin -720 2>/dev/null)" ] || exit 0
		ask_debian list >"$HEADERS/served.new" || exit
		mv "$HEADERS/served.new" "$HEADERS/served"
		drop_headers
	) 9>"$HEADERS.lock"
}

# Exit status of guest/headers: Debian does not serve the requested kernel
readonly NOT_SERVED=3

# need_headers RELEASE VERSION: fetch and unpack the packages unless the cache has them
need_headers() {
	local dir=$HEADERS/$1_$2

	(
		flock 9
		[ ! -e "$dir" ] || exit 0
		rm -rf "$dir.new"
		# Unpack as in the root, where /lib is a symbolic link.
		mkdir -p "$dir.new/usr/lib" && ln -s usr/lib "$dir.new/lib"
		ask_debian fetch "$1" >"$dir.new/tar" || exit
		tar -C "$dir.new" --ignore-zeros --keep-directory-symlink --exclude=./usr/share \
			-xf "$dir.new/tar" || exit
		rm "$dir.new/lib" "$dir.new/tar"
		mv "$dir.new" "$dir"
	) 9>"$HEADERS.lock"
}

# ask_debian list | ask_debian fetch RELEASE: run guest/headers in the guest root, with a temporary
# writable layer
ask_debian() {
	local state status

	state=$(mktemp -d "$HEADERS/apt.XXXXXX") || return
	# The processes in the root must not inherit the lock (descriptor 9).
	in_root "$state" bash -s "$@" <"$LAB_D/guest/headers" 9>&- 2>"$HEADERS/log"
	status=$?
	rm -rf --one-file-system "$state"
	return $status
}

# drop_headers: remove headers that Debian no longer serves, and the remains of interrupted runs
drop_headers() {
	local dir name

	for dir in "$HEADERS"/*/; do
		name=$(basename "$dir")
		grep -qxF "${name/_/ }" "$HEADERS/served" || rm -rf --one-file-system "$dir"
	done
}
