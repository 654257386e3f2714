// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec: round trips of all messages, bounds of all fields, and invalid messages
 * that must be rejected with exactly the expected protocol error. The tests of each topic are
 * in codec/. The last test fails if one of the protocol errors was never returned.
 */
#include "codec/fixture.h"

static bool seen[RNBD_PERR_HANDLE + 1];

void check_fault(enum rnbd_proto_err got, enum rnbd_proto_err want, const char *what, int line)
{
	if (got != want)
		fail_msg("line %d: %s: got %d (%s), want %d (%s)", line, what,
			 got, rnbd_proto_err_text(got),
			 want, rnbd_proto_err_text(want));
	seen[got] = true;
}

void message_init(struct message *msg, u8 type, u16 nr_entries, u32 bytes)
{
	memset(msg, 0, sizeof(*msg));
	rnbd_encode_frame_hdr(msg->buf, type, 0, nr_entries,
			      type == RNBD_FRAME_CREDIT ? SLOTS : 0, SEQ, EPOCH);
	msg->len = 16 + bytes;
}

/* Decode a copy of exactly msg->len bytes: AddressSanitizer detects a read behind it. */
enum rnbd_proto_err message_decode_to(const struct message *msg, struct rnbd_frame *frame)
{
	u8 *copy = malloc(msg->len ? msg->len : 1);
	enum rnbd_proto_err fault;

	assert_non_null(copy);
	memcpy(copy, msg->buf, msg->len);
	fault = rnbd_decode_frame(copy, msg->len, SEQ, EPOCH, SLOTS, frame);
	if (!fault) {
		assert_ptr_equal(frame->entries, copy + 16);
		frame->entries = msg->buf + 16;
		assert_ptr_equal(frame->data, copy + 16 + frame->bytes);
		assert_int_equal(frame->data_bytes, msg->len - 16 - frame->bytes);
		frame->data = msg->buf + 16 + frame->bytes;
	}
	free(copy);
	return fault;
}

enum rnbd_proto_err message_decode(struct message *msg)
{
	struct rnbd_frame untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	msg->frame = untouched;
	fault = message_decode_to(msg, &msg->frame);
	if (fault)
		assert_memory_equal(&msg->frame, &untouched, sizeof(untouched));
	return fault;
}

const struct rnbd_ctl_entry *entry_of(u16 type, const void *body, u32 bytes)
{
	static struct rnbd_ctl_entry entry;
	static u8 *copy;

	free(copy);
	copy = malloc(bytes ? bytes : 1);
	assert_non_null(copy);
	memcpy(copy, body, bytes);
	entry = (struct rnbd_ctl_entry) { .type = type, .body = copy, .bytes = bytes };
	return &entry;
}

static void test_every_fault_seen(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		if (!seen[i])
			fail_msg("never returned: %s", rnbd_proto_err_text(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_fault_seen),
	};
	int failed = 0;

	failed += codec_frame_tests();
	failed += codec_io_handle_tests();
	failed += codec_io_request_tests();
	failed += codec_io_reply_tests();
	failed += codec_cm_tests();
	failed += codec_login_tests();
	failed += codec_login_reply_tests();
	failed += codec_discover_tests();
	failed += codec_ctl_tests();
	failed += codec_attach_tests();
	failed += codec_lease_tests();
	failed += codec_slots_tests();
	failed += cmocka_run_group_tests_name("errors", tests, NULL, NULL);
	return failed;
}
