// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of gencheck's rule and of its classification of blocks.
 *
 * Operation: for each state of a block, the tests pass all generations from 0 to 9 to the rule; the
 * expected verdicts stand next to the state. Further tests make blocks, damage each sector and each
 * bit, and inspect them.
 *
 * Ownership, concurrency: one thread, all objects on the stack.
 * Errors: a failed assertion of cmocka.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "judge.h"

#define SEED		77
#define ADDRESS		123456789
#define US		1	/* a known writer */
#define OTHER		2	/* another known writer */
#define STRANGER	3	/* an unknown writer */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static uint64_t ours(uint64_t generation)
{
	return generation ? version_make(generation, US) : 0;
}

static const struct expect blank = {
	.seed = SEED, .address = ADDRESS, .writers = 1 << US | 1 << OTHER,
};

/* Return the verdict on a block with this generation and writer; generation 0: on zeros. */
static enum kind ask(const struct expect *expect, uint64_t generation, unsigned int writer)
{
	struct found found = {
		.content = generation ? CONTENT_WHOLE : CONTENT_UNIFORM,
		.stamp = { .seed = SEED, .address = ADDRESS,
			   .version = version_make(generation, writer) },
	};

	return judge(expect, &found);
}

/* State of a block; @want has a letter for each generation from 0 to 9: the expected verdict. */
struct state {
	const char *what, *want;
	unsigned int acked, doubt, pending, seen, flushed, issued;
	bool crashed, go_back;
};

static const struct state states[] = {
	{ "never written",	"+FFFFFFFFF", 0, 0, 0, 0, 0, 0, false, false },
	{ "first in flight",	"++FFFFFFFF", 0, 1, 1, 0, 0, 1, false, false },
	{ "that was read back",	"L+FFFFFFFF", 0, 1, 1, 1, 0, 1, false, false },
	{ "acknowledged",	"Loooo+FFFF", 5, 0, 0, 0, 0, 5, false, false },
	{ "and flushed",	"Loooo+FFFF", 5, 0, 0, 0, 5, 5, false, false },
	{ "one in flight",	"Loooo++FFF", 5, 6, 6, 0, 0, 6, false, false },
	{ "three in doubt",	"Loooo++++F", 5, 6, 8, 0, 0, 8, false, false },
	{ "the second seen",	"Loooooo++F", 5, 6, 8, 7, 0, 8, false, false },
	{ "the last seen",	"Loooooooo+", 5, 6, 9, 9, 0, 9, false, false },
	{ "seen, then passed",	"Looooooo+F", 8, 0, 0, 7, 0, 8, false, false },
	/* generations 6 and 7 were issued before a crash and must not appear later */
	{ "adopted",		"Loooo+ooFF", 5, 0, 0, 0, 0, 7, false, false },
	{ "and written",	"Loooo+oo+F", 5, 8, 8, 0, 0, 8, false, false },
	{ "crash, no error",	"Loooo+FFFF", 5, 0, 0, 0, 3, 5, true, false },
	{ "crash, was seen",	"Loooo++FFF", 5, 6, 6, 6, 3, 6, true, false },
	{ "crash, error",	"Loo+++FFFF", 5, 0, 0, 0, 3, 5, true, true },
	{ "with one in flight",	"Loo++++FFF", 5, 6, 6, 6, 3, 6, true, true },
	{ "never flushed",	"++++++FFFF", 5, 0, 0, 0, 0, 5, true, true },
	{ "all flushed",	"Loooo+FFFF", 5, 0, 0, 0, 5, 5, true, true },
};

static void test_versions(void **context)
{
	static const char letters[KINDS] = {
		[KIND_RIGHT] = '+', [KIND_OLD] = 'o', [KIND_LOST] = 'L', [KIND_FUTURE] = 'F',
	};
	unsigned int i, generation;

	(void)context;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		const struct state *s = &states[i];
		struct expect expect = blank;
		char got[11] = "";

		expect.acked = ours(s->acked);
		expect.doubt = ours(s->doubt);
		expect.pending = ours(s->pending);
		expect.seen = ours(s->seen);
		expect.flushed = ours(s->flushed);
		expect.issued = ours(s->issued);
		expect.crashed = s->crashed;
		expect.may_go_back = s->go_back;
		for (generation = 0; generation < 10; generation++)
			got[generation] = letters[ask(&expect, generation, US)] ?: '?';
		if (strcmp(got, s->want))
			printf("%s: '%s', wanted '%s'\n", s->what, got, s->want);
		assert_string_equal(got, s->want);
		/* in every state, a block of an unknown writer is foreign */
		for (generation = 1; generation < 10; generation++)
			assert_int_equal(ask(&expect, generation, STRANGER), KIND_FOREIGN);
	}
}

