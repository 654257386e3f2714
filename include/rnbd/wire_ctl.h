/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries.
 *
 * <rnbd/wire.h> has the frames, the connection and the login and includes this
 * file; include that one.
 */
#ifndef RNBD_WIRE_CTL_H
#define RNBD_WIRE_CTL_H

/*
 * In rnbd_ctl.type: a receiver that does not know the type must end the connection.
 * It skips an unknown entry without this bit.
 */
#define RNBD_CTL_MANDATORY	0x8000u

/* rnbd_ctl.length is a multiple of it. */
#define RNBD_CTL_ALIGN		8

/**
 * struct rnbd_ctl - head of an entry of a CONTROL frame
 * @type: type of the entry, not 0, and RNBD_CTL_MANDATORY
 * @length: bytes of the entry, this head included
 * @id: number that the sender of a request chooses and the answer repeats; 0 if no
 *	answer is expected
 *
 * The body follows. A sender that speaks a later version may send a longer body than
 * the receiver knows; what the receiver does not know is zero unless a feature says
 * otherwise.
 */
struct rnbd_ctl {
	__le16	type;
	__le16	length;
	__le32	id;
};

static_assert(sizeof(struct rnbd_ctl) == 8);
static_assert(offsetof(struct rnbd_ctl, id) == 4);

#endif /* RNBD_WIRE_CTL_H */
