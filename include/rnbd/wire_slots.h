/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries about the receive slots and requests of a connection.
 *
 * Include <rnbd/wire.h>, which defines the frames and the connection and includes this file.
 */
#ifndef RNBD_WIRE_SLOTS_H
#define RNBD_WIRE_SLOTS_H

/* Initial limit on requests in flight on a connection, unless its granted depth is lower. */
#define RNBD_DEPTH_FIRST	16

/**
 * struct rnbd_ctl_slots - body of SLOTS and SLOTS_REPLY
 * @slots: receive slots of the end that receives the SLOTS, from RNBD_RING_SLOTS_MIN to
 *	rnbd_cm_req.ring_slots
 * @depth: requests that the client may have in flight, from RNBD_DEPTH_FIRST (or the granted
 *	depth, if that is lower) to the granted depth; 0 if the target sends the SLOTS
 * @reserved: zero
 *
 * A SLOTS_REPLY carries the new numbers. A reduction is granted exactly. An increase may be
 * granted in part or not at all.
 */
struct rnbd_ctl_slots {
	__le16	slots;
	__le16	depth;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_ctl_slots) == 8);
static_assert(offsetof(struct rnbd_ctl_slots, depth) == 2);

#endif /* RNBD_WIRE_SLOTS_H */