static void test_writers(void **context)
{
	struct expect expect = blank;

	(void)context;
	/* our write of generation 6 is in doubt, and another machine has issued generation 7 */
	expect.acked = ours(5);
	expect.doubt = ours(6);
	expect.pending = version_make(7, OTHER);
	expect.issued = expect.pending;
	assert_int_equal(ask(&expect, 5, US), KIND_RIGHT);
	assert_int_equal(ask(&expect, 5, OTHER), KIND_FOREIGN);
	assert_int_equal(ask(&expect, 6, US), KIND_RIGHT);
	assert_int_equal(ask(&expect, 7, OTHER), KIND_RIGHT);
	/* the write of the other machine is acknowledged, so our write of generation 6 is old */
	expect.acked = expect.pending;
	expect.pending = 0;
	assert_int_equal(ask(&expect, 7, OTHER), KIND_RIGHT);
	assert_int_equal(ask(&expect, 7, US), KIND_FOREIGN);
	assert_int_equal(ask(&expect, 6, US), KIND_OLD);
	assert_int_equal(ask(&expect, 5, US), KIND_OLD);
}

static void test_fill(void **context)
{
	struct found found = { .content = CONTENT_UNIFORM, .byte = 0xa5 };
	struct expect expect = blank;

	(void)context;
	assert_int_equal(judge(&expect, &found), KIND_FOREIGN);
	expect.fill = 0xa5;
	assert_int_equal(judge(&expect, &found), KIND_RIGHT);
	expect.fill = FILL_ANY;
	assert_int_equal(judge(&expect, &found), KIND_RIGHT);
	found.content = CONTENT_ALIEN;
	assert_int_equal(judge(&expect, &found), KIND_RIGHT);
	expect.acked = ours(1);
	expect.issued = ours(1);
	assert_int_equal(judge(&expect, &found), KIND_FOREIGN);
	found.content = CONTENT_UNIFORM;
	assert_int_equal(judge(&expect, &found), KIND_LOST);
}

/* --- blocks -------------------------------------------------------------- */

static void make(uint64_t *block, uint64_t address, uint64_t generation)
{
	struct stamp stamp = {
		.seed = SEED, .address = address, .version = ours(generation),
		.sequence = 99, .time_ns = 1000,
	};

	block_make(block, &stamp);
}

/* Return the verdict on a block that must hold generation 7. */
static enum kind look(const uint64_t *block)
{
	struct expect expect = blank;
	struct found found;

	expect.acked = ours(7);
	expect.issued = ours(7);
	block_inspect(block, &found);
	return judge(&expect, &found);
}

static void test_torn(void **context)
{
	uint64_t good[BLOCK / 8], other[BLOCK / 8], block[BLOCK / 8];
	unsigned int from, to, i;

	(void)context;
	make(good, ADDRESS, 7);
	assert_int_equal(look(good), KIND_RIGHT);
	/* replace any sequence of sectors by an older generation, another address, or zeros */
	for (i = 0; i < 3; i++) {
		memset(other, 0, BLOCK);
		if (i < 2)
			make(other, ADDRESS + i, 6 + i);
		for (from = 0; from < SECTORS; from++) {
			for (to = from + 1; to <= SECTORS; to++) {
				if (from == 0 && to == SECTORS)
					continue;
				memcpy(block, good, BLOCK);
				memcpy((char *)block + from * SECTOR, (char *)other + from * SECTOR,
				       (to - from) * SECTOR);
				assert_int_equal(look(block), KIND_TORN);
			}
		}
	}
	make(other, ADDRESS + 1, 7);
	assert_int_equal(look(other), KIND_ADDRESS);
	make(other, ADDRESS, 6);
	assert_int_equal(look(other), KIND_OLD);
	memset(other, 0, BLOCK);
	assert_int_equal(look(other), KIND_LOST);
	memset(other, 'x', BLOCK - 1);
	assert_int_equal(look(other), KIND_FOREIGN);
}

static void test_corrupt(void **context)
{
	uint64_t block[BLOCK / 8];
	unsigned int bit;

	(void)context;
	for (bit = 0; bit < BLOCK * 8; bit++) {
		make(block, ADDRESS, 7);
		block[bit / 64] ^= 1ull << bit % 64;
		assert_int_not_equal(look(block), KIND_RIGHT);
	}
	/* flip a bit of the pattern, outside of the tags */
	make(block, ADDRESS, 7);
	block[BLOCK / 8 - 1] ^= 1;
	assert_int_equal(look(block), KIND_CORRUPT);
}

static void test_crc(void **context)
{
	uint8_t data[300];
	unsigned int i, start;

	(void)context;
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_table(0, "123456789", 9), 0xe3069283);
	for (i = 0; i < sizeof(data); i++)
		data[i] = i * i;
	for (start = 0; start < 9; start++)
		for (i = 0; i < sizeof(data) - start; i++)
			assert_int_equal(crc32c(i, data + start, i),
					 crc32c_table(i, data + start, i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_writers),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_crc),
	};

	return cmocka_run_group_tests_name("gencheck-rule", tests, NULL, NULL);
}
