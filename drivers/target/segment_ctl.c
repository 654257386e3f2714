// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries about a segment: its grant, the request to return it, and its release.
 *
 * Operation: ctl.c keeps a list of the segments about which entries must be sent, and fills
 * frames from this list. The client's time to return a segment begins when the lease work queues
 * RECLAIM, and begins again when RECLAIM is put into a frame.
 * Ownership: the file keeps no state.
 * Concurrency: the caller holds the lock of the ring of queue 0.
 * Errors: an entry that does not fit goes into the next frame.
 */

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>
#include <rnbd/wire.h>

#include "../core/ctl.h"
#include "../core/lease.h"
#include "../core/login.h"
#include "../core/ring_send.h"
#include "segment.h"
#include "segment_ctl.h"
#include "session.h"

/*
 * Limits in ms of the grace period, in which RECLAIM must reach the client, and the requests that
 * the client sent before RECLAIM arrived must reach the target
 */
#define RNBDT_RECLAIM_GRACE_MIN	1000u
#define RNBDT_RECLAIM_GRACE_MAX	10000u

/*
 * Restart the client's time to return a segment, because RECLAIM possibly waited for a credit.
 * Begin a grace period, too: a lost frame is repeated only after seconds, and until the client
 * receives RECLAIM it sends valid requests that name the segment.
 */
static void rnbdt_segment_reclaimed(const struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	u32 grace_ms = clamp(RNBD_KEEPALIVE_MISSED * s->granted.keepalive_ms,
			     RNBDT_RECLAIM_GRACE_MIN, RNBDT_RECLAIM_GRACE_MAX);

	WRITE_ONCE(seg->idle_since, jiffies);
	WRITE_ONCE(seg->asked_ns, ktime_get_ns() + (u64)grace_ms * NSEC_PER_MSEC);
}

static bool rnbdt_segment_add_entry(struct rnbd_ring *ring, u16 type, const void *body, u32 bytes)
{
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.body = body,
		.bytes = bytes,
	};

	return rnbd_ring_add_ctl(ring, &entry);
}

/**
 * rnbdt_segment_add_ctl - add the pending control entries of a segment to the open frame
 * @s: session
 * @ring: ring of queue 0, with an open frame of type RNBD_FRAME_CONTROL
 * @seg: segment; rnbdt_segment.tell selects the entries. The bits of added entries are cleared,
 *	except RNBDT_TELL_RELEASED
 *
 * Context: any, ring->lock held.
 * Return: false if the frame is full.
 */
bool rnbdt_segment_add_ctl(const struct rnbdt_session *s, struct rnbd_ring *ring,
			   struct rnbdt_segment *seg)
{
	struct rnbd_ctl_segment segment;
	struct rnbd_ctl_lease lease;

	if (seg->tell & RNBDT_TELL_SEGMENT) {
		rnbd_encode_segment(&segment, &(struct rnbd_segment_info) {
			.addr = seg->mr->iova,
			.slot = seg->slot,
			.generation = seg->generation,
			.rkey = seg->mr->rkey,
			.units = seg->units,
		});
		if (!rnbdt_segment_add_entry(ring, RNBD_CTL_SEGMENT, &segment, sizeof(segment)))
			return false;
		seg->tell &= ~RNBDT_TELL_SEGMENT;
	}
	if (seg->tell & RNBDT_TELL_RECLAIM) {
		rnbd_encode_lease(&lease, &(struct rnbd_lease_info) {
			.slot = seg->slot,
			.generation = seg->generation,
			.deadline_ms = seg->deadline_ms,
		});
		if (!rnbdt_segment_add_entry(ring, RNBD_CTL_RECLAIM, &lease, sizeof(lease)))
			return false;
		seg->tell &= ~RNBDT_TELL_RECLAIM;
		rnbdt_segment_reclaimed(s, seg);
	}
	if (seg->tell & RNBDT_TELL_RELEASED) {
		rnbd_encode_lease(&lease, &(struct rnbd_lease_info) {
			.slot = seg->slot,
			.generation = seg->generation,
		});
		if (!rnbdt_segment_add_entry(ring, RNBD_CTL_RELEASED, &lease, sizeof(lease)))
			return false;
	}
	return true;
}
