// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the wire codec under libFuzzer.
 *
 * Operation: an input consists of an input head of HEAD_SIZE bytes and a message. The head
 * selects the decoder, the placement of the message in memory, and the state that both ends
 * have agreed on (struct world: limits, ring, requested parameters; see fields[]).
 * world_from_head() maps every sequence of bytes to a valid state, because the decoders trust it.
 * tests/lib/hostile, which unit-hostile also uses, decodes the message and checks the result. This
 * file also checks that
 *
 * - no decoder reads past the end of the message (AddressSanitizer);
 * - no decoder reads a byte twice (once.h) or reads inline data;
 * - no decoder changes the message;
 * - no decoder reads beyond the entries if the frame header claims more entries than there are.
 *
 * The mutator knows the protocol. It builds valid messages for the world of the input, damages
 * them slightly, and repairs the fields that the first checks reject, so that most inputs reach
 * later checks. It also uses libFuzzer's own mutations.
 *
 * Errors: a property that does not hold aborts the process.
 */
#include "fuzz_ctl.h"
#include "hostile_assert.h"
#include "hostile.h"
#include "libfuzzer.h"
#include "secret.h"

const u8 *fuzz_message;
size_t fuzz_message_bytes;
const u8 *fuzz_original;

void broken(const char *file, int line, const char *property)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
	abort();
}

/* ------------------------------------------------------------------------
 * The input head
 */

/* Decoder that gets the message. The corpus stores these numbers: append new ones at the end. */
enum taker {
	TAKER_FRAME, TAKER_CM_REQ, TAKER_CM_REP, TAKER_CM_REJ, TAKER_TEXT, NR_TAKERS,
};

#define HEAD_TAKER	0	/* enum taker */
#define HEAD_PLACE	1	/* bits 0 to 2: alignment of the message; bit 3: PLACE_LIE */
#define HEAD_LIE	2	/* with PLACE_LIE: bytes to cut off the last entries, 16 bits */
#define HEAD_TYPE	4	/* with PLACE_LIE: new frame type, 0 keeps that of the message */
#define HEAD_FIELDS	5
#define HEAD_SIZE	120

#define PLACE_ALIGN	0x7
#define PLACE_LIE	0x8	/* after the normal decoding, call lie() */

#define FIELD(member, min, max)	{						\
	offsetof(struct world, member), sizeof(((struct world *)0)->member), min, max \
}

/* Members of struct world in the input head; a value out of range is mapped into the range. */
static const struct field {
	u16 at;
	u16 bytes;
	u64 min;
	u64 max;
} fields[] = {
	FIELD(exp.capacity, 0, U64_MAX / 2),
	FIELD(exp.block_mask, 0, U32_MAX),
	FIELD(exp.max_io, RNBD_UNIT_SIZE, RNBD_MAX_IO_MAX),
	FIELD(exp.max_discard, 0, U32_MAX),
	FIELD(exp.max_write_zeroes, 0, U32_MAX),
	FIELD(lim.pool_units, 1, RNBD_POOL_UNITS_MAX),
	FIELD(lim.segment_units, 1, RNBD_POOL_UNITS_MAX),
	FIELD(lim.depth, 1, RNBD_DEPTH_MAX),
	FIELD(lim.inline_read, 0, INLINE_MAX),
	FIELD(lim.inline_write, 0, INLINE_MAX),
	FIELD(conn.ring_slots, RNBD_RING_SLOTS_MIN, RNBD_RING_SLOTS_MAX),
	FIELD(conn.slot_size, RNBD_SLOT_SIZE_MIN, RNBD_SLOT_SIZE_MAX),
	FIELD(conn.attempt, 1, U32_MAX),
	FIELD(seq, 0, U32_MAX),
	FIELD(asked.pool_bytes, RNBD_UNIT_SIZE, U64_MAX),
	FIELD(asked.features, 0, U64_MAX),
	FIELD(asked.max_io, RNBD_UNIT_SIZE, RNBD_MAX_IO_MAX),
	FIELD(asked.nr_queues, 1, RNBD_CONNS_MAX),
	FIELD(asked.queue_depth, 1, RNBD_DEPTH_MAX),
	FIELD(asked.inline_read, 0, U32_MAX),
	FIELD(asked.inline_write, 0, U32_MAX),
	FIELD(is_target, 0, 1),
	FIELD(nr_segments, 0, RNBD_SEGMENTS_MAX),
	FIELD(asked.pool_min, 0, U32_MAX),
};

