// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries under libFuzzer.
 *
 * Operation: tests/lib/hostile checks the decoded entries of a CONTROL frame. This file passes
 * the body of an entry to the decoders of all types, which must not read beyond it, and repairs
 * the lengths of the entries of a frame.
 */
#include "attach.h"
#include "ctl.h"
#include "discover.h"
#include "fuzz_ctl.h"
#include "hostile_assert.h"
#include "io.h"
#include "lease.h"
#include "login.h"
#include "slots.h"

union result {
	struct rnbd_attach_info attach;
	struct rnbd_attach_grant grant;
	struct rnbd_handle_info handle;
	struct rnbd_capacity_info capacity;
	struct rnbd_login_info login;
	struct rnbd_grant granted;
	struct rnbd_segment_info segment;
	struct rnbd_lease_info lease;
	u32 want;
	struct rnbd_export_info export;
	struct rnbd_list_end_info list_end;
	struct rnbd_query_info query;
	struct rnbd_join_info join;
	struct rnbd_slots_info slots;
	u8 proof[2][32];
};

void fuzz_ctl_take_any(const struct rnbd_ctl_entry *entry)
{
	union result out;

	rnbd_decode_attach(entry, &out.attach);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_attach_reply(entry, &out.grant);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_handle(entry, &out.handle);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_capacity(entry, &out.capacity);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_login(entry, &out.login);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_grant(entry, &world.asked, &out.granted);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_segment(entry, hostile_grant(), world.nr_segments, &out.segment);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_want(entry, world.lim.pool_units, &out.want);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_lease(entry, hostile_grant()->nr_slots, &out.lease);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_challenge(entry, out.proof[0], out.proof[1]);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_join_reply(entry, &out.join);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_proof(entry, out.proof[0], out.proof[1]);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_export(entry, &out.export);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_list_end(entry, &out.list_end);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_slots(entry, &out.slots);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_decode_query(entry, world.lim.depth, &out.query);
	ASAN_UNPOISON_MEMORY_REGION(entry->body, entry->bytes);
	rnbd_ctl_no_body(entry);
}

/* ------------------------------------------------------------------------
 * Repair
 */

size_t fuzz_ctl_repair(u8 *message, size_t size)
{
	size_t at = 16, nr = 0;

	message[1] = 0;
	while (size - at >= sizeof(struct rnbd_ctl)) {
		size_t length = unit_get(message + at + 2, 2);

		length = min(length, size - at);
		length -= length % RNBD_CTL_ALIGN;
		length = max(length, sizeof(struct rnbd_ctl));
		unit_put(message + at + 2, 2, length);
		at += length;
		nr++;
	}
	unit_put(message + 2, 2, nr);
	return at;
}
