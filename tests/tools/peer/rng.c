// SPDX-License-Identifier: GPL-2.0-only
/* Pseudo-random numbers and mutations of messages: the same seed repeats them exactly. */
#include <string.h>

#include "peer.h"

/* Seed the generator for session @nr of a run. */
void rng_seed(struct rng *rng, uint64_t seed, uint64_t nr)
{
	rng->state = seed * 0x9e3779b97f4a7c15ull + nr * 0xd1b54a32d192ed03ull + 1;
	rng_next(rng);
	rng_next(rng);
}

/* splitmix64 */
uint32_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 16;
}

uint32_t rng_below(struct rng *rng, uint32_t limit)
{
	return (uint64_t)rng_next(rng) * limit >> 32;
}

/* Make one to three changes: bits, bytes, words with extreme values, the length. */
void rng_mutate(struct rng *rng, uint8_t *bytes, uint32_t *len, uint32_t room)
{
	static const uint64_t nasty[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000000, INT64_MAX, 1ull << 63, UINT64_MAX, 4096,
		512, 511, 64, 1024, 65536,
	};
	uint32_t changes = 1 + rng_below(rng, 3), at, size, i;
	uint64_t value;

	while (changes--) {
		at = *len ? rng_below(rng, *len) : 0;
		switch (rng_below(rng, 6)) {
		case 0:
			bytes[at] ^= 1 << rng_below(rng, 8);
			break;
		case 1:
			bytes[at] = rng_next(rng);
			break;
		case 2:
		case 3:
			size = 1 << rng_below(rng, 4);
			at &= ~(size - 1);
			value = nasty[rng_below(rng, ARRAY_SIZE(nasty))];
			for (i = 0; i < size && at + i < *len; i++)
				bytes[at + i] = value >> (8 * i);
			break;
		case 4:
			*len = rng_below(rng, room + 1);
			break;
		case 5:
			for (i = rng_below(rng, 32); i && at + i < *len; i--)
				bytes[at + i] = rng_next(rng);
			break;
		}
	}
}