static enum taker taker_of(const u8 *head)
{
	return head[HEAD_TAKER] % NR_TAKERS;
}

static u64 round_to(u64 value, u64 unit)
{
	return value / unit * unit;
}

/* Copy the head to the world; valid numbers are copied unchanged. Little-endian machines only. */
static void world_from_head(const u8 *head)
{
	struct rnbd_export_limits *exp = &world.exp;
	struct rnbd_limits *lim = &world.lim;
	u32 at = HEAD_FIELDS, i, block;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *field = &fields[i];
		u64 value = unit_get(head + at, field->bytes);

		if (value < field->min || value > field->max)
			value = field->min + value % (field->max - field->min + 1);
		unit_put((u8 *)&world + field->at, field->bytes, value);
		at += field->bytes;
	}
	must(at <= HEAD_SIZE);

	block = exp->block_mask + 1;
	if (!is_power(block) || block < 512 || block > 4096)
		block = 512u << block % 4;
	exp->block_mask = block - 1;
	exp->capacity = round_to(exp->capacity, block);
	exp->max_discard = round_to(exp->max_discard, block);
	exp->max_write_zeroes = round_to(exp->max_write_zeroes, block);
	exp->max_io = round_to(exp->max_io, RNBD_UNIT_SIZE);
	if (!is_power(lim->segment_units))
		lim->segment_units = 1u << lim->segment_units % 21;
	world.conn.slot_size = round_to(world.conn.slot_size, RNBD_SLOT_SIZE_ALIGN);
	world.slots = world.conn.ring_slots;
	world.attempt = world.conn.attempt;
	/* connection 0, whose attempt number must be the epoch */
	world.conn.epoch = world.conn.attempt;
	world.conn.conn = 0;
	world.asked.max_io = round_to(world.asked.max_io, RNBD_UNIT_SIZE);
	world.asked.pool_min = min(world.asked.pool_min,
				   world.asked.pool_bytes / RNBD_UNIT_SIZE);
	if (!(world.asked.features & RNBD_FEATURE_INLINE)) {
		world.asked.inline_read = 0;
		world.asked.inline_write = 0;
	}
}

static void world_to_head(u8 *head)
{
	u32 at = HEAD_FIELDS, i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *field = &fields[i];

		unit_put(head + at, field->bytes,
			 unit_get((const u8 *)&world + field->at, field->bytes));
		at += field->bytes;
	}
}

/* ------------------------------------------------------------------------
 * One input
 */

/*
 * Copy a message to memory of its own that ends with the last byte of the message, so that
 * AddressSanitizer detects a read beyond the message.
 */
static u8 *place(const u8 *bytes, size_t size, u32 shift)
{
	u8 *memory = malloc(size + shift);

	must(memory);
	memcpy(memory + shift, bytes, size);
	fuzz_message = memory + shift;
	fuzz_message_bytes = size;
	fuzz_original = bytes;
	return memory;
}

static void take_away(u8 *memory)
{
	ASAN_UNPOISON_MEMORY_REGION(fuzz_message, fuzz_message_bytes);
	must(!memcmp(fuzz_message, fuzz_original, fuzz_message_bytes));
	fuzz_message_bytes = 0;
	free(memory);
}

