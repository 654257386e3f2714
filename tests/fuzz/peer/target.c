// SPDX-License-Identifier: GPL-2.0-only
/* Not there yet. */
#include "peer.h"

int target_cases(void)
{
	return 1;
}

int target_random(uint64_t seed, uint64_t from, uint32_t seconds)
{
	return seed + from + seconds;
}

int client_random(uint64_t seed, uint64_t from, uint32_t seconds)
{
	return seed + from + seconds;
}
