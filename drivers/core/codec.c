// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encoding, decoding and validation of what travels between client and target.
 *
 * Operation: encoders turn structures in native byte order into the wire
 * format of <rnbd/wire.h>, with every reserved byte zero. Decoders go the other
 * way and trust nothing: each wire structure is copied to the stack first and
 * only the copy is looked at, so that a byte is never read twice; it is then
 * checked in the order of the protocol's rules, and the result is written
 * only after the last check has passed. A caller can use what a decoder
 * accepted without a check of its own, except for what only the caller knows:
 * whether a tag is in use, whether the length of a reply is the length of
 * its request, whether a pool extent is in use by another request.
 *
 * Arithmetic on numbers of a peer either is done in 64 bits, where 32-bit
 * numbers cannot wrap, or is a subtraction of what was compared before. Limits
 * (struct rnbd_limits) are ours and trusted.
 *
 * Ownership: nothing is allocated or kept. struct rnbd_frame points into the
 * buffer it was decoded from and is valid as long as that is.
 * Concurrency: pure functions, any context. The buffer of a frame must not be
 * written by anybody while it is decoded; a receive slot is not, because peers
 * have no key for it. Were it written nevertheless, a decoder would still
 * accept only what is within the limits.
 * Errors: enum rnbd_fault names the first thing that is wrong; it never comes
 * with a partial result.
 */
#include "codec.h"

/* Units that hold @bytes; no sum that could wrap. */
static u32 rnbd_bytes_to_units(u32 bytes)
{
	return (bytes >> RNBD_UNIT_SHIFT) +
	       ((bytes & (RNBD_UNIT_SIZE - 1)) != 0);
}

/* Is @value a multiple of @size, a power of two? */
static bool rnbd_multiple(u64 value, u32 size)
{
	return !(value & ((u64)size - 1));
}

static bool rnbd_all_zero(const void *bytes, size_t len)
{
	return !memchr_inv(bytes, 0, len);
}

/*
 * Copy @size bytes at @offset of the entries. The frame came out of
 * rnbd_decode_frame(), so that a caller who stays below nr_entries always
 * finds the bytes; that is checked again since it costs next to nothing.
 */
static inline bool rnbd_copy_entry(const struct rnbd_frame *frame, u32 offset,
				   void *copy, u32 size)
{
	if (offset > frame->bytes || size > frame->bytes - offset)
		return false;
	memcpy(copy, (const u8 *)frame->entries + offset, size);
	return true;
}

/* ------------------------------------------------------------------------
 * Frames
 */

/**
 * rnbd_encode_frame_hdr - write the head of a frame
 * @buf: at least sizeof(struct rnbd_frame_hdr) bytes, any alignment
 * @type: enum rnbd_frame_type
 * @flags: RNBD_FRAME_DATA or 0
 * @nr_entries: entries that follow
 * @credits: receive slots given back to the peer
 * @seq: number of the frame on this queue and direction
 * @epoch: the session's epoch
 *
 * Context: any.
 */
void rnbd_encode_frame_hdr(void *buf, u8 type, u8 flags, u16 nr_entries,
			   u16 credits, u32 seq, u32 epoch)
{
	struct rnbd_frame_hdr hdr = {
		.type = type,
		.flags = flags,
		.nr_entries = cpu_to_le16(nr_entries),
		.credits = cpu_to_le16(credits),
		.seq = cpu_to_le32(seq),
		.epoch = cpu_to_le32(epoch),
	};

	memcpy(buf, &hdr, sizeof(hdr));
}
EXPORT_SYMBOL_GPL(rnbd_encode_frame_hdr);

/* Does the number of entries suit the type, and what do they take? */
static enum rnbd_fault rnbd_entry_bytes(u8 type, u16 nr_entries, u32 *bytes)
{
	if (!nr_entries && type != RNBD_FRAME_CREDIT)
		return RNBD_FAULT_COUNT;

	switch (type) {
	case RNBD_FRAME_LOGIN:
		if (nr_entries != 1)
			return RNBD_FAULT_COUNT;
		*bytes = sizeof(struct rnbd_login);
		break;
	case RNBD_FRAME_LOGIN_REPLY:
		/* 65535 entries are far from wrapping 32 bits */
		*bytes = sizeof(struct rnbd_login_reply) +
			 (nr_entries - 1u) * (u32)sizeof(struct rnbd_segment);
		break;
	case RNBD_FRAME_REQUEST:
		*bytes = nr_entries * (u32)sizeof(struct rnbd_req_entry);
		break;
	case RNBD_FRAME_REPLY:
		*bytes = nr_entries * (u32)sizeof(struct rnbd_reply_entry);
		break;
	case RNBD_FRAME_CREDIT:
		if (nr_entries)
			return RNBD_FAULT_COUNT;
		*bytes = 0;
		break;
	case RNBD_FRAME_RESIZE:
		if (nr_entries != 1)
			return RNBD_FAULT_COUNT;
		*bytes = sizeof(struct rnbd_resize);
		break;
	case RNBD_FRAME_DISCOVER_REPLY:
		*bytes = sizeof(struct rnbd_discover_reply) +
			 (nr_entries - 1u) * (u32)sizeof(struct rnbd_export_entry);
		break;
	case RNBD_FRAME_CHALLENGE:
		if (nr_entries != 1)
			return RNBD_FAULT_COUNT;
		*bytes = sizeof(struct rnbd_challenge);
		break;
	case RNBD_FRAME_PROOF:
		if (nr_entries != 1)
			return RNBD_FAULT_COUNT;
		*bytes = sizeof(struct rnbd_proof);
		break;
	default:
		return RNBD_FAULT_TYPE;
	}
	return RNBD_FAULT_NONE;
}

/**
 * rnbd_decode_frame - check the head of a frame and find its entries
 * @buf: what was received, any alignment
 * @len: bytes received, not the size of the slot
 * @seq: number the frame must have
 * @epoch: epoch the frame must have
 * @ring_slots: receive slots of the peer: it cannot give back more
 * @frame: result; points into @buf
 *
 * The entries fill the frame to its last byte, unless inline data follow: what
 * that may be only the entries tell, see rnbd_decode_end(). A LOGIN_REPLY counts
 * its struct rnbd_login_reply and each struct rnbd_segment as one entry, and a
 * DISCOVER_REPLY its head and each struct rnbd_export_entry.
 *
 * Context: any.
 * Return: the first thing wrong, @frame is untouched then.
 */