/* Check the functions that parse names and secrets, and those that convert numbers to texts. */
static void take_text(const u8 *bytes, size_t size)
{
	u8 secret[RNBD_SECRET_SIZE];
	char again[RNBD_SECRET_TEXT_SIZE];
	char *string = malloc(size + 1);
	u8 *memory = place(bytes, size, 0);
	const char *text = (const char *)fuzz_message;
	size_t len;

	must(string);
	memcpy(string, bytes, size);
	string[size] = '\0';

	if (rnbd_export_name_ok(text, size)) {
		len = strnlen(text, size);
		must(len > 0 && len < size && len < RNBD_EXPORT_NAME_SIZE);
		must(strspn(text, NAME_CHARS) == len);
		must(text[0] != '.');
		must(is_zero(text + len, size - len));
	}
	if (rnbd_disk_alias_ok(string)) {
		must(rnbd_export_name_ok(string, strlen(string) + 1));
		must(strspn(string, "0123456789") != strlen(string));
		must(strncmp(string, "rnbd", 4) || string[4] < '0' || string[4] > '9' ||
		     string[4 + strspn(string + 4, "0123456789")]);
	}

	memset(secret, 0xa5, sizeof(secret));
	if (rnbd_secret_parse(text, size, secret)) {
		must(is_zero(secret, sizeof(secret)));
	} else {
		len = sizeof(again) - 1;
		must(size == len || (size == len + 1 && text[len] == '\n'));
		rnbd_secret_format(secret, again);
		must(!strncasecmp(text, again, len));
	}

	if (size >= 2) {
		u16 number = unit_get(bytes, 2);

		must(*rnbd_status_text(number));
		must(*rnbd_proto_err_text(number));
		must(*rnbd_op_text(number));
	}
	take_away(memory);
	free(string);
}

/*
 * Call the entry decoders with a frame that lacks the last @missing bytes of its entries, and that
 * has the frame type @type unless @type is 0. rnbd_decode_frame() normally rejects such a frame,
 * but the entry decoders must not rely on that: they must not read beyond the bytes of the frame.
 */
static void lie(const u8 *bytes, u32 size, u32 missing, u8 type)
{
	const struct rnbd_limits *lim = &world.lim;
	struct rnbd_req_cursor cursor;
	struct rnbd_request req;
	struct rnbd_frame frame;
	struct rnbd_reply reply;
	struct rnbd_ctl_pos ctl_pos = { };
	struct rnbd_ctl_entry ctl;
	u8 *memory;
	u16 pos;
	u32 i;

	if (rnbd_decode_frame(bytes, size, world.seq, world.attempt, world.slots, &frame))
		return;
	frame.bytes -= min(missing, frame.bytes);
	memory = place(frame.entries, frame.bytes, 0);
	frame.entries = fuzz_message;
	frame.data = fuzz_message + frame.bytes;
	frame.data_bytes = 0;
	if (type)
		frame.type = type;

	for (pos = 0; pos < frame.nr_entries; ) {
		u16 before = pos;

		if (rnbd_begin_request(&frame, pos, &cursor) ||
		    rnbd_decode_request(&frame, &pos, &cursor, lim, &world.exp, &req))
			break;
		must(pos > before && pos <= frame.nr_entries);
		must(pos * 32u <= frame.bytes);
	}
	ASAN_UNPOISON_MEMORY_REGION(fuzz_message, fuzz_message_bytes);
	for (i = 0; i < frame.nr_entries; i++)
		if (rnbd_decode_reply(&frame, i, lim->depth, &reply))
			break;
	ASAN_UNPOISON_MEMORY_REGION(fuzz_message, fuzz_message_bytes);
	while (!rnbd_decode_ctl(&frame, &ctl_pos, &ctl)) {
		must(ctl_pos.index <= frame.nr_entries && ctl_pos.offset <= frame.bytes);
		fuzz_ctl_take_any(&ctl);
	}
	take_away(memory);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	/* the kind of message that hostile_take() expects */
	static const enum kind kinds[] = {
		[TAKER_FRAME] = KIND_REQUEST, [TAKER_CM_REQ] = KIND_CM_REQ,
		[TAKER_CM_REP] = KIND_CM_REP, [TAKER_CM_REJ] = KIND_CM_REJ,
	};
	const u8 *bytes = data + HEAD_SIZE;
	enum taker taker;
	u8 *memory;

	if (size < HEAD_SIZE || size - HEAD_SIZE > RNBD_SLOT_SIZE_MAX)
		return 0;
	size -= HEAD_SIZE;
	taker = taker_of(data);
	if (taker == TAKER_TEXT) {
		take_text(bytes, size);
		return 0;
	}

	world_from_head(data);
	memory = place(bytes, size, data[HEAD_PLACE] & PLACE_ALIGN);
	hostile_take(kinds[taker], fuzz_message, size);
	take_away(memory);
	if (taker == TAKER_FRAME && (data[HEAD_PLACE] & PLACE_LIE))
		lie(bytes, size, unit_get(data + HEAD_LIE, 2), data[HEAD_TYPE]);
	return 0;
}

