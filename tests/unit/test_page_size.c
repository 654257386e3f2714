// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page size of a memory region: known choices, and random ones against a search through
 * all sizes.
 */
#include "unit.h"

#include "../../drivers/target/page_size.c"

#define K		1024ull
#define M		(K * K)
#define G		(K * M)
#define UNIT		4096u
#define ANY		(~0ull << 12)
#define HUGE		(4 * K | 2 * M | 1 * G)
#define ROUNDS		100000

static void test_known(void **state)
{
	static const struct {
		u64 bits, cap;
		u32 size;
	} cases[] = {
		/* one piece of 1 MiB, at 1 MiB and at an address that is less aligned */
		{ 0x100000 | 1 * M, ANY, 1 * M },
		{ 0x140000 | 1 * M, ANY, 256 * K },
		/* the device has fewer sizes */
		{ 0x100000 | 1 * M, HUGE, 4 * K },
		{ 0x400000 | 8 * M, HUGE, 2 * M },
		{ 0x100000 | 1 * M, 4 * K, 4 * K },
		{ 4 * M | 2 * M, 4 * K | 64 * K, 64 * K },
		/* a single page among larger pieces */
		{ 0x100000 | 1 * M | 0x3000 | 4 * K, ANY, 4 * K },
		/* large addresses, and sizes beyond 32 bits */
		{ 1ull << 63 | 8 * M, ANY, 8 * M },
		{ 4 * G, ANY, 2 * G },
		{ 16 * G, 8 * G, 4 * K },
		{ 0, ANY, 2 * G },
		/* a device that reports nothing that fits has the size of a unit */
		{ 0x100000 | 1 * M, 0, 4 * K },
		{ 0x100000 | 1 * M, 1 * K, 4 * K },
		{ 0x100000 | 1 * M, 2 * M, 4 * K },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(rnbdt_page_size(cases[i].bits, cases[i].cap, UNIT),
				 cases[i].size);
}

/* The largest of all sizes that the device has and that divide all addresses and lengths */
static u32 search(const u64 *numbers, u32 nr, u64 cap)
{
	u32 best = UNIT, i;
	u64 size;

	for (size = UNIT; size <= U32_MAX; size *= 2) {
		for (i = 0; i < nr && !(numbers[i] % size); i++)
			;
		if (i == nr && cap & size)
			best = size;
	}
	return best;
}

static void test_random(void **state)
{
	struct unit_random rnd = { .state = 1 };
	u64 numbers[16], bits, cap;
	u32 i, round, nr, shift;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		bits = 0;
		nr = 2 + unit_random64(&rnd) % (ARRAY_SIZE(numbers) - 1);
		shift = 12 + unit_random64(&rnd) % 20;
		for (i = 0; i < nr; i++) {
			numbers[i] = unit_random64(&rnd) << (shift + unit_random64(&rnd) % 4);
			bits |= numbers[i];
		}
		cap = unit_random64(&rnd) & unit_random64(&rnd);
		assert_int_equal(rnbdt_page_size(bits, cap, UNIT), search(numbers, nr, cap));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
