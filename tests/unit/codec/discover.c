// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of the entries that list exports (discovery).
 */
#include "fixture.h"

static const struct rnbd_export_info export0 = {
	.name = "disk0", .uuid = { 1, 2, 3 }, .capacity = 10ull << 30,
	.logical_block = 512, .flags = RNBD_EXPORT_READONLY,
};

static enum rnbd_proto_err decode_export(const u8 *body, u32 bytes, struct rnbd_export_info *out)
{
	struct rnbd_export_info untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	*out = untouched;
	fault = rnbd_decode_export(entry_of(RNBD_CTL_EXPORT, body, bytes), out);
	if (fault)
		assert_memory_equal(out, &untouched, sizeof(untouched));
	return fault;
}

static void test_export(void **state)
{
	static const struct patch patches[] = {
		{ 0, 1, 0, RNBD_PERR_NAME },
		{ 0, 1, '.', RNBD_PERR_NAME },
		{ 2, 1, '/', RNBD_PERR_NAME },
		{ 6, 1, 'x', RNBD_PERR_NAME },
		{ 63, 1, 'x', RNBD_PERR_NAME },
		PATCH(rnbd_ctl_export, capacity, 0, LIMITS),
		PATCH(rnbd_ctl_export, capacity, 511, LIMITS),
		PATCH(rnbd_ctl_export, capacity, 512, NONE),
		PATCH(rnbd_ctl_export, capacity, 513, LIMITS),
		PATCH(rnbd_ctl_export, capacity, 0x7ffffffffffffe00ull, NONE),
		PATCH(rnbd_ctl_export, capacity, 1ull << 63, LIMITS),
		PATCH(rnbd_ctl_export, logical_block, 0, LIMITS),
		PATCH(rnbd_ctl_export, logical_block, 256, LIMITS),
		PATCH(rnbd_ctl_export, logical_block, 1536, LIMITS),
		PATCH(rnbd_ctl_export, logical_block, 4096, NONE),
		PATCH(rnbd_ctl_export, logical_block, 8192, LIMITS),
		PATCH(rnbd_ctl_export, flags, 0, NONE),
		PATCH(rnbd_ctl_export, flags, RNBD_EXPORT_FUA, FLAGS),
		PATCH(rnbd_ctl_export, flags, 1u << 31, FLAGS),
		{ 96, 1, 1, RNBD_PERR_RESERVED },
		{ 111, 1, 0x80, RNBD_PERR_RESERVED },
	};
	struct rnbd_export_info out;
	u8 body[112];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		memset(body, 0xee, sizeof(body));
		rnbd_encode_export((void *)body, &export0);
		assert_fault(decode_export(body, sizeof(body), &out), RNBD_PERR_NONE);
		assert_memory_equal(&out, &export0, sizeof(out));
		unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
		assert_fault(decode_export(body, sizeof(body), &out), patches[i].want);
	}
	assert_fault(decode_export(body, 104, &out), RNBD_PERR_SHORT);

	/* The encoder truncates a name of 64 bytes. */
	out = export0;
	memset(out.name, 'n', sizeof(out.name));
	rnbd_encode_export((void *)body, &out);
	assert_fault(decode_export(body, sizeof(body), &out), RNBD_PERR_NONE);
	assert_int_equal(strlen(out.name), 63);
}

static void test_list_end(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_list_end, status, 13, STATUS),
		PATCH(rnbd_ctl_list_end, status, 52, STATUS),
		PATCH(rnbd_ctl_list_end, status, 0xffff, STATUS),
		PATCH(rnbd_ctl_list_end, status, RNBD_ST_OK, RESERVED),
		PATCH(rnbd_ctl_list_end, status, RNBD_ST_NOMEM, RESERVED),
		PATCH(rnbd_ctl_list_end, status, RNBD_ST_BUSY, NONE),
		{ 2, 1, 1, RNBD_PERR_RESERVED },
		{ 3, 1, 0x80, RNBD_PERR_RESERVED },
		PATCH(rnbd_ctl_list_end, retry_ms, 0, NONE),
	};
	const struct rnbd_list_end_info end = { .status = RNBD_ST_LIMIT, .retry_ms = 0x01020304 };
	struct rnbd_list_end_info out, untouched;
	u8 body[8];
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i <= ARRAY_SIZE(patches); i++) {
		enum rnbd_proto_err fault, want = RNBD_PERR_NONE;

		memset(body, 0xee, sizeof(body));
		rnbd_encode_list_end((void *)body, &end);
		if (i < ARRAY_SIZE(patches)) {
			unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
			want = patches[i].want;
		}
		out = untouched;
		fault = rnbd_decode_list_end(entry_of(RNBD_CTL_LIST_END, body, 8), &out);
		assert_fault(fault, want);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	}
	assert_int_equal(out.status, RNBD_ST_LIMIT);
	assert_int_equal(out.retry_ms, 0x01020304);
	assert_fault(rnbd_decode_list_end(entry_of(RNBD_CTL_LIST_END, body, 7), &out),
		     RNBD_PERR_SHORT);
}

/* A LIST entry has no body; zeros from a later version of the protocol are accepted. */
static void test_list(void **state)
{
	u8 body[16] = { 0 };

	(void)state;
	assert_fault(rnbd_ctl_no_body(entry_of(RNBD_CTL_LIST, body, 0)), RNBD_PERR_NONE);
	assert_fault(rnbd_ctl_no_body(entry_of(RNBD_CTL_LIST, body, 16)), RNBD_PERR_NONE);
	body[15] = 1;
	assert_fault(rnbd_ctl_no_body(entry_of(RNBD_CTL_LIST, body, 16)), RNBD_PERR_RESERVED);
}

int codec_discover_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_export),
		cmocka_unit_test(test_list_end),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