/* ------------------------------------------------------------------------
 * The mutator
 */

static _Alignas(8) u8 scratch[FRAME_MAX];

/*
 * Return the size of a frame with one entry, or of a CREDIT frame, which has no entry. Store the
 * size of each further entry in @further.
 */
static size_t frame_layout(u8 type, size_t *further)
{
	switch (type) {
	case RNBD_FRAME_REQUEST:
		*further = 32;
		return 16 + 32;
	case RNBD_FRAME_CREDIT:
		*further = 16;
		return 16;
	default:
		*further = 16;
		return 16 + 16;
	}
}

/*
 * Set header fields of a message to values that the first checks accept, except the frame type and
 * the fields of a message that is too short. Return the length of the message.
 */
static size_t repair(enum taker taker, u8 *message, size_t size)
{
	size_t one, further, nr;

	if (taker != TAKER_FRAME) {
		if (taker != TAKER_TEXT && size >= 6) {
			unit_put(message, 4, RNBD_MAGIC);
			unit_put(message + 4, 2, RNBD_VERSION);
		}
		return size;
	}
	if (size < 16)
		return size;
	message[1] &= RNBD_FRAME_DATA;
	unit_put(message + 4, 2, unit_get(message + 4, 2) % (world.slots + 1));
	unit_put(message + 6, 2, 0);
	unit_put(message + 8, 4, world.seq);
	unit_put(message + 12, 4, world.attempt);
	if (message[0] == RNBD_FRAME_CONTROL)
		return fuzz_ctl_repair(message, size);
	one = frame_layout(message[0], &further);
	if (size < one)
		return size;
	nr = (size - one) / further;
	if (!message[1])
		size = one + nr * further;
	if (message[0] != RNBD_FRAME_CREDIT)
		nr++;
	if (!message[1] || unit_get(message + 2, 2) > nr)
		unit_put(message + 2, 2, nr);
	return size;
}

static size_t fresh_text(u8 *message)
{
	static const char * const texts[] = {
		"disk0", "rnbd0", "rnbd12p3", "4711", "a.b_c:d-e", ".hidden",
		"c0ffee00-1234-5678-9abc-def012345678",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz01234567890",
	};
	const char *text = texts[below(ARRAY_SIZE(texts))];
	char written[RNBD_SECRET_TEXT_SIZE];
	u8 secret[RNBD_SECRET_SIZE];
	size_t size;

	if (one_in(3)) {
		draw_bytes(secret, sizeof(secret));
		rnbd_secret_format(secret, written);
		text = written;
	}
	size = strlen(text);
	memset(message + size, 0, 2);
	memcpy(message, text, size);
	return size + below(3);
}

/*
 * Build a message that is valid for the world, and cut it off after @max bytes. A text can be
 * invalid.
 */
