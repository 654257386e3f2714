/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assertions for tests/lib/hostile under libFuzzer: a failed assertion aborts the process.
 * AddressSanitizer reports reads of bytes that a decoder has already read or need not read.
 */
#ifndef RNBD_HOSTILE_ASSERT_H
#define RNBD_HOSTILE_ASSERT_H

#include <sanitizer/asan_interface.h>
#include <stddef.h>

#include "portable.h"

/* The message being decoded (its bytes can be poisoned), and a copy that stays readable */
extern const u8 *fuzz_message;
extern size_t fuzz_message_bytes;
extern const u8 *fuzz_original;

void broken(const char *file, int line, const char *property) __attribute__((noreturn));

#define must(condition)							\
do {									\
	if (!(condition))						\
		broken(__FILE__, __LINE__, #condition);			\
} while (0)

#define assert_true(a)			must(a)
#define assert_false(a)			must(!(a))
#define assert_null(a)			must(!(a))
#define assert_int_equal(a, b)		must((a) == (b))
#define assert_int_not_equal(a, b)	must((a) != (b))
#define assert_ptr_equal(a, b)		must((const void *)(a) == (const void *)(b))
#define assert_in_range(a, low, high)	must((u64)(a) >= (low) && (u64)(a) <= (high))
#define assert_memory_equal(a, b, n)	must(!memcmp(a, b, n))
#define fail()				broken(__FILE__, __LINE__, "not reached")
#define fail_msg(...)			fail()

#define hostile_original(at)		(fuzz_original + ((const u8 *)(at) - fuzz_message))
#define hostile_forbid(at, bytes)	ASAN_POISON_MEMORY_REGION(at, bytes)

#endif /* RNBD_HOSTILE_ASSERT_H */