enum rnbd_fault rnbd_decode_frame(const void *buf, u32 len, u32 seq, u32 epoch,
				  u16 ring_slots, struct rnbd_frame *frame)
{
	struct rnbd_frame_hdr hdr;
	enum rnbd_fault fault;
	u16 nr_entries, credits;
	u32 bytes = 0;

	if (len < sizeof(hdr))
		return RNBD_FAULT_SHORT;
	memcpy(&hdr, buf, sizeof(hdr));
	nr_entries = le16_to_cpu(hdr.nr_entries);
	credits = le16_to_cpu(hdr.credits);

	if ((hdr.flags & ~RNBD_FRAME_DATA) || hdr.reserved)
		return RNBD_FAULT_RESERVED;
	if (hdr.type < RNBD_FRAME_LOGIN || hdr.type > RNBD_FRAME_PROOF)
		return RNBD_FAULT_TYPE;
	if (le32_to_cpu(hdr.seq) != seq)
		return RNBD_FAULT_SEQ;
	if (le32_to_cpu(hdr.epoch) != epoch)
		return RNBD_FAULT_EPOCH;
	if (credits > ring_slots)
		return RNBD_FAULT_CREDITS;

	fault = rnbd_entry_bytes(hdr.type, nr_entries, &bytes);
	if (fault)
		return fault;
	len -= sizeof(hdr);
	if (len < bytes)
		return RNBD_FAULT_SHORT;
	if (hdr.flags & RNBD_FRAME_DATA) {
		if (hdr.type != RNBD_FRAME_REQUEST && hdr.type != RNBD_FRAME_REPLY)
			return RNBD_FAULT_FLAGS;
		if (len == bytes)
			return RNBD_FAULT_SHORT;
	} else if (len > bytes) {
		return RNBD_FAULT_LONG;
	}

	frame->type = hdr.type;
	frame->nr_entries = nr_entries;
	frame->credits = credits;
	frame->entries = (const u8 *)buf + sizeof(hdr);
	frame->bytes = bytes;
	frame->data = (const u8 *)frame->entries + bytes;
	frame->data_bytes = len - bytes;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_frame);

/**
 * rnbd_decode_end - is anything left of the inline data
 * @frame: frame of which all entries were decoded
 *
 * Context: any.
 * Return: RNBD_FAULT_LONG if no entry has claimed it.
 */
enum rnbd_fault rnbd_decode_end(const struct rnbd_frame *frame)
{
	return frame->data_bytes ? RNBD_FAULT_LONG : RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_end);

/* The next @bytes of inline data, or NULL. */
static const void *rnbd_claim_data(struct rnbd_frame *frame, u32 bytes)
{
	const void *data = frame->data;

	if (bytes > frame->data_bytes)
		return NULL;
	frame->data = (const u8 *)data + bytes;
	frame->data_bytes -= bytes;
	return data;
}

/* ------------------------------------------------------------------------
 * Requests and replies
 */

/**
 * rnbd_request_entries - entries that a request takes in a frame
 * @nr_runs: runs of pool space it names, at most RNBD_EXTENTS_MAX
 *
 * Context: any.
 * Return: number of entries of sizeof(struct rnbd_req_entry) bytes.
 */
u32 rnbd_request_entries(u8 nr_runs)
{
	if (nr_runs <= 1)
		return 1;
	return 1 + DIV_ROUND_UP(nr_runs - 1u, RNBD_EXTENTS_PER_ENTRY);
}
EXPORT_SYMBOL_GPL(rnbd_request_entries);

static struct rnbd_extent rnbd_run_to_wire(const struct rnbd_run *run)
{
	return (struct rnbd_extent) {
		.unit = cpu_to_le32(run->unit),
		.units = cpu_to_le32(run->units),
	};
}

static struct rnbd_run rnbd_run_from_wire(const struct rnbd_extent *extent)
{
	return (struct rnbd_run) {
		.unit = le32_to_cpu(extent->unit),
		.units = le32_to_cpu(extent->units),
	};
}

/**
 * rnbd_encode_request - write a request and its further extents
 * @entry: rnbd_request_entries() consecutive entries, aligned to 8 bytes
 * @req: the request; nr_runs is at most RNBD_EXTENTS_MAX
 *
 * Context: any.
 */
void rnbd_encode_request(struct rnbd_req_entry *entry,
			 const struct rnbd_request *req)
{
	u32 further = rnbd_request_entries(req->nr_runs) - 1;
	struct rnbd_extent_entry *more = (void *)(entry + 1);
	u32 i;

	*entry = (struct rnbd_req_entry) {
		.op = req->op,
		.flags = req->flags,
		.tag = cpu_to_le16(req->tag),
		.length = cpu_to_le32(req->length),
		.offset = cpu_to_le64(req->offset),
		.nr_extents = req->nr_runs,
	};
	if (req->nr_runs)
		entry->extent = rnbd_run_to_wire(&req->runs[0]);

	for (i = 0; i < further; i++)
		more[i] = (struct rnbd_extent_entry) { };
	for (i = 1; i < req->nr_runs; i++)
		more[(i - 1) / RNBD_EXTENTS_PER_ENTRY]
			.extent[(i - 1) % RNBD_EXTENTS_PER_ENTRY] =
			rnbd_run_to_wire(&req->runs[i]);
}
EXPORT_SYMBOL_GPL(rnbd_encode_request);

/* What does the operation allow? @max is the limit of its length. */
static enum rnbd_fault rnbd_check_op(const struct rnbd_request *req,
				     const struct rnbd_limits *lim, u32 *max)
{
	u8 flags = 0;

	switch (req->op) {
	case RNBD_OP_READ:
		*max = lim->max_io;
		flags = lim->inline_read ? RNBD_REQ_INLINE : 0;
		if (req->flags & flags)
			*max = lim->inline_read;
		break;
	case RNBD_OP_WRITE:
		*max = lim->max_io;
		flags = RNBD_REQ_FUA | (lim->inline_write ? RNBD_REQ_INLINE : 0);
		if (req->flags & flags & RNBD_REQ_INLINE)
			*max = lim->inline_write;
		break;
	case RNBD_OP_FLUSH:
		*max = 0;
		break;
	case RNBD_OP_DISCARD:
		*max = lim->max_discard;
		if (!*max)
			return RNBD_FAULT_OP;
		break;
	case RNBD_OP_WRITE_ZEROES:
		*max = lim->max_write_zeroes;
		flags = RNBD_REQ_FUA | RNBD_REQ_NOUNMAP;
		if (!*max)
			return RNBD_FAULT_OP;
		break;
	default:
		return RNBD_FAULT_OP;
	}
	if (req->flags & ~flags)
		return RNBD_FAULT_FLAGS;
	return RNBD_FAULT_NONE;
}

/* Place on the export of everything but a flush. */
static enum rnbd_fault rnbd_check_range(const struct rnbd_request *req,
					const struct rnbd_limits *lim, u32 max)
{
	u64 capacity = READ_ONCE(lim->capacity);

	if (!req->length || req->length > max ||
	    (req->length & lim->block_mask))
		return RNBD_FAULT_LENGTH;
	if ((req->offset & lim->block_mask) ||
	    req->offset > capacity ||
	    req->length > capacity - req->offset)
		return RNBD_FAULT_OFFSET;
	return RNBD_FAULT_NONE;
}

/* Run @index against the pool and against the runs before it. */
static bool rnbd_run_ok(const struct rnbd_request *req, u32 index,
			const struct rnbd_limits *lim)
{
	const struct rnbd_run *run = &req->runs[index];
	u64 end = (u64)run->unit + run->units;
	u32 i;

	if (!run->units || end > lim->pool_units)
		return false;
	/* first and last unit in the same segment? */
	if ((run->unit ^ (u32)(end - 1)) & ~(lim->segment_units - 1))
		return false;
	/* what was checked before cannot wrap; at most 16 * 17 / 2 rounds */
	for (i = 0; i < index; i++)
		if (run->unit < req->runs[i].unit + req->runs[i].units &&
		    req->runs[i].unit < end)
			return false;
	return true;
}