static size_t fresh(enum taker taker, u8 *message, size_t max)
{
	size_t size;

	switch (taker) {
	case TAKER_CM_REQ:
		size = hostile_build(KIND_CM_REQ, scratch);
		break;
	case TAKER_CM_REP:
		size = hostile_build(KIND_CM_REP, scratch);
		break;
	case TAKER_CM_REJ:
		size = hostile_build(KIND_CM_REJ, scratch);
		break;
	case TAKER_TEXT:
		size = fresh_text(scratch);
		break;
	default:
		/* hostile_build() allocates the extents of requests from world.pool */
		if (world.pool.units != world.lim.pool_units ||
		    world.pool.segment_units != world.lim.segment_units)
			draw_pool();
		size = hostile_build(below(KIND_CM_REQ), scratch);
	}
	must(size <= sizeof(scratch));
	size = min(size, max);
	memcpy(message, scratch, size);
	return size;
}

/* Load the world of the head; draw the other values at random, which only hostile_build() uses. */
static void enter_world(const u8 *head)
{
	draw_identities();
	world_from_head(head);
}

/*
 * Mutate the bytes of the world in the head at random, or set one member of the world to a new
 * value. The message is unchanged, so it is possibly still valid.
 */
static void mutate_world(u8 *head)
{
	const struct field *field = &fields[below(ARRAY_SIZE(fields))];

	if (one_in(2)) {
		LLVMFuzzerMutate(head + HEAD_FIELDS, HEAD_SIZE - HEAD_FIELDS,
				 HEAD_SIZE - HEAD_FIELDS);
	} else {
		unit_put((u8 *)&world + field->at, field->bytes,
			 field->max == 1 ? below(2) : draw_number());
		world_to_head(head);
	}
	world_from_head(head);
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed)
{
	u8 *message = data + HEAD_SIZE;
	enum taker taker;
	u32 spare, i;

	if (max < HEAD_SIZE + 256)
		return LLVMFuzzerMutate(data, size, max);
	rnd.state = seed;
	max -= HEAD_SIZE;
	if (size < HEAD_SIZE || one_in(32)) {
		memset(data, 0, HEAD_SIZE);
		/* select a frame most of the time, because most decoders are for frames */
		if (one_in(4))
			data[HEAD_TAKER] = below(NR_TAKERS);
		data[HEAD_PLACE] = below(8);
		draw_world();
		world_to_head(data);
		size = HEAD_SIZE + fresh(taker_of(data), message, max);
	}
	size -= HEAD_SIZE;
	enter_world(data);
	taker = taker_of(data);

	switch (below(16)) {
	case 0:
		mutate_world(data);
		break;
	case 1: /* draw the alignment, and whether and how lie() changes the frame */
		data[HEAD_PLACE] = below(16);
		unit_put(data + HEAD_LIE, 2, one_in(2) ? below(17) : below(256));
		data[HEAD_TYPE] = one_in(2) ? 0 : below(12);
		break;
	case 2:
		size = fresh(taker, message, max);
		break;
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
		/* mostly leave the header valid: the first checks reject an invalid header */
		spare = taker == TAKER_FRAME ? 16 : 8;
		for (i = 1 + below(4); i && size + 64 <= max; i--)
			size = hostile_change(message, size, spare);
		break;
	default:
		size = LLVMFuzzerMutate(message, size, max);
	}
	if (!one_in(4))
		size = repair(taker, message, size);
	return HEAD_SIZE + size;
}

/* Join the entries of two frames in one frame; the world is that of @one. */
size_t LLVMFuzzerCustomCrossOver(const u8 *one, size_t one_size, const u8 *two, size_t two_size,
				 u8 *out, size_t max, unsigned int seed)
{
	const size_t first = HEAD_SIZE + 16;
	size_t cut = one_size, from, bytes;

	if (one_size < first || two_size < first || one_size > max)
		return 0;
	rnd.state = seed;
	if (one_in(2))
		cut = first + below((one_size - first) / 16 + 1) * 16;
	from = first + below((two_size - first) / 16 + 1) * 16;
	bytes = min(two_size - from, max - cut);
	memcpy(out, one, cut);
	memcpy(out + cut, two + from, bytes);
	enter_world(out);
	return HEAD_SIZE + repair(taker_of(out), out + HEAD_SIZE, cut + bytes - HEAD_SIZE);
}
