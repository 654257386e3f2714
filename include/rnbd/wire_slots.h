/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries about the memory of a connection.
 *
 * <rnbd/wire.h> has the frames, the connection and the login and includes this
 * file; include that one.
 */
#ifndef RNBD_WIRE_SLOTS_H
#define RNBD_WIRE_SLOTS_H

/* Requests in flight that a connection allows at first, if its depth is not lower. */
#define RNBD_DEPTH_FIRST	16

/**
 * struct rnbd_ctl_slots - receive slots and requests of a connection
 * @slots: receive slots of the receiver of a SLOTS, RNBD_RING_SLOTS_MIN to the number in
 *	the connection request
 * @depth: requests that the client may have in flight, RNBD_DEPTH_FIRST to the granted depth;
 *	0 if the target asks
 * @reserved: zero
 *
 * A SLOTS_REPLY has the numbers from then on: those of the request, or if that wanted more,
 * numbers between the former ones and those.
 */
struct rnbd_ctl_slots {
	__le16	slots;
	__le16	depth;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_ctl_slots) == 8);
static_assert(offsetof(struct rnbd_ctl_slots, depth) == 2);

#endif /* RNBD_WIRE_SLOTS_H */
