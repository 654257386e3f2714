// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the table of operations: each opcode has a row with a name of its own and with the
 * properties that the protocol specifies. No other number has a row.
 */
#include "unit.h"
#include "op.h"

static void test_text(void **state)
{
	const char *unknown = rnbd_op_text(0);
	u32 i, j;

	(void)state;
	for (i = 0; i < 256; i++) {
		const char *text = rnbd_op_text(i);

		assert_non_null(text);
		if (!rnbd_op_find(i)) {
			assert_true(i < RNBD_OP_READ || i >= RNBD_OP_END);
			assert_string_equal(text, unknown);
			continue;
		}
		assert_true(i >= RNBD_OP_READ && i < RNBD_OP_END);
		assert_ptr_equal(rnbd_op_find(i), &rnbd_ops[i]);
		assert_string_not_equal(text, unknown);
		for (j = RNBD_OP_READ; j < i; j++)
			assert_string_not_equal(text, rnbd_op_text(j));
	}
}

/*
 * The properties of each opcode are taken from
 * Documentation/reference/protocol-requests.rst, not from op.c.
 */
static void test_rows(void **state)
{
	static const struct {
		u8 op, flags;
		bool in, out, range, modifies, needs_flush, flushes;
		size_t limit;
	} want[] = {
		{ RNBD_OP_READ, RNBD_REQ_INLINE, .in = true, .range = true,
		  .limit = offsetof(struct rnbd_export_limits, max_io) },
		{ RNBD_OP_WRITE, RNBD_REQ_FUA | RNBD_REQ_INLINE, .out = true,
		  .range = true, .modifies = true, .needs_flush = true,
		  .limit = offsetof(struct rnbd_export_limits, max_io) },
		{ RNBD_OP_FLUSH, 0, .flushes = true },
		{ RNBD_OP_DISCARD, 0, .range = true, .modifies = true,
		  .limit = offsetof(struct rnbd_export_limits, max_discard) },
		{ RNBD_OP_WRITE_ZEROES, RNBD_REQ_FUA | RNBD_REQ_NOUNMAP,
		  .range = true, .modifies = true, .needs_flush = true,
		  .limit = offsetof(struct rnbd_export_limits, max_write_zeroes) },
	};
	const struct rnbd_limits limits = { .inline_read = 1, .inline_write = 2 };
	size_t i;

	(void)state;
	assert_int_equal(ARRAY_SIZE(want), RNBD_OP_END - RNBD_OP_READ);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		u8 op = want[i].op;

		assert_int_equal(op, RNBD_OP_READ + i);
		assert_int_equal(rnbd_ops[op].flags, want[i].flags);
		assert_int_equal(rnbd_op_data_in(op), want[i].in);
		assert_int_equal(rnbd_op_data_out(op), want[i].out);
		assert_int_equal(rnbd_op_has_data(op), want[i].in || want[i].out);
		assert_int_equal(rnbd_ops[op].range, want[i].range);
		assert_int_equal(rnbd_ops[op].modifies, want[i].modifies);
		assert_int_equal(rnbd_ops[op].flushes, want[i].flushes);
		assert_int_equal(rnbd_op_needs_flush(op, 0), want[i].needs_flush);
		assert_false(rnbd_op_needs_flush(op, RNBD_REQ_FUA));
		if (want[i].range)
			assert_int_equal(rnbd_ops[op].limit, want[i].limit);
		if (want[i].flags & RNBD_REQ_INLINE)
			assert_int_equal(rnbd_op_inline_limit(&rnbd_ops[op], &limits),
					 want[i].in ? 1 : 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
