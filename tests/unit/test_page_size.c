// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the choice of the page size of a memory region (drivers/target/page_size.c): known
 * results, and random cases that are compared with a search through all sizes.
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
		/*
		 * A piece of 1 MiB, which is aligned to 1 MiB in the first case and to 256 KiB
		 * in the second.
		 */
		{ 0x100000 | 1 * M, ANY, 1 * M },
		{ 0x140000 | 1 * M, ANY, 256 * K },
		/* The device supports only a few sizes. */
		{ 0x100000 | 1 * M, HUGE, 4 * K },
		{ 0x400000 | 8 * M, HUGE, 2 * M },
		{ 0x100000 | 1 * M, 4 * K, 4 * K },
		{ 4 * M | 2 * M, 4 * K | 64 * K, 64 * K },
		/* A piece of 1 MiB and a piece of one page. */
		{ 0x100000 | 1 * M | 0x3000 | 4 * K, ANY, 4 * K },
		/* Large addresses and lengths. A page size is less than 4 GiB. */
		{ 1ull << 63 | 8 * M, ANY, 8 * M },
		{ 4 * G, ANY, 2 * G },
		{ 16 * G, 8 * G, 4 * K },
		{ 0, ANY, 2 * G },
		/* If the device reports no size that fits, the result is the size of a unit. */
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

/* Find the largest size that the device supports and that divides all numbers, or else UNIT. */
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
