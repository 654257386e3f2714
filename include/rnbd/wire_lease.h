/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries about the segments of a pool.
 *
 * The pool of a session is a set of segments of registered memory. Those of its floor follow
 * the LOGIN_REPLY; further ones come and go while requests are executed. A segment is named
 * by its slot and by the generation of its grant. Requests name units, of which the slot is
 * a part. They need no generation: a client releases a segment only after every request that
 * names it was answered, so no request for a former grant of the slot can arrive later. The
 * target ends a connection whose request names a slot without a segment.
 *
 * <rnbd/wire.h> has the frames and the connection and includes this file; include that one.
 */
#ifndef RNBD_WIRE_LEASE_H
#define RNBD_WIRE_LEASE_H

/**
 * struct rnbd_ctl_segment - RNBD_CTL_SEGMENT: one registered segment of the pool
 * @addr: remote address of its first byte
 * @slot: number of its place in the pool, below rnbd_ctl_login_reply.nr_slots. The segments
 *	of the login have the slots from 0 on, in their order; a later one has any slot
 *	without a segment
 * @generation: of the grant of this slot, not 0
 * @units: size in units of 4 KiB. Of the login: segment_units except for the last one;
 *	later: at most that, and a multiple of RNBD_SEGMENT_GRANULE unless it is segment_units
 * @rkey: key for RDMA WRITE and READ
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
 * struct rnbd_ctl_want - RNBD_CTL_WANT: size that the pool shall have
 * @units: units that the client wants to hold in all, at most the granted ceiling; replaces
 *	that of an earlier entry
 * @reserved: zero
 *
 * The target grants segments while the limits leave memory, also later. There is no answer
 * if they do not.
 */
struct rnbd_ctl_want {
	__le32	units;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_ctl_want) == 8);

/**
 * struct rnbd_ctl_lease - about a segment that was granted
 * @slot: slot of the segment
 * @generation: generation of its grant
 * @deadline_ms: RNBD_CTL_RECLAIM: milliseconds that the client has to return the segment,
 *	0: any time; the time does not count in which the storage has a request that names
 *	the segment and that arrived within a few keep-alive intervals after this entry was
 *	sent. Otherwise 0
 * @reserved: zero
 *
 * A client sends RNBD_CTL_RELEASE, unasked or after RNBD_CTL_RECLAIM, when every request
 * that names the segment was answered and every RDMA operation on it has completed. From
 * then on it must not use the segment.
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