/**
 * rnbd_decode_request - check and copy out one request
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_REQUEST; its requests
 *	are decoded in order, because their inline data lie in that order
 * @pos: index of the request's first entry; advanced past its last one, up to
 *	frame->nr_entries
 * @lim: limits in bytes and units
 * @req: result; runs from nr_runs on are not set
 *
 * Context: any.
 * Return: the first thing wrong, @pos is untouched then.
 */
enum rnbd_fault rnbd_decode_request(struct rnbd_frame *frame, u16 *pos,
				    const struct rnbd_limits *lim,
				    struct rnbd_request *req)
{
	struct rnbd_req_entry wire;
	enum rnbd_fault fault;
	u32 i, entries, max = 0;
	u32 at = *pos;
	u64 units = 0;

	if (frame->type != RNBD_FRAME_REQUEST)
		return RNBD_FAULT_TYPE;
	if (at >= frame->nr_entries)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, at * sizeof(wire), &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;

	req->op = wire.op;
	req->flags = wire.flags;
	req->tag = le16_to_cpu(wire.tag);
	req->length = le32_to_cpu(wire.length);
	req->offset = le64_to_cpu(wire.offset);
	req->nr_runs = wire.nr_extents;
	req->data = NULL;
	req->runs[0] = rnbd_run_from_wire(&wire.extent);

	fault = rnbd_check_op(req, lim, &max);
	if (fault)
		return fault;
	if (req->tag >= lim->depth)
		return RNBD_FAULT_TAG;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;

	if (req->op == RNBD_OP_FLUSH) {
		if (req->length)
			return RNBD_FAULT_LENGTH;
		if (req->offset)
			return RNBD_FAULT_OFFSET;
	} else {
		fault = rnbd_check_range(req, lim, max);
		if (fault)
			return fault;
	}

	if (req->op != RNBD_OP_READ && req->op != RNBD_OP_WRITE) {
		if (req->nr_runs || req->runs[0].unit || req->runs[0].units)
			return RNBD_FAULT_EXTENT;
		*pos = at + 1;
		return RNBD_FAULT_NONE;
	}

	if (!req->nr_runs || req->nr_runs > RNBD_EXTENTS_MAX)
		return RNBD_FAULT_EXTENT;
	entries = rnbd_request_entries(req->nr_runs);
	if (entries > frame->nr_entries - at)
		return RNBD_FAULT_COUNT;

	for (i = 0; i < entries - 1; i++) {
		struct rnbd_extent_entry more;
		u32 j, index = 1 + i * RNBD_EXTENTS_PER_ENTRY;

		if (!rnbd_copy_entry(frame, (at + 1 + i) * sizeof(more),
				     &more, sizeof(more)))
			return RNBD_FAULT_SHORT;
		for (j = 0; j < RNBD_EXTENTS_PER_ENTRY; j++, index++) {
			if (index < req->nr_runs)
				req->runs[index] =
					rnbd_run_from_wire(&more.extent[j]);
			else if (more.extent[j].unit || more.extent[j].units)
				return RNBD_FAULT_EXTENT;
		}
	}

	for (i = 0; i < req->nr_runs; i++) {
		if (!rnbd_run_ok(req, i, lim))
			return RNBD_FAULT_EXTENT;
		units += req->runs[i].units;
	}
	if (units != rnbd_bytes_to_units(req->length))
		return RNBD_FAULT_EXTENT;

	if (req->op == RNBD_OP_WRITE && (req->flags & RNBD_REQ_INLINE)) {
		req->data = rnbd_claim_data(frame, req->length);
		if (!req->data)
			return RNBD_FAULT_SHORT;
	}
	*pos = at + entries;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_request);

/**
 * rnbd_encode_reply - write the result of a request
 * @entry: one entry
 * @reply: the result
 *
 * Context: any.
 */
