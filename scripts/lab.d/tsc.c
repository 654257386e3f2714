// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the frequency of this processor's time stamp counter, in kHz.
 *
 * An emulated machine reads the counter of the host, but cannot read its
 * frequency. Linux in the machine would measure the frequency: on a busy host the
 * result was seen to be wrong by a factor of eight, so that all clocks of the
 * machine were wrong. This program measures on the host, at the start and at the
 * end of an interval: each time it reads counter and clock many times, and uses
 * the pair of readings that took the shortest time, because nothing interrupted
 * that pair.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define READINGS	2000
#define INTERVAL_NS	300000000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Read TSC and clock many times; store the pair of readings that took the shortest time. */
static void read_both(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < READINGS; i++) {
		uint64_t before = __rdtsc();
		uint64_t now = now_ns();
		uint64_t took = __rdtsc() - before;

		if (took < best) {
			best = took;
			*tsc = before + took / 2;
			*ns = now;
		}
	}
}

int main(void)
{
	const struct timespec nap = { .tv_nsec = INTERVAL_NS };
	uint64_t tsc, ns, tsc_end, ns_end;

	read_both(&tsc, &ns);
	nanosleep(&nap, NULL);
	read_both(&tsc_end, &ns_end);
	printf("%.0f\n", (tsc_end - tsc) * 1e6 / (ns_end - ns));
	return 0;
}
