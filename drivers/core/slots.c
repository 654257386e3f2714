// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bodies of control entries about the receive slots and requests of a connection.
 *
 * Operation: with SLOTS, an end asks its peer to post more receive slots, or gives some of them
 * up. A SLOTS of the client also changes the number of requests that the client may have in
 * flight. The peer answers with SLOTS_REPLY, which contains the new numbers. flow.c chooses the
 * numbers in SLOTS, and compares received numbers with the limits of the connection.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "slots.h"

/**
 * rnbd_encode_slots - encode the body of a SLOTS or SLOTS_REPLY
 * @wire: result
 * @info: numbers of slots and requests
 *
 * Context: any.
 */
void rnbd_encode_slots(struct rnbd_ctl_slots *wire, const struct rnbd_slots_info *info)
{
	*wire = (struct rnbd_ctl_slots) {
		.slots = cpu_to_le16(info->slots),
		.depth = cpu_to_le16(info->depth),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_slots);

/**
 * rnbd_decode_slots - check and decode the body of a SLOTS or SLOTS_REPLY
 * @entry: entry from rnbd_decode_ctl()
 * @info: result
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_slots(const struct rnbd_ctl_entry *entry,
				      struct rnbd_slots_info *info)
{
	struct rnbd_ctl_slots wire;
	enum rnbd_proto_err perr;
	u16 slots, depth;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	slots = le16_to_cpu(wire.slots);
	depth = le16_to_cpu(wire.depth);
	if (slots < RNBD_RING_SLOTS_MIN || slots > RNBD_RING_SLOTS_MAX || depth > RNBD_DEPTH_MAX)
		return RNBD_PERR_GEOMETRY;
	info->slots = slots;
	info->depth = depth;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_slots);
