// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries about attachments under libFuzzer.
 *
 * Operation: tests/lib/hostile judges the heads of the entries of a CONTROL frame. This
 * file makes entries whose bodies are valid, and judges what the decoders make of a body:
 * what is accepted lies within the limits, as checked here by other code than the
 * decoder's, and is what our own encoder would have sent, with zeros behind it; what is
 * refused leaves the result untouched.
 */
#include "attach.h"
#include "ctl.h"
#include "fuzz_ctl.h"
#include "hostile_assert.h"

union result {
	struct rnbd_attach_info attach;
	struct rnbd_attach_grant grant;
	struct rnbd_handle_info handle;
	struct rnbd_capacity_info capacity;
};

/* ------------------------------------------------------------------------
 * Valid entries
 */

static struct rnbd_handle draw_handle(void)
{
	return (struct rnbd_handle) {
		.index = one_in(2) ? below(4) : below(RNBD_ATTACH_MAX),
		.generation = 1 + (one_in(2) ? below(4) : below(U32_MAX)),
	};
}

static u16 draw_refusal(void)
{
	return one_in(2) ? 1 + below(RNBD_ST_CLOSED) :
	       RNBD_ST_MALFORMED + below(RNBD_ST_REMOVED - RNBD_ST_MALFORMED + 1);
}

static void draw_attach(struct rnbd_attach_info *info)
{
	u32 i, len = 1 + below(RNBD_EXPORT_NAME_SIZE - 1);

	info->flags = below(2);
	info->fence_generation = draw_number();
	for (i = 0; i < len; i++)
		info->export[i] = "abzAZ059_:-."[below(i ? 12 : 11)];
}

static void draw_geometry(struct rnbd_geometry *geo)
{
	u32 block = 512u << below(4);

	geo->capacity = (1 + unit_random64(&rnd) % (1ull << 50)) * block;
	geo->flags = below(16);
	if (geo->flags & RNBD_EXPORT_VOLATILE_CACHE)
		geo->flags |= RNBD_EXPORT_FUA;
	geo->logical_block = block;
	geo->physical_block = block << below(8);
	geo->io_min = block * (1 + below(100));
	geo->io_opt = block * below(100);
	geo->discard_granularity = block * below(100);
	geo->discard_alignment = block * below(3);
	geo->max_discard = block * below(1u << 19);
	if (!geo->discard_granularity ||
	    geo->max_discard < max(geo->discard_granularity, geo->physical_block))
		geo->max_discard = 0;
	geo->max_write_zeroes = block * below(1u << 19);
}

static void draw_attach_reply(struct rnbd_attach_grant *grant)
{
	if (one_in(3)) {
		grant->status = draw_refusal();
		if (grant->status == RNBD_ST_BUSY || grant->status == RNBD_ST_LIMIT)
			grant->retry_ms = draw_number();
		return;
	}
	grant->fence_generation = 1 + below(U32_MAX);
	draw_geometry(&grant->geo);
	draw_bytes(grant->incarnation, sizeof(grant->incarnation));
	draw_bytes(grant->export_uuid, sizeof(grant->export_uuid));
}

/* The body of a valid entry of @type at @body; returns its length. */
static u32 build_body(u16 type, u8 *body)
{
	/* The handle is the first member of each. */
	union result out;

	memset(&out, 0, sizeof(out));
	out.handle.handle = draw_handle();
	switch (type) {
	case RNBD_CTL_ATTACH:
		draw_attach(&out.attach);
		rnbd_encode_attach((void *)body, &out.attach);
		return sizeof(struct rnbd_ctl_attach);
	case RNBD_CTL_ATTACH_REPLY:
		draw_attach_reply(&out.grant);
		rnbd_encode_attach_reply((void *)body, &out.grant);
		return sizeof(struct rnbd_ctl_attach_reply);
	case RNBD_CTL_CAPACITY:
		out.capacity.capacity = one_in(2) ? world.exp.capacity : draw_number();
		rnbd_encode_capacity((void *)body, &out.capacity);
		return sizeof(struct rnbd_ctl_capacity);
	default:
		if (type == RNBD_CTL_CLOSED || (type == RNBD_CTL_DETACHED && one_in(2)))
			out.handle.status = draw_refusal();
		if (type == RNBD_CTL_CLOSED)
			out.handle.retry_ms = draw_number();
		rnbd_encode_handle((void *)body, &out.handle);
		return sizeof(struct rnbd_ctl_handle);
	}
}

size_t fuzz_ctl_build(u8 *buf)
{
	u32 i, nr = 1 + below(4);
	size_t len = 16;

	for (i = 0; i < nr; i++) {
		_Alignas(8) u8 body[128] = { 0 };
		struct rnbd_ctl_entry entry = {
			.type = 1 + below(RNBD_CTL_CAPACITY),
			.mandatory = !one_in(4),
			.id = draw_number(),
			.body = body,
		};

		entry.bytes = build_body(entry.type, body);
		/* of a later version that knows more members */
		if (one_in(8))
			entry.bytes += RNBD_CTL_ALIGN * (1 + below(4));
		rnbd_encode_ctl(buf + len, &entry);
		len += sizeof(struct rnbd_ctl) + entry.bytes;
	}
	rnbd_encode_frame_hdr(buf, RNBD_FRAME_CONTROL, 0, nr, below(world.slots + 1), world.seq,
			      world.epoch);
	return len;
}

