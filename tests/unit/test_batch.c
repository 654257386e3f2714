// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test of rnbdc_add_to_batch(): a request with an error, or one to be sent again, never joins a
 * batch. Stable kernels differ in which values of the third argument of blk_mq_add_to_batch()
 * are an error: there are three conventions, and the test runs with each of them.
 */
#include "unit.h"
#include "portable.h"

typedef u8 blk_status_t;

#define BLK_STS_OK	0
#define unlikely(x)	(x)

/* Values that blk_mq_add_to_batch() treats as an error in its third argument. */
enum convention { NOT_ZERO, NEGATIVE, BOOL, CONVENTIONS };

struct io_comp_batch {
	enum convention convention;
	u32 nr;
};

struct request {
	u32 unused;
};

static bool blk_mq_add_to_batch(struct request *rq, struct io_comp_batch *iob, int error,
				void (*complete)(struct io_comp_batch *iob))
{
	bool refused = iob->convention == NEGATIVE ? error < 0 :
		       iob->convention == BOOL ? (bool)error : error != 0;

	(void)rq;
	assert_non_null(complete);
	iob->nr += !refused;
	return !refused;
}

#include "../../drivers/client/batch.h"

static void complete(struct io_comp_batch *iob)
{
	(void)iob;
}

static void test_batch(void **state)
{
	struct io_comp_batch iob = { };
	struct request rq = { };
	u32 status;

	(void)state;
	for (; iob.convention < CONVENTIONS; iob.convention++) {
		for (status = 0; status < 256; status++) {
			iob.nr = 0;
			assert_int_equal(rnbdc_add_to_batch(&rq, &iob, false, status, complete),
					 status == BLK_STS_OK);
			assert_int_equal(iob.nr, status == BLK_STS_OK);
			iob.nr = 0;
			assert_false(rnbdc_add_to_batch(&rq, &iob, true, status, complete));
			assert_int_equal(iob.nr, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
