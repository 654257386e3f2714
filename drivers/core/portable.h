/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel interfaces for the pure C files of rnbd-core (codec, pool, names and others).
 *
 * The same source builds into the module and into user space, where unit tests and fuzzers run
 * it under sanitizers.
 */
#ifndef RNBD_CORE_PORTABLE_H
#define RNBD_CORE_PORTABLE_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/* GFP_NOIO: a reconnect allocates memory, and writeback can wait for the disk that reconnects. */
#define rnbd_zalloc(size)	kvzalloc(size, GFP_NOIO)
#define rnbd_free(ptr)		kvfree(ptr)

#else /* user space */

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define le16_to_cpu(x)		le16toh(x)
#define le32_to_cpu(x)		le32toh(x)
#define le64_to_cpu(x)		le64toh(x)
#define cpu_to_le16(x)		htole16(x)
#define cpu_to_le32(x)		htole32(x)
#define cpu_to_le64(x)		htole64(x)

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BITS_PER_LONG		(8 * (int)sizeof(long))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define EXPORT_SYMBOL_GPL(sym)	extern int rnbd_unused_##sym
/* Some versions of the kernel headers for user space define this macro. */
#ifndef __counted_by
#define __counted_by(member)
#endif

/* index of the lowest bit that is set; @word is not zero */
#define __ffs(word)		((unsigned int)__builtin_ctzl(word))
/* index of the highest bit that is set; @word is not zero */
#define __fls(word)		((unsigned int)(BITS_PER_LONG - 1 - __builtin_clzl(word)))
#define likely(x)		(x)
#define clamp(x, low, high)	min(max(x, low), high)

/*
 * The kernel logs a warning; here the program ends, unless a test that expects the warning
 * defines a macro of its own.
 */
#ifndef WARN_ON_ONCE
#define WARN_ON_ONCE(cond)	rnbd_warn(!!(cond), __FILE__, __LINE__, #cond)
#endif

static inline bool rnbd_warn(bool bad, const char *file, int line,
			     const char *what)
{
	if (bad) {
		fprintf(stderr, "%s:%d: %s\n", file, line, what);
		abort();
	}
	return bad;
}

/* No protection against speculation is needed in user space. */
#define array_index_nospec(index, size)	(index)
#define unlikely(x)		(x)
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
/* same semantics as in the kernel */
#define smp_store_release(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)
#define div_u64(n, d)		((u64)(n) / (u32)(d))
#define div64_u64(n, d)		((u64)(n) / (u64)(d))
#define is_power_of_2(n)	((n) != 0 && ((n) & ((n) - 1)) == 0)

#define rnbd_zalloc(size)	calloc(1, size)
#define rnbd_free(ptr)		free(ptr)

static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const u8 *p = start;

	for (; bytes; p++, bytes--)
		if (*p != (u8)c)
			return (void *)p;
	return NULL;
}

#endif /* __KERNEL__ */
#endif /* RNBD_CORE_PORTABLE_H */
