# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Failing allocations on a kernel with fault injection (LAB_KERNEL=debug): sourced after rnbd.sh.
# Only those allocations can fail that have a function of the selected address range in their stack.

FAIL=/sys/kernel/debug/failslab

# text MODULE: print the addresses of the first and of the last function of MODULE
text() {
	awk -v m="[$1]" '$4 == m && $2 ~ /[tT]/ { print $1 }' /proc/kallsyms | sort | sed -n '1p;$p'
}
# text_kmemleak: print the start and the end of the function that allocates the records of kmemleak.
# These allocations must not fail, because kmemleak would disable itself.
text_kmemleak() {
	sort /proc/kallsyms | awk '
		go { print $1; exit }
		$3 == "__alloc_object" { print $1; go = 1 }'
}

# within FIRST LAST: select the allocations that have a function between these addresses in their
# stack, except allocations of kmemleak
within() {
	local from to dir
	{ read -r from && read -r to; } < <(text_kmemleak)
	if [ -z "$2" ] || [ -z "$to" ]; then die "the symbols of the module or of kmemleak were not found"; fi
	for dir in $FAIL ${FAIL%/*}/fail_page_alloc; do
		echo "0x$1" >"$dir"/require-start
		echo "0x$2" >"$dir"/require-end
		echo 0x"$from" >"$dir"/reject-start
		echo 0x"$to" >"$dir"/reject-end
		echo 32 >"$dir"/stacktrace-depth
		echo N >"$dir"/ignore-gfp-wait
		echo N >"$dir"/task-filter
		echo 0 >"$dir"/verbose
	done
}

# fail MODULE N: let allocations fail that have a function of MODULE in their stack. Every (N/100)th
# of these slab allocations and every (N/3)th of these page allocations fails with a probability of
# 1 %, so on average one of N slab allocations and one of 33 * N page allocations. Page allocations
# fail less often, because the queues of soft-RoCE consist of very many single pages.
fail() {
	local first last
	{ read -r first && read -r last; } < <(text "$1")
	within "$first" "$last"
	echo 100000 | tee $FAIL/times >"${FAIL%/*}/fail_page_alloc/times"
	echo $(($2 / 100)) >$FAIL/interval
	echo $(($2 / 3)) >"${FAIL%/*}/fail_page_alloc/interval"
	echo 1 | tee $FAIL/probability >"${FAIL%/*}/fail_page_alloc/probability"
	echo 0 >"${FAIL%/*}/fail_page_alloc/min-order"
}
# fail_once FUNCTION: let the next slab allocation fail that has FUNCTION in its stack
fail_once() {
	local first last
	{ read -r first && read -r last; } < <(sort /proc/kallsyms | awk -v f="$1" '
		go { print $1; exit }
		$3 == f { print $1; go = 1 }')
	within "$first" "$last"
	echo 1 | tee $FAIL/times >$FAIL/interval
	echo 100 >$FAIL/probability
}
no_fail() {
	echo 0 >"$FAIL"/probability
	echo 0 >"${FAIL%/*}/fail_page_alloc/probability"
}
# failed: print how many allocations have failed since "fail"
failed() { echo $((200000 - $(cat $FAIL/times) - $(cat "${FAIL%/*}/fail_page_alloc/times"))); }
