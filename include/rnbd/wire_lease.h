/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries about the segments of a pool.
 *
 * The pool of a session is a set of segments of registered memory. The segments of its floor
 * follow the LOGIN_REPLY; further segments are granted and returned while requests are
 * executed. Control entries name a segment by its slot and by the generation of its grant. A
 * request names units only, and the slot follows from the unit. Requests carry no generation,
 * because a client releases a segment only after the target has answered every request that names
 * the segment; so no request for a former grant of the slot can arrive later. The target ends a
 * session if a request on it names a slot without a segment.
 *
 * Include <rnbd/wire.h>, which defines the frames and the connection and includes this file.
 */
#ifndef RNBD_WIRE_LEASE_H
#define RNBD_WIRE_LEASE_H

/**
 * struct rnbd_ctl_segment - RNBD_CTL_SEGMENT: grant of one registered segment of the pool
 * @addr: remote address of the first byte
 * @slot: slot of the segment, below rnbd_ctl_login_reply.nr_slots. The segments of the login
 *	have consecutive slots from 0; a later segment has any slot without a segment
 * @generation: generation of this grant of the slot, not 0
 * @units: size in units of 4 KiB. A segment of the login has
 *	rnbd_ctl_login_reply.segment_units, except for the last one. A later segment has at
 *	most that number, and a multiple of RNBD_SEGMENT_GRANULE if it has fewer
 * @rkey: remote key for RDMA WRITE and READ
 */
struct rnbd_ctl_segment {
	__le64	addr;
	__le32	slot;
	__le32	generation;
	__le32	units;
	__le32	rkey;
};

static_assert(sizeof(struct rnbd_ctl_segment) == 24);
static_assert(offsetof(struct rnbd_ctl_segment, units) == 16);

/**
 * struct rnbd_ctl_want - RNBD_CTL_WANT: requested size of the pool
 * @units: total units that the client wants to hold, at most the granted ceiling; replaces the
 *	number of an earlier WANT
 * @reserved: zero
 *
 * The target grants segments up to this total, at once or later, as its limits leave memory for
 * them. It sends no other answer to WANT.
 */
struct rnbd_ctl_want {
	__le32	units;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_ctl_want) == 8);

/**
 * struct rnbd_ctl_lease - body of RECLAIM, RELEASE and RELEASED
 * @slot: slot of the segment
 * @generation: generation of the grant of the segment
 * @deadline_ms: RECLAIM: milliseconds within which the client must return the segment; 0 if
 *	there is no deadline. The time restarts whenever the target finds that the storage
 *	has a request that names the segment, unless the request arrived more than three
 *	keep-alive intervals (at least 1 s, at most 10 s) after the RECLAIM was sent.
 *	RELEASE, RELEASED: 0
 * @reserved: zero
 *
 * A client may send RELEASE, with or without a RECLAIM, when every request that names the
 * segment was answered and every RDMA operation on it has completed. From then on it must not
 * use the segment.
 */
struct rnbd_ctl_lease {
	__le32	slot;
	__le32	generation;
	__le32	deadline_ms;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_ctl_lease) == 16);
static_assert(offsetof(struct rnbd_ctl_lease, deadline_ms) == 8);

#endif /* RNBD_WIRE_LEASE_H */
