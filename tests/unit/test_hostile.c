// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test of the decoders with messages of a hostile peer: valid messages of all kinds are changed
 * at random, and tests/lib/hostile checks the results of the decoders. Each message is in a
 * buffer of its exact size, so AddressSanitizer detects a read behind it.
 *
 * Each run uses the same random numbers, unless RNBD_TEST_SEED is set. RNBD_TEST_ROUNDS sets the
 * number of rounds. On a slow machine, the run ends after ten seconds. tests/fuzz runs the same
 * checks without an end.
 */
#include "unit.h"
#include "hostile.h"

#define ROUNDS		6000000
#define WORLD_ROUNDS	500	/* rounds after which draw_world() chooses new random limits */
#define NS_MAX		10000000000ull

static u64 accepted[NR_KINDS], refused[NR_KINDS];
static u64 faults[RNBD_PERR_HANDLE + 1];

static void one_round(void)
{
	static _Alignas(8) u8 buf[FRAME_MAX];
	enum kind kind = below(NR_KINDS);
	u32 i, len, changes, shift;
	enum rnbd_proto_err fault;
	u8 *exact;

	len = hostile_build(kind, buf);
	assert_true(len + 1024 <= FRAME_MAX);
	changes = below(4);
	for (i = 0; i < changes; i++)
		len = hostile_change(buf, len, kind < KIND_CM_REQ ? 16 : 8);

	/* The message ends where its buffer ends, and can begin at any alignment. */
	shift = below(8);
	exact = malloc(len + shift);
	assert_non_null(exact);
	memcpy(exact + shift, buf, len);
	/* Sometimes pass the message to the decoder of another kind. */
	if (changes && one_in(16))
		kind = below(NR_KINDS);
	fault = hostile_take(kind, exact + shift, len);
	if (!changes && fault)
		fail_msg("valid message of kind %d refused: %s", kind,
			 rnbd_proto_err_text(fault));
	free(exact);

	faults[fault]++;
	if (fault)
		refused[kind]++;
	else
		accepted[kind]++;
}

static void test_hostile(void **state)
{
	u64 rounds = unit_environment("RNBD_TEST_ROUNDS", ROUNDS);
	u64 start = unit_now_ns(), i;

	(void)state;
	rnd = unit_random_seeded("hostile");
	for (i = 0; i < rounds; i++) {
		if (i % WORLD_ROUNDS == 0) {
			if (unit_now_ns() - start > NS_MAX)
				break;
			draw_world();
		}
		one_round();
	}
	rnbd_pool_exit(&world.pool);
	printf("hostile: %llu rounds of %llu in %llu ms\n",
	       (unsigned long long)i, (unsigned long long)rounds,
	       (unsigned long long)((unit_now_ns() - start) / 1000000));
	printf("hostile: accepted %llu requests, %llu extents\n",
	       (unsigned long long)requests_accepted,
	       (unsigned long long)extents_accepted);
}

/* All kinds of messages were accepted and refused, and all protocol errors were returned. */
static void test_hostile_reach(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < NR_KINDS; i++) {
		printf("hostile: kind %u: accepted %llu, refused %llu\n", i,
		       (unsigned long long)accepted[i],
		       (unsigned long long)refused[i]);
		assert_true(accepted[i] > 0);
		assert_true(refused[i] > 0);
	}
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		printf("hostile: %9llu %s\n", (unsigned long long)faults[i],
		       rnbd_proto_err_text(i));
		assert_true(faults[i] > 0);
	}
	assert_true(inline_accepted > 0);
	assert_true(ctl_accepted > 0);
	for (i = 0; i < ARRAY_SIZE(ctl_bodies_accepted); i++) {
		if (i && !ctl_known(i))
			continue;
		printf("hostile: %9llu bodies of type %u\n",
		       (unsigned long long)ctl_bodies_accepted[i], i);
		assert_true(ctl_bodies_accepted[i] > 0);
	}
	assert_true(extents_accepted > requests_accepted / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_hostile_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