void rnbd_encode_reply(struct rnbd_reply_entry *entry,
		       const struct rnbd_reply *reply)
{
	*entry = (struct rnbd_reply_entry) {
		.tag = cpu_to_le16(reply->tag),
		.status = cpu_to_le16(reply->status),
		.length = cpu_to_le32(reply->length),
		.flags = reply->is_inline ? RNBD_REPLY_INLINE : 0,
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_reply);

/**
 * rnbd_decode_reply - check and copy out one reply
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_REPLY; in order, as
 *	with requests
 * @pos: index of the entry
 * @depth: tags are below it
 * @reply: result
 *
 * The caller still has to compare the length of an RNBD_ST_OK with that of
 * the request.
 *
 * Context: any.
 * Return: the first thing wrong, @reply is untouched then.
 */
enum rnbd_fault rnbd_decode_reply(struct rnbd_frame *frame, u16 pos,
				  u32 depth, struct rnbd_reply *reply)
{
	struct rnbd_reply_entry wire;
	const void *data = NULL;
	bool is_inline;
	u16 tag, status;
	u32 length;

	if (frame->type != RNBD_FRAME_REPLY)
		return RNBD_FAULT_TYPE;
	if (pos >= frame->nr_entries)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, pos * sizeof(wire), &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;
	tag = le16_to_cpu(wire.tag);
	status = le16_to_cpu(wire.status);
	length = le32_to_cpu(wire.length);
	is_inline = wire.flags & RNBD_REPLY_INLINE;

	if (tag >= depth)
		return RNBD_FAULT_TAG;
	if (wire.flags & ~RNBD_REPLY_INLINE)
		return RNBD_FAULT_FLAGS;
	if (status > RNBD_ST_RESV)
		return RNBD_FAULT_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;
	if (status != RNBD_ST_OK && length)
		return RNBD_FAULT_LENGTH;
	if (is_inline) {
		/* what is not there cannot be claimed, nor nothing be sent so */
		data = length ? rnbd_claim_data(frame, length) : NULL;
		if (!data)
			return RNBD_FAULT_SHORT;
	}

	reply->tag = tag;
	reply->status = status;
	reply->length = length;
	reply->is_inline = is_inline;
	reply->data = data;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_reply);

/* ------------------------------------------------------------------------
 * Private data of the connection manager
 */

static bool rnbd_ring_slots_ok(u16 slots)
{
	return slots >= RNBD_RING_SLOTS_MIN && slots <= RNBD_RING_SLOTS_MAX;
}

/* A status that may refuse a login or a connection, as version 1 knows it. */
static bool rnbd_status_known(u16 status)
{
	return status <= RNBD_ST_RESV ||
	       (status >= RNBD_ST_MALFORMED && status <= RNBD_ST_REVOKED);
}

/*
 * Copy private data of @size bytes. The connection manager hands out more than
 * the peer gave (it does not carry the length), filled up with zeros.
 */
static enum rnbd_fault rnbd_copy_private(const void *buf, u32 len, void *copy,
					 u32 size)
{
	if (!buf || len < size)
		return RNBD_FAULT_SHORT;
	memcpy(copy, buf, size);
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault rnbd_check_padding(const void *buf, u32 len, u32 size)
{
	if (!rnbd_all_zero((const u8 *)buf + size, len - size))
		return RNBD_FAULT_LONG;
	return RNBD_FAULT_NONE;
}

/**
 * rnbd_encode_cm_req - write the private data of a connection request
 * @wire: private data
 * @req: what to ask for
 *
 * Context: any.
 */
void rnbd_encode_cm_req(struct rnbd_cm_req *wire, const struct rnbd_conn_req *req)
{
	*wire = (struct rnbd_cm_req) {
		.magic = cpu_to_le32(RNBD_MAGIC),
		.version = cpu_to_le16(RNBD_VERSION),
		.queue = cpu_to_le16(req->queue),
		.ring_slots = cpu_to_le16(req->ring_slots),
		.slot_size = cpu_to_le32(req->slot_size),
		.epoch = cpu_to_le32(req->epoch),
	};
	memcpy(wire->host_id, req->host_id, sizeof(wire->host_id));
	memcpy(wire->session_id, req->session_id, sizeof(wire->session_id));
}
EXPORT_SYMBOL_GPL(rnbd_encode_cm_req);

/**
 * rnbd_decode_cm_req - check and copy out a connection request
 * @buf: private data, may be NULL if @len is 0
 * @len: bytes at @buf; those behind struct rnbd_cm_req must be zero
 * @req: result
 *
 * RNBD_FAULT_VERSION is worth an answer (RNBD_ST_VERSION): the peer speaks
 * this protocol, in another version, and nothing else of it was looked at.
 *
 * Context: any.
 * Return: the first thing wrong, @req is untouched then.
 */
enum rnbd_fault rnbd_decode_cm_req(const void *buf, u32 len,
				   struct rnbd_conn_req *req)
{
	struct rnbd_conn_req out;
	struct rnbd_cm_req wire;
	enum rnbd_fault fault;

	fault = rnbd_copy_private(buf, len, &wire, sizeof(wire));
	if (fault)
		return fault;
	if (le32_to_cpu(wire.magic) != RNBD_MAGIC)
		return RNBD_FAULT_MAGIC;
	if (le16_to_cpu(wire.version) != RNBD_VERSION)
		return RNBD_FAULT_VERSION;
	fault = rnbd_check_padding(buf, len, sizeof(wire));
	if (fault)
		return fault;
	if (wire.reserved0 || wire.reserved1)
		return RNBD_FAULT_RESERVED;

	out.queue = le16_to_cpu(wire.queue);
	out.ring_slots = le16_to_cpu(wire.ring_slots);
	out.slot_size = le32_to_cpu(wire.slot_size);
	out.epoch = le32_to_cpu(wire.epoch);
	memcpy(out.host_id, wire.host_id, sizeof(out.host_id));
	memcpy(out.session_id, wire.session_id, sizeof(out.session_id));

	if (out.queue >= RNBD_QUEUES_MAX ||
	    !rnbd_ring_slots_ok(out.ring_slots) ||
	    out.slot_size < RNBD_SLOT_SIZE_MIN ||
	    out.slot_size > RNBD_SLOT_SIZE_MAX ||
	    !rnbd_multiple(out.slot_size, RNBD_SLOT_SIZE_ALIGN))
		return RNBD_FAULT_GEOMETRY;
	if (!out.epoch)
		return RNBD_FAULT_EPOCH;
	if (rnbd_all_zero(out.host_id, sizeof(out.host_id)) ||
	    rnbd_all_zero(out.session_id, sizeof(out.session_id)))
		return RNBD_FAULT_IDENTITY;

	*req = out;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_cm_req);

/**
 * rnbd_encode_cm_rep - write the private data of an accepted connection
 * @wire: private data
 * @ring_slots: receive slots of the target
 * @slot_size: bytes, as requested
 * @epoch: as requested
 *
 * Context: any.
 */
void rnbd_encode_cm_rep(struct rnbd_cm_rep *wire, u16 ring_slots, u32 slot_size,
			u32 epoch)
{
	*wire = (struct rnbd_cm_rep) {
		.magic = cpu_to_le32(RNBD_MAGIC),
		.version = cpu_to_le16(RNBD_VERSION),
		.ring_slots = cpu_to_le16(ring_slots),
		.slot_size = cpu_to_le32(slot_size),
		.epoch = cpu_to_le32(epoch),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_cm_rep);

/**
 * rnbd_decode_cm_rep - check the private data of an accepted connection
 * @buf: private data, may be NULL if @len is 0
 * @len: bytes at @buf; those behind struct rnbd_cm_rep must be zero
 * @req: what was asked for
 * @ring_slots: result: receive slots of the target
 *
 * Context: any.
 * Return: the first thing wrong, @ring_slots is untouched then.
 */
enum rnbd_fault rnbd_decode_cm_rep(const void *buf, u32 len,
				   const struct rnbd_conn_req *req,
				   u16 *ring_slots)
{
	struct rnbd_cm_rep wire;
	enum rnbd_fault fault;

	fault = rnbd_copy_private(buf, len, &wire, sizeof(wire));
	if (fault)
		return fault;
	if (le32_to_cpu(wire.magic) != RNBD_MAGIC)
		return RNBD_FAULT_MAGIC;
	if (le16_to_cpu(wire.version) != RNBD_VERSION)
		return RNBD_FAULT_VERSION;
	fault = rnbd_check_padding(buf, len, sizeof(wire));
	if (fault)
		return fault;
	if (!rnbd_ring_slots_ok(le16_to_cpu(wire.ring_slots)) ||
	    le32_to_cpu(wire.slot_size) != req->slot_size)
		return RNBD_FAULT_GEOMETRY;
	if (le32_to_cpu(wire.epoch) != req->epoch)
		return RNBD_FAULT_EPOCH;

	*ring_slots = le16_to_cpu(wire.ring_slots);
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_cm_rep);

/**
 * rnbd_encode_cm_rej - write the private data of a refused connection
 * @wire: private data
 * @status: why, enum rnbd_status but not RNBD_ST_OK
 *
 * Context: any.
 */
void rnbd_encode_cm_rej(struct rnbd_cm_rej *wire, u16 status)
{
	*wire = (struct rnbd_cm_rej) {
		.magic = cpu_to_le32(RNBD_MAGIC),
		.version = cpu_to_le16(RNBD_VERSION),
		.status = cpu_to_le16(status),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_cm_rej);

/**
 * rnbd_decode_cm_rej - check and copy out why a connection was refused
 * @buf: private data, may be NULL if @len is 0
 * @len: bytes at @buf; those behind struct rnbd_cm_rej must be zero
 * @version: result: highest version the target speaks, from 1; any, since a
 *	refusal is how two versions learn of each other; 0 if it does not say
 * @status: result: enum rnbd_status, not RNBD_ST_OK
 *
 * A connection manager refuses by itself, and with nothing but zeros, what its
 * consumer gave up: a listener that goes, or a connection that was accepted and ended
 * before it stood, in favour of somebody else. That is RNBD_ST_BUSY.
 *
 * Context: any.
 * Return: the first thing wrong, @version and @status are untouched then.
 */
enum rnbd_fault rnbd_decode_cm_rej(const void *buf, u32 len, u16 *version,
				   u16 *status)
{
	enum rnbd_fault padding = RNBD_FAULT_NONE;
	struct rnbd_cm_rej wire = { };
	const u32 size = sizeof(wire);
	u16 why;

	if (len)
		memcpy(&wire, buf, min(len, size));
	if (len > size)
		padding = rnbd_check_padding(buf, len, size);
	if (!padding && rnbd_all_zero(&wire, size)) {
		*version = 0;
		*status = RNBD_ST_BUSY;
		return RNBD_FAULT_NONE;
	}
	if (len < size)
		return RNBD_FAULT_SHORT;
	if (le32_to_cpu(wire.magic) != RNBD_MAGIC)
		return RNBD_FAULT_MAGIC;
	if (!wire.version)
		return RNBD_FAULT_VERSION;
	if (padding)
		return padding;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;
	why = le16_to_cpu(wire.status);
	if (why == RNBD_ST_OK || !rnbd_status_known(why))
		return RNBD_FAULT_STATUS;

	*version = le16_to_cpu(wire.version);
	*status = why;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_cm_rej);

/* ------------------------------------------------------------------------
 * Login
 */

static bool rnbd_keepalive_ok(u32 ms)
{
	return ms >= RNBD_KEEPALIVE_MS_MIN && ms <= RNBD_KEEPALIVE_MS_MAX;
}

/**
 * rnbd_encode_login - write a login
 * @wire: entry of the LOGIN frame
 * @info: what to ask for; a lawful, terminated export name, or all zero but for
 *	the flag RNBD_LOGIN_DISCOVER
 *
 * Context: any.
 */
void rnbd_encode_login(struct rnbd_login *wire, const struct rnbd_login_info *info)
{
	*wire = (struct rnbd_login) {
		.features = cpu_to_le64(info->features),
		.pool_bytes = cpu_to_le64(info->pool_bytes),
		.max_io = cpu_to_le32(info->max_io),
		.nr_queues = cpu_to_le16(info->nr_queues),
		.queue_depth = cpu_to_le16(info->queue_depth),
		.flags = cpu_to_le32(info->flags),
		.keepalive_ms = cpu_to_le32(info->keepalive_ms),
		.inline_read = cpu_to_le32(info->inline_read),
		.inline_write = cpu_to_le32(info->inline_write),
		.fence_generation = cpu_to_le32(info->fence_generation),
	};
	/* the last byte stays NUL whatever the caller did */
	memcpy(wire->export, info->export,
	       strnlen(info->export, sizeof(wire->export) - 1));
	memcpy(wire->boot_id, info->boot_id, sizeof(wire->boot_id));
}
EXPORT_SYMBOL_GPL(rnbd_encode_login);

/* Who asks for a list wishes for nothing else. */
static enum rnbd_fault rnbd_check_discover_login(const struct rnbd_login *wire)
{
	struct rnbd_login rest = *wire;

	if (rest.flags != cpu_to_le32(RNBD_LOGIN_DISCOVER))
		return RNBD_FAULT_FLAGS;
	rest.flags = 0;
	return rnbd_all_zero(&rest, sizeof(rest)) ? RNBD_FAULT_NONE :
						    RNBD_FAULT_RESERVED;
}

/**
 * rnbd_decode_login - check and copy out a login
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_LOGIN
 * @info: result; features may hold bits unknown here, to be masked, and
 *	pool_bytes any number from one unit, to be cut to what is granted;
 *	with the flag RNBD_LOGIN_DISCOVER all the rest is zero
 *
 * Context: any.
 * Return: the first thing wrong, @info is untouched then.
 */
enum rnbd_fault rnbd_decode_login(const struct rnbd_frame *frame,
				  struct rnbd_login_info *info)
{
	struct rnbd_login_info out;
	enum rnbd_fault fault;
	struct rnbd_login wire;

	if (frame->type != RNBD_FRAME_LOGIN)
		return RNBD_FAULT_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;

	if (wire.flags & cpu_to_le32(RNBD_LOGIN_DISCOVER)) {
		fault = rnbd_check_discover_login(&wire);
		if (fault)
			return fault;
		memset(info, 0, sizeof(*info));
		info->flags = RNBD_LOGIN_DISCOVER;
		return RNBD_FAULT_NONE;
	}
	if (!rnbd_export_name_ok(wire.export, sizeof(wire.export)))
		return RNBD_FAULT_NAME;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;

	memcpy(out.export, wire.export, sizeof(out.export));
	memcpy(out.boot_id, wire.boot_id, sizeof(out.boot_id));
	out.features = le64_to_cpu(wire.features);
	out.pool_bytes = le64_to_cpu(wire.pool_bytes);
	out.max_io = le32_to_cpu(wire.max_io);
	out.nr_queues = le16_to_cpu(wire.nr_queues);
	out.queue_depth = le16_to_cpu(wire.queue_depth);
	out.flags = le32_to_cpu(wire.flags);
	out.keepalive_ms = le32_to_cpu(wire.keepalive_ms);
	out.inline_read = le32_to_cpu(wire.inline_read);
	out.inline_write = le32_to_cpu(wire.inline_write);
	out.fence_generation = le32_to_cpu(wire.fence_generation);

	if (out.flags & ~RNBD_LOGIN_FLAGS)
		return RNBD_FAULT_FLAGS;
	if (!(out.features & RNBD_FEATURE_INLINE) &&
	    (out.inline_read || out.inline_write))
		return RNBD_FAULT_RESERVED;
	if (!out.nr_queues || out.nr_queues > RNBD_QUEUES_MAX ||
	    !out.queue_depth || out.queue_depth > RNBD_DEPTH_MAX)
		return RNBD_FAULT_GEOMETRY;
	if (!out.max_io || out.max_io > RNBD_MAX_IO_MAX ||
	    !rnbd_multiple(out.max_io, RNBD_UNIT_SIZE) ||
	    out.pool_bytes < RNBD_UNIT_SIZE ||
	    !rnbd_keepalive_ok(out.keepalive_ms))
		return RNBD_FAULT_LIMITS;

	*info = out;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_login);

/**
 * rnbd_max_segments - pool segments that a login reply can name
 * @slot_size: bytes of a slot, since the reply is one frame
 *
 * Context: any.
 * Return: number of segments.
 */
u32 rnbd_max_segments(u32 slot_size)
{
	const u32 head = sizeof(struct rnbd_frame_hdr) +
			 sizeof(struct rnbd_login_reply);

	if (slot_size < head)
		return 0;
	return (slot_size - head) / (u32)sizeof(struct rnbd_segment);
}
EXPORT_SYMBOL_GPL(rnbd_max_segments);

/**
 * rnbd_encode_grant - write a login reply
 * @wire: first entry of the LOGIN_REPLY frame
 * @grant: what is granted; if its status is not RNBD_ST_OK, only that is sent
 *
 * Context: any.
 */
void rnbd_encode_grant(struct rnbd_login_reply *wire, const struct rnbd_grant *grant)
{
	*wire = (struct rnbd_login_reply) {
		.status = cpu_to_le16(grant->status),
	};
	if (grant->status != RNBD_ST_OK)
		return;

	wire->nr_queues = cpu_to_le16(grant->nr_queues);
	wire->queue_depth = cpu_to_le16(grant->queue_depth);
	wire->features = cpu_to_le64(grant->features);
	wire->capacity = cpu_to_le64(grant->capacity);
	wire->max_io = cpu_to_le32(grant->max_io);
	wire->flags = cpu_to_le32(grant->flags);
	wire->logical_block = cpu_to_le32(grant->logical_block);
	wire->physical_block = cpu_to_le32(grant->physical_block);
	wire->io_min = cpu_to_le32(grant->io_min);
	wire->io_opt = cpu_to_le32(grant->io_opt);
	wire->discard_granularity = cpu_to_le32(grant->discard_granularity);
	wire->discard_alignment = cpu_to_le32(grant->discard_alignment);
	wire->max_discard = cpu_to_le32(grant->max_discard);
	wire->max_write_zeroes = cpu_to_le32(grant->max_write_zeroes);
	wire->pool_units = cpu_to_le32(grant->pool_units);
	wire->segment_units = cpu_to_le32(grant->segment_units);
	wire->nr_segments = cpu_to_le32(grant->nr_segments);
	wire->keepalive_ms = cpu_to_le32(grant->keepalive_ms);
	memcpy(wire->incarnation, grant->incarnation, sizeof(wire->incarnation));
	memcpy(wire->export_uuid, grant->export_uuid, sizeof(wire->export_uuid));
	wire->inline_read = cpu_to_le32(grant->inline_read);
	wire->inline_write = cpu_to_le32(grant->inline_write);
	wire->fence_generation = cpu_to_le32(grant->fence_generation);
}
EXPORT_SYMBOL_GPL(rnbd_encode_grant);

/**
 * rnbd_encode_segment - write one segment of the pool
 * @wire: entry of the LOGIN_REPLY frame behind the grant
 * @seg: where it is
 *
 * Context: any.
 */
void rnbd_encode_segment(struct rnbd_segment *wire, const struct rnbd_segment_info *seg)
{
	*wire = (struct rnbd_segment) {
		.addr = cpu_to_le64(seg->addr),
		.rkey = cpu_to_le32(seg->rkey),
		.units = cpu_to_le32(seg->units),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_segment);

#define RNBD_LOGICAL_BLOCK_MIN	512u
/* A block must fit the smallest page there is: the block layer's own limit. */
#define RNBD_LOGICAL_BLOCK_MAX	4096u
#define RNBD_PHYSICAL_BLOCK_MAX	0x100000u

static bool rnbd_block_ok(u32 block)
{
	return is_power_of_2(block) && block >= RNBD_LOGICAL_BLOCK_MIN &&
	       block <= RNBD_LOGICAL_BLOCK_MAX;
}

/* Whole blocks, and loff_t is signed. */
static bool rnbd_capacity_ok(u64 capacity, u32 block)
{
	return capacity && capacity <= U64_MAX / 2 && rnbd_multiple(capacity, block);
}

/* Properties of the export that the client's disk will take over. */
static bool rnbd_grant_disk_ok(const struct rnbd_grant *grant)
{
	u32 block = grant->logical_block;

	if (!rnbd_block_ok(block) || !rnbd_capacity_ok(grant->capacity, block))
		return false;
	if (!is_power_of_2(grant->physical_block) ||
	    grant->physical_block < block ||
	    grant->physical_block > RNBD_PHYSICAL_BLOCK_MAX)
		return false;
	/* Without FUA the block layer may wait for a flush while one ends I/O. */
	if ((grant->flags & RNBD_EXPORT_VOLATILE_CACHE) &&
	    !(grant->flags & RNBD_EXPORT_FUA))
		return false;
	/* As much as twice io_opt is read ahead of a reader. */
	if (grant->io_min > RNBD_IO_HINT_MAX || grant->io_opt > RNBD_IO_HINT_MAX)
		return false;
	/* The block layer cuts a discard into multiples of the larger of the two. */
	if (grant->max_discard &&
	    (!grant->discard_granularity ||
	     grant->max_discard < grant->discard_granularity ||
	     grant->max_discard < grant->physical_block))
		return false;
	return grant->io_min >= block &&
	       rnbd_multiple(grant->io_min, block) &&
	       rnbd_multiple(grant->io_opt, block) &&
	       rnbd_multiple(grant->discard_granularity, block) &&
	       rnbd_multiple(grant->discard_alignment, block) &&
	       rnbd_multiple(grant->max_discard, block) &&
	       rnbd_multiple(grant->max_write_zeroes, block);
}

/*
 * Shape of the pool: besides being consistent, the share of one queue, when
 * empty, must hold the largest request in the extents that one request may
 * have, or that request would wait for ever.
 */
static bool rnbd_grant_pool_ok(const struct rnbd_grant *grant,
			       const struct rnbd_login_info *asked)
{
	u32 units, crossings;

	if (grant->max_io < RNBD_UNIT_SIZE || grant->max_io > asked->max_io ||
	    !rnbd_multiple(grant->max_io, grant->logical_block))
		return false;
	if (!grant->pool_units || grant->pool_units > RNBD_POOL_UNITS_MAX ||
	    !is_power_of_2(grant->segment_units) ||
	    grant->segment_units > RNBD_POOL_UNITS_MAX)
		return false;
	if (grant->nr_segments != DIV_ROUND_UP(grant->pool_units,
					       grant->segment_units))
		return false;

	units = rnbd_bytes_to_units(grant->max_io);
	if (grant->pool_units / grant->nr_queues < units)
		return false;
	/* segment boundaries inside @units that start at the worst place */
	crossings = DIV_ROUND_UP(units - 1, grant->segment_units);
	return crossings + 1 <= RNBD_EXTENTS_MAX;
}

/**
 * rnbd_decode_grant - check and copy out a login reply without its segments
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_LOGIN_REPLY
 * @asked: what was asked for
 * @grant: result; if its status is not RNBD_ST_OK, nothing else is set
 *
 * An accepted grant suits the block layer: logical blocks of 512 to 4096
 * bytes (PAGE_SIZE is its limit, and 4 KiB the smallest), physical blocks up to
 * 1 MiB, all sizes multiples of the logical block, hints that do not make it
 * read ahead without measure, discards that it can cut. It suits the pool
 * allocator: the empty share of a queue, pool_units / nr_queues, holds a
 * request of max_io in at most RNBD_EXTENTS_MAX extents.
 *
 * Context: any.
 * Return: the first thing wrong, @grant is untouched then.
 */
enum rnbd_fault rnbd_decode_grant(const struct rnbd_frame *frame,
				  const struct rnbd_login_info *asked,
				  struct rnbd_grant *grant)
{
	struct rnbd_login_reply wire;
	struct rnbd_grant out;

	if (frame->type != RNBD_FRAME_LOGIN_REPLY)
		return RNBD_FAULT_TYPE;
	if (!frame->nr_entries)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;

	memset(&out, 0, sizeof(out));
	out.status = le16_to_cpu(wire.status);
	if (!rnbd_status_known(out.status))
		return RNBD_FAULT_STATUS;
	if (out.status != RNBD_ST_OK) {
		if (!rnbd_all_zero((u8 *)&wire + sizeof(wire.status),
				   sizeof(wire) - sizeof(wire.status)))
			return RNBD_FAULT_RESERVED;
		if (frame->nr_entries != 1)
			return RNBD_FAULT_COUNT;
		*grant = out;
		return RNBD_FAULT_NONE;
	}

	if (wire.reserved0 ||
	    !rnbd_all_zero(wire.reserved2, sizeof(wire.reserved2)))
		return RNBD_FAULT_RESERVED;

	out.nr_queues = le16_to_cpu(wire.nr_queues);
	out.queue_depth = le16_to_cpu(wire.queue_depth);
	out.features = le64_to_cpu(wire.features);
	out.capacity = le64_to_cpu(wire.capacity);
	out.max_io = le32_to_cpu(wire.max_io);
	out.flags = le32_to_cpu(wire.flags);
	out.logical_block = le32_to_cpu(wire.logical_block);
	out.physical_block = le32_to_cpu(wire.physical_block);
	out.io_min = le32_to_cpu(wire.io_min);
	out.io_opt = le32_to_cpu(wire.io_opt);
	out.discard_granularity = le32_to_cpu(wire.discard_granularity);
	out.discard_alignment = le32_to_cpu(wire.discard_alignment);
	out.max_discard = le32_to_cpu(wire.max_discard);
	out.max_write_zeroes = le32_to_cpu(wire.max_write_zeroes);
	out.pool_units = le32_to_cpu(wire.pool_units);
	out.segment_units = le32_to_cpu(wire.segment_units);
	out.nr_segments = le32_to_cpu(wire.nr_segments);
	out.keepalive_ms = le32_to_cpu(wire.keepalive_ms);
	memcpy(out.incarnation, wire.incarnation, sizeof(out.incarnation));
	memcpy(out.export_uuid, wire.export_uuid, sizeof(out.export_uuid));
	out.inline_read = le32_to_cpu(wire.inline_read);
	out.inline_write = le32_to_cpu(wire.inline_write);
	out.fence_generation = le32_to_cpu(wire.fence_generation);

	if (!out.nr_queues || out.nr_queues > asked->nr_queues ||
	    !out.queue_depth || out.queue_depth > asked->queue_depth)
		return RNBD_FAULT_GEOMETRY;
	if ((out.features & ~asked->features) ||
	    (out.flags & ~RNBD_EXPORT_FLAGS))
		return RNBD_FAULT_FLAGS;
	if (!(out.features & RNBD_FEATURE_INLINE) &&
	    (out.inline_read || out.inline_write))
		return RNBD_FAULT_RESERVED;
	if (out.inline_read > asked->inline_read ||
	    out.inline_write > asked->inline_write)
		return RNBD_FAULT_LIMITS;
	if (!rnbd_grant_disk_ok(&out) || !rnbd_grant_pool_ok(&out, asked) ||
	    !rnbd_keepalive_ok(out.keepalive_ms) || !out.fence_generation)
		return RNBD_FAULT_LIMITS;
	if (asked->fence_generation && out.fence_generation != asked->fence_generation)
		return RNBD_FAULT_LIMITS;
	if (out.nr_segments != frame->nr_entries - 1u)
		return RNBD_FAULT_COUNT;

	*grant = out;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_grant);

/**
 * rnbd_decode_segment - check and copy out one segment of the pool
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_LOGIN_REPLY
 * @index: of the segment, from 0
 * @grant: what rnbd_decode_grant() made of the same frame
 * @seg: result; its last byte does not lie beyond the address space
 *
 * Context: any.
 * Return: the first thing wrong, @seg is untouched then.
 */
enum rnbd_fault rnbd_decode_segment(const struct rnbd_frame *frame, u32 index,
				    const struct rnbd_grant *grant,
				    struct rnbd_segment_info *seg)
{
	struct rnbd_segment wire;
	u32 units, expected;
	u64 addr;

	if (frame->type != RNBD_FRAME_LOGIN_REPLY)
		return RNBD_FAULT_TYPE;
	/* below 65535 entries, so that the offset below cannot wrap */
	if (index >= grant->nr_segments || index + 1 >= frame->nr_entries)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, sizeof(struct rnbd_login_reply) +
			     index * (u32)sizeof(wire), &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;

	addr = le64_to_cpu(wire.addr);
	units = le32_to_cpu(wire.units);
	expected = min(grant->segment_units,
		       grant->pool_units - index * grant->segment_units);
	if (units != expected ||
	    addr > U64_MAX - ((u64)units << RNBD_UNIT_SHIFT))
		return RNBD_FAULT_LIMITS;

	seg->addr = addr;
	seg->rkey = le32_to_cpu(wire.rkey);
	seg->units = units;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_segment);

/* ------------------------------------------------------------------------
 * Authentication
 */

/**
 * rnbd_encode_challenge - write a challenge
 * @wire: entry of the CHALLENGE frame
 * @nonce: RNBD_NONCE_SIZE random bytes
 *
 * Context: any.
 */
void rnbd_encode_challenge(struct rnbd_challenge *wire, const u8 *nonce)
{
	*wire = (struct rnbd_challenge) { };
	memcpy(wire->nonce, nonce, sizeof(wire->nonce));
}
EXPORT_SYMBOL_GPL(rnbd_encode_challenge);

/**
 * rnbd_decode_challenge - check and copy out a challenge
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_CHALLENGE
 * @nonce: result, RNBD_NONCE_SIZE bytes
 *
 * Context: any.
 * Return: the first thing wrong, @nonce is untouched then.
 */
enum rnbd_fault rnbd_decode_challenge(const struct rnbd_frame *frame, u8 *nonce)
{
	struct rnbd_challenge wire;

	if (frame->type != RNBD_FRAME_CHALLENGE)
		return RNBD_FAULT_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;

	memcpy(nonce, wire.nonce, sizeof(wire.nonce));
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_challenge);

/**
 * rnbd_encode_proof - write a proof
 * @wire: entry of the PROOF frame
 * @nonce: of a client, RNBD_NONCE_SIZE random bytes; NULL from the target
 * @mac: RNBD_MAC_SIZE bytes
 *
 * Context: any.
 */
void rnbd_encode_proof(struct rnbd_proof *wire, const u8 *nonce, const u8 *mac)
{
	*wire = (struct rnbd_proof) { };
	if (nonce)
		memcpy(wire->nonce, nonce, sizeof(wire->nonce));
	memcpy(wire->mac, mac, sizeof(wire->mac));
}
EXPORT_SYMBOL_GPL(rnbd_encode_proof);

/**
 * rnbd_decode_proof - check and copy out a proof
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_PROOF
 * @nonce: result, RNBD_NONCE_SIZE bytes; NULL for the proof of a target, which
 *	has none
 * @mac: result, RNBD_MAC_SIZE bytes, not compared with anything
 *
 * Context: any.
 * Return: the first thing wrong, @nonce and @mac are untouched then.
 */
enum rnbd_fault rnbd_decode_proof(const struct rnbd_frame *frame, u8 *nonce, u8 *mac)
{
	struct rnbd_proof wire;

	if (frame->type != RNBD_FRAME_PROOF)
		return RNBD_FAULT_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;
	if (!nonce && !rnbd_all_zero(wire.nonce, sizeof(wire.nonce)))
		return RNBD_FAULT_RESERVED;

	if (nonce)
		memcpy(nonce, wire.nonce, sizeof(wire.nonce));
	memcpy(mac, wire.mac, sizeof(wire.mac));
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_proof);

/* ------------------------------------------------------------------------
 * Resize
 */

/**
 * rnbd_encode_resize - write the new size of an export
 * @wire: entry of the RESIZE frame
 * @capacity: bytes
 *
 * Context: any.
 */
void rnbd_encode_resize(struct rnbd_resize *wire, u64 capacity)
{
	*wire = (struct rnbd_resize) {
		.capacity = cpu_to_le64(capacity),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_resize);

/**
 * rnbd_decode_resize - check and copy out the new size of an export
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_RESIZE
 * @logical_block: of the export, a power of two
 * @capacity: result: bytes, whole logical blocks, not 0
 *
 * Context: any.
 * Return: the first thing wrong, @capacity is untouched then.
 */
enum rnbd_fault rnbd_decode_resize(const struct rnbd_frame *frame,
				   u32 logical_block, u64 *capacity)
{
	struct rnbd_resize wire;
	u64 bytes;

	if (frame->type != RNBD_FRAME_RESIZE)
		return RNBD_FAULT_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;
	bytes = le64_to_cpu(wire.capacity);
	if (!rnbd_capacity_ok(bytes, logical_block))
		return RNBD_FAULT_LIMITS;

	*capacity = bytes;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_resize);

/* ------------------------------------------------------------------------
 * Lists of exports
 */

/**
 * rnbd_encode_discover_reply - write the head of a frame of a list of exports
 * @wire: first entry of the DISCOVER_REPLY frame
 * @status: enum rnbd_status; if not RNBD_ST_OK, only that is sent
 * @more: further frames follow
 *
 * Context: any.
 */
void rnbd_encode_discover_reply(struct rnbd_discover_reply *wire, u16 status,
				bool more)
{
	*wire = (struct rnbd_discover_reply) {
		.status = cpu_to_le16(status),
	};
	if (status == RNBD_ST_OK && more)
		wire->flags = cpu_to_le16(RNBD_DISCOVER_MORE);
}
EXPORT_SYMBOL_GPL(rnbd_encode_discover_reply);

/**
 * rnbd_encode_export - write one export of a list
 * @wire: entry of the DISCOVER_REPLY frame behind its head
 * @info: the export; a lawful, terminated name
 *
 * Context: any.
 */
void rnbd_encode_export(struct rnbd_export_entry *wire,
			const struct rnbd_export_info *info)
{
	*wire = (struct rnbd_export_entry) {
		.capacity = cpu_to_le64(info->capacity),
		.logical_block = cpu_to_le32(info->logical_block),
		.flags = cpu_to_le32(info->flags),
	};
	/* the last byte stays NUL whatever the caller did */
	memcpy(wire->name, info->name, strnlen(info->name, sizeof(wire->name) - 1));
	memcpy(wire->uuid, info->uuid, sizeof(wire->uuid));
}
EXPORT_SYMBOL_GPL(rnbd_encode_export);

/**
 * rnbd_decode_discover_reply - check and copy out the head of a part of a list
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_DISCOVER_REPLY
 * @room: exports that the list may still grow by
 * @info: result; if its status is not RNBD_ST_OK, nothing else is set
 *
 * A frame after which more follow brings the list forward, so that it ends.
 *
 * Context: any.
 * Return: the first thing wrong, @info is untouched then.
 */
enum rnbd_fault rnbd_decode_discover_reply(const struct rnbd_frame *frame, u32 room,
					   struct rnbd_discover_info *info)
{
	struct rnbd_discover_reply wire;
	u16 status, flags;
	u32 nr;

	if (frame->type != RNBD_FRAME_DISCOVER_REPLY)
		return RNBD_FAULT_TYPE;
	if (!frame->nr_entries)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;

	status = le16_to_cpu(wire.status);
	flags = le16_to_cpu(wire.flags);
	nr = frame->nr_entries - 1u;
	if (!rnbd_status_known(status))
		return RNBD_FAULT_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;
	if ((flags & ~RNBD_DISCOVER_MORE) || (flags && status != RNBD_ST_OK))
		return RNBD_FAULT_FLAGS;
	if (nr > room || (nr && status != RNBD_ST_OK) || (!nr && flags))
		return RNBD_FAULT_COUNT;

	*info = (struct rnbd_discover_info) {
		.status = status,
		.more = flags & RNBD_DISCOVER_MORE,
		.nr_exports = nr,
	};
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_discover_reply);

/**
 * rnbd_decode_export - check and copy out one export of a list
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_DISCOVER_REPLY
 * @index: of the export in the frame, from 0
 * @info: result
 *
 * Name, block and capacity keep to the same rules as in a login and its reply. That
 * no other export of the list has this name is not looked at.
 *
 * Context: any.
 * Return: the first thing wrong, @info is untouched then.
 */
enum rnbd_fault rnbd_decode_export(const struct rnbd_frame *frame, u32 index,
				   struct rnbd_export_info *info)
{
	struct rnbd_export_entry wire;
	struct rnbd_export_info out;

	if (frame->type != RNBD_FRAME_DISCOVER_REPLY)
		return RNBD_FAULT_TYPE;
	/* below 65535 entries, so that the offset below cannot wrap */
	if (!frame->nr_entries || index >= frame->nr_entries - 1u)
		return RNBD_FAULT_COUNT;
	if (!rnbd_copy_entry(frame, sizeof(struct rnbd_discover_reply) +
			     index * (u32)sizeof(wire), &wire, sizeof(wire)))
		return RNBD_FAULT_SHORT;

	if (!rnbd_export_name_ok(wire.name, sizeof(wire.name)))
		return RNBD_FAULT_NAME;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_FAULT_RESERVED;

	memcpy(out.name, wire.name, sizeof(out.name));
	memcpy(out.uuid, wire.uuid, sizeof(out.uuid));
	out.capacity = le64_to_cpu(wire.capacity);
	out.logical_block = le32_to_cpu(wire.logical_block);
	out.flags = le32_to_cpu(wire.flags);

	if (out.flags & ~RNBD_DISCOVER_EXPORT_FLAGS)
		return RNBD_FAULT_FLAGS;
	if (!rnbd_block_ok(out.logical_block) ||
	    !rnbd_capacity_ok(out.capacity, out.logical_block))
		return RNBD_FAULT_LIMITS;

	*info = out;
	return RNBD_FAULT_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_export);
