// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode requests, replies and queries about requests, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

u64 requests_accepted, extents_accepted, inline_accepted;

static void check_request(const struct rnbd_request *req)
{
	const struct rnbd_op_row *row = rnbd_op_find(req->op);
	const struct rnbd_export_limits *exp = &world.exp;
	const struct rnbd_limits *lim = &world.lim;
	u64 block = exp->block_mask + 1, units = 0;
	u32 i, j;

	assert_true(req->handle.index < 4096 && req->handle.generation);
	/* the test unit-op compares the rows of rnbd_ops with the protocol */
	assert_ptr_equal(row, &rnbd_ops[req->op]);
	assert_true(req->tag < lim->depth);
	assert_int_equal(req->flags & ~row->flags, 0);

	if (!row->range) {
		assert_true(!req->length && !req->offset && !req->nr_extents);
	} else {
		u32 max = req->flags & RNBD_REQ_INLINE ? rnbd_op_inline_limit(row, lim) :
							 rnbd_op_limit(row, exp);

		assert_true(req->length > 0 && req->length <= max);
		assert_true(req->length % block == 0);
		assert_true(req->offset % block == 0);
		/* 128 bits do not wrap */
		assert_true((__uint128_t)req->offset + req->length <=
			    exp->capacity);
	}

	if (row->data != RNBD_DATA_NONE) {
		assert_in_range(req->nr_extents, 1, RNBD_EXTENTS_MAX);
		for (i = 0; i < req->nr_extents; i++) {
			u64 first = req->extents[i].unit;
			u64 last = first + req->extents[i].units - 1;

			assert_true(req->extents[i].units > 0);
			assert_true(last < lim->pool_units);
			assert_true(first / lim->segment_units ==
				    last / lim->segment_units);
			for (j = 0; j < i; j++) {
				u64 other = req->extents[j].unit;

				assert_true(last < other || first >=
					    other + req->extents[j].units);
			}
			units += req->extents[i].units;
		}
		assert_true(units * 4096 >= req->length &&
			    units * 4096 < req->length + 4096ull);
		extents_accepted += req->nr_extents;
	} else {
		assert_int_equal(req->nr_extents, 0);
	}
}

enum rnbd_proto_err take_requests(struct rnbd_frame *frame, u8 *again)
{
	const u8 *data = (const u8 *)frame->entries + frame->bytes;
	const u8 *end = data + frame->data_bytes;
	struct rnbd_req_cursor cursor;
	struct rnbd_request req;
	enum rnbd_proto_err fault;
	u16 pos = 0;

	while (pos < frame->nr_entries) {
		u16 before = pos;

		memset(&req, 0xa5, sizeof(req));
		fault = rnbd_begin_request(frame, pos, &cursor);
		if (fault)
			return fault;
		assert_int_equal(cursor.pos, before);
		fault = rnbd_decode_request(frame, &pos, &cursor, &world.lim, &world.exp, &req);
		if (fault) {
			assert_int_equal(pos, before);
			return fault;
		}
		check_request(&req);
		assert_true(rnbd_handle_equal(&req.handle, &cursor.handle));
		if (rnbd_op_data_out(req.op) && req.flags & RNBD_REQ_INLINE) {
			assert_ptr_equal(req.data, data);
			assert_true(end - data >= req.length);
			data += req.length;
			inline_accepted++;
		} else {
			assert_null(req.data);
		}
		assert_int_equal(pos, before + rnbd_request_entries(req.nr_extents));
		assert_true(pos <= frame->nr_entries);
		rnbd_encode_request((void *)(again + 32 * before), &req);
		check_encoded((const u8 *)frame->entries + 32 * before,
			      again + 32 * before, 32 * (pos - before));
		requests_accepted++;
	}
	assert_int_equal(rnbd_begin_request(frame, pos, &cursor), RNBD_PERR_COUNT);
	assert_int_equal(rnbd_decode_end(frame),
			 data == end ? RNBD_PERR_NONE : RNBD_PERR_LONG);
	return rnbd_decode_end(frame);
}

enum rnbd_proto_err take_replies(struct rnbd_frame *frame, u8 *again)
{
	const u8 *data = (const u8 *)frame->entries + frame->bytes;
	const u8 *end = data + frame->data_bytes;
	struct rnbd_reply reply, untouched;
	enum rnbd_proto_err fault;
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < frame->nr_entries; i++) {
		reply = untouched;
		fault = rnbd_decode_reply(frame, i, world.lim.depth, &reply);
		if (fault) {
			assert_memory_equal(&reply, &untouched, sizeof(reply));
			return fault;
		}
		assert_true(reply.tag < world.lim.depth);
		assert_true(status_of_request(reply.status));
		assert_true(!reply.status || !reply.length);
		if (reply.is_inline) {
			assert_ptr_equal(reply.data, data);
			assert_true(reply.length && end - data >= reply.length);
			data += reply.length;
			inline_accepted++;
		} else {
			assert_null(reply.data);
		}
		rnbd_encode_reply((void *)(again + 16 * i), &reply);
		check_encoded((const u8 *)frame->entries + 16 * i,
			      again + 16 * i, 16);
	}
	assert_int_equal(rnbd_decode_reply(frame, i, world.lim.depth, &reply),
			 RNBD_PERR_COUNT);
	assert_int_equal(rnbd_decode_end(frame),
			 data == end ? RNBD_PERR_NONE : RNBD_PERR_LONG);
	return rnbd_decode_end(frame);
}

enum rnbd_proto_err take_query(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_query_info query, untouched;
	struct rnbd_ctl_query again;
	bool answer = entry->type == 14;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	query = untouched;
	fault = rnbd_decode_query(entry, world.lim.depth, &query);
	if (fault) {
		assert_memory_equal(&query, &untouched, sizeof(query));
		return fault;
	}
	assert_true(query.tag < world.lim.depth);
	assert_in_range(query.state, answer, answer ? 2 : 0);
	rnbd_encode_query(&again, &query);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}
