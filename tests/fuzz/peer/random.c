// SPDX-License-Identifier: GPL-2.0-only
/* Mutations of lawful traffic that a seed repeats exactly. */
#include <string.h>

#include "peer.h"

/* Numbers of one session depend on the seed and on which one it is. */
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
