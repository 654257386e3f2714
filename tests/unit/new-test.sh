#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test tests/new: the new test is complete and well-formed, invalid names are refused, and every
# test in tests/vm has a valid name.
#
#   new-test.sh DIR     DIR is created and kept

cd "$(dirname "$0")" || exit
. ../lib/unit.sh
tests=$(realpath ..)
rm -rf "$1" && mkdir -p "$1"/tests/{vm,cluster} && cd "$1" || exit
cp -r "$tests/lib" tests/lib && cp "$tests/new" tests/new || exit
: >tests/cluster/io-elsewhere.sh
made() { find tests/vm -name '*.sh' | wc -l; }

# refuses TEXT NAME...: tests/new must exit with 2, print TEXT and make no file
refuses() {
	local text=$1 before

	shift
	before=$(made)
	says 2 "$text" "tests/new $*" tests/new "$@"
	same "$(made)" "$before" "files in tests/vm after tests/new $*"
}

allowed=$(tests/new unknown-area 2>&1 | sed -n 's/.*must begin with one of: //p')
[ "$(wc -w <<<"$allowed")" -ge 7 ] || fail "the prefixes are not named: '$allowed'"

for prefix in $allowed; do
	file=tests/vm/${prefix}my-2nd-test.sh
	says 0 "make check TESTS=${prefix}my-2nd-test" "$prefix" tests/new "${prefix}my-2nd-test" "the text of $prefix"
	[ -x "$file" ] || fail "$file is not executable"
	bash -n "$file" || fail "$file: syntax error"
	same "$(head -n 1 "$file")" '#!/bin/bash' "first line of $file"
	grep -q '^# lab: --nodes 1 .*--timeout [0-9]' "$file" || fail "$file: no line lab:"
	same "$(sed -n 's/^# short: //p' "$file")" "the text of $prefix" "line short: of $file"
	for lib in lab rnbd; do
		grep -qx "\. \.\./lib/$lib.sh" "$file" || fail "$file: does not source $lib.sh"
	done
	for step in verify need detach configfs_clear unload; do
		grep -q "^$step\b" "$file" || fail "$file: no $step"
	done
	if command -v shellcheck >/dev/null; then
		(cd tests/vm && shellcheck -x -P SCRIPTDIR "${file##*/}") || fail "$file: shellcheck"
	fi
done

# The text is optional and may contain all characters except a newline.
says 0 "" "without a text" tests/new io-plain
same "$(sed -n 's/^# short: //p' tests/vm/io-plain.sh)" "data written to an attached disk are read back" "the text"
odd="a & b \\1 /c \"d\" 'e' \$f"
says 0 "" "an odd text" tests/new io-odd "$odd"
same "$(sed -n 's/^# short: //p' tests/vm/io-odd.sh)" "$odd" "the text"

for bad in unknown-area fence iox-y "" -io-x my/io-x ../io-x; do
	refuses "$bad: the name must begin with one of: $allowed" "$bad"
done
for bad in io io- io--x io-X io-x- io-x.sh io-x_y "io-x y" io-x/y io-../x; do
	refuses "$bad: wanted lower case letters" "$bad"
done
refuses "one line" io-lines $'two\nlines'
refuses "one line" io-empty ""
refuses "usage: tests/new NAME"
refuses "usage: tests/new NAME" io-a b c
echo kept >tests/vm/io-plain.sh
refuses "there is such a test already: tests/vm/io-plain.sh" io-plain
same "$(cat tests/vm/io-plain.sh)" kept "the test that was there"
refuses "there is such a test already: tests/cluster/io-elsewhere.sh" io-elsewhere

for file in "$tests"/vm/*.sh; do
	name=${file##*/} name=${name%.sh}
	if [[ " $allowed " == *" ${name%%-*}- "* && $name =~ ^[a-z]+(-[a-z0-9]+)+$ ]]; then
		pass
	else
		fail "tests/vm/$name.sh: must begin with one of: $allowed"
	fi
	[ -x "$file" ] || fail "tests/vm/$name.sh is not executable, no run finds it"
done

summary
