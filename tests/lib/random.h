/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for all tests, also those without cmocka: repeatable random numbers, and
 * functions that read and write integers in wire byte order without the code under test.
 */
#ifndef RNBD_RANDOM_H
#define RNBD_RANDOM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "portable.h"

/* State of the generator splitmix64, which is small and accepts every seed */
struct unit_random {
	u64 state;
};

static inline u64 unit_random64(struct unit_random *random)
{
	u64 z = (random->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Return a random number from 0 to @below - 1; @below must not be 0. */
static inline u32 unit_random_below(struct unit_random *random, u32 below)
{
	return (u32)((unit_random64(random) >> 32) * below >> 32);
}

static inline u64 unit_environment(const char *name, u64 otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

/* Return a generator with the same seed in every run, unless RNBD_TEST_SEED names another seed. */
static inline struct unit_random unit_random_seeded(const char *test)
{
	u64 seed = unit_environment("RNBD_TEST_SEED", 20240229);

	printf("%s: RNBD_TEST_SEED=%llu\n", test, (unsigned long long)seed);
	return (struct unit_random) { .state = seed };
}

static inline u64 unit_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static inline void unit_put(void *at, u32 bytes, u64 value)
{
	u8 *p = at;

	for (; bytes; bytes--, value >>= 8)
		*p++ = value & 0xff;
}

static inline u64 unit_get(const void *at, u32 bytes)
{
	const u8 *p = at;
	u64 value = 0;

	while (bytes--)
		value = value << 8 | p[bytes];
	return value;
}

/* Characters that the name of an export may contain. */
#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

#endif /* RNBD_RANDOM_H */