/* ------------------------------------------------------------------------
 * Judgement
 */

static void check_handle(const struct rnbd_handle *handle)
{
	must(handle->index < 4096);
	must(handle->generation > 0);
}

static bool is_status(u16 status)
{
	return status <= 12 || (status >= 32 && status <= 50);
}

static void check_attach(const struct rnbd_attach_info *info)
{
	size_t len = strnlen(info->export, sizeof(info->export));

	must(len >= 1 && len <= 63);
	must(strspn(info->export, NAME_CHARS) == len);
	must(info->export[0] != '.');
	must(info->flags <= 1);
}

static void check_geometry(const struct rnbd_geometry *geo)
{
	u64 block = geo->logical_block;

	must(geo->flags <= 0xf);
	must(!(geo->flags & 2) || (geo->flags & 4));
	must(is_power(block) && block >= 512 && block <= 4096);
	must(geo->capacity > 0 && geo->capacity < 1ull << 63);
	must(geo->capacity % block == 0);
	must(is_power(geo->physical_block));
	must(geo->physical_block >= block && geo->physical_block <= 1u << 20);
	must(geo->io_min >= block && geo->io_min % block == 0);
	must(geo->io_opt % block == 0);
	must(geo->io_min <= 64u << 20 && geo->io_opt <= 64u << 20);
	if (geo->max_discard) {
		must(geo->discard_granularity > 0);
		must(geo->max_discard >= geo->discard_granularity);
		must(geo->max_discard >= geo->physical_block);
	}
	must(geo->discard_granularity % block == 0);
	must(geo->discard_alignment % block == 0);
	must(geo->max_discard % block == 0);
	must(geo->max_write_zeroes % block == 0);
}

static void check_attach_reply(const struct rnbd_attach_grant *grant)
{
	must(is_status(grant->status));
	must(!grant->retry_ms || grant->status == RNBD_ST_BUSY || grant->status == RNBD_ST_LIMIT);
	if (grant->status == RNBD_ST_OK) {
		must(grant->fence_generation > 0);
		check_geometry(&grant->geo);
		return;
	}
	must(!grant->fence_generation);
	must(is_zero(&grant->geo, sizeof(grant->geo)));
	must(is_zero(grant->incarnation, sizeof(grant->incarnation)));
	must(is_zero(grant->export_uuid, sizeof(grant->export_uuid)));
}

static void check_handle_entry(u16 type, const struct rnbd_handle_info *info)
{
	must(is_status(info->status));
	must(!info->retry_ms || type == RNBD_CTL_CLOSED);
	if (type == RNBD_CTL_DETACH)
		must(info->status == RNBD_ST_OK);
	if (type == RNBD_CTL_CLOSED)
		must(info->status != RNBD_ST_OK);
}

/* Returns the bytes of the body that the decoder knows, or 0 if it has refused the body. */
static u32 take_body(const struct rnbd_ctl_entry *entry, union result *out, u8 *again)
{
	switch (entry->type) {
	case RNBD_CTL_ATTACH:
		if (rnbd_decode_attach(entry, &out->attach))
			return 0;
		check_attach(&out->attach);
		rnbd_encode_attach((void *)again, &out->attach);
		return 80;
	case RNBD_CTL_ATTACH_REPLY:
		if (rnbd_decode_attach_reply(entry, &out->grant))
			return 0;
		check_attach_reply(&out->grant);
		rnbd_encode_attach_reply((void *)again, &out->grant);
		return 96;
	case RNBD_CTL_CAPACITY:
		if (rnbd_decode_capacity(entry, &out->capacity))
			return 0;
		rnbd_encode_capacity((void *)again, &out->capacity);
		return 16;
	default:
		if (rnbd_decode_handle(entry, &out->handle))
			return 0;
		check_handle_entry(entry->type, &out->handle);
		rnbd_encode_handle((void *)again, &out->handle);
		return 16;
	}
}

void fuzz_ctl_take(const struct rnbd_ctl_entry *entry)
{
	_Alignas(8) u8 again[96];
	const u8 *body = hostile_original(entry->body);
	union result out, untouched;
	u32 bytes;

	if (entry->type > RNBD_CTL_CAPACITY) {
		must(rnbd_ctl_unknown(entry) == (entry->mandatory ? RNBD_PERR_TYPE :
								    RNBD_PERR_NONE));
		return;
	}
	memset(&untouched, 0xa5, sizeof(untouched));
	out = untouched;
	memset(again, 0xee, sizeof(again));
	bytes = take_body(entry, &out, again);
	if (!bytes) {
		must(!memcmp(&out, &untouched, sizeof(out)));
		return;
	}
	/* The handle is the first member of each. */
	check_handle(&out.handle.handle);
	must(entry->bytes >= bytes);
	must(!memcmp(body, again, bytes));
	must(is_zero(body + bytes, entry->bytes - bytes));
}

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
