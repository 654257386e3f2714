/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control ring: one RC queue pair, its slots and its credits. See ring.c.
 */
#ifndef RNBD_CORE_RING_H
#define RNBD_CORE_RING_H

#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "flow.h"
#include "frame.h"
#include "quirks.h"

struct rnbd_ring;

/*
 * Offset of the inline data in a send slot. The number of entries is not known in advance, so
 * entries and inline data are gathered in two parts of the slot, and the device sends both as
 * one frame. The first part has space for 31 request entries or 63 reply entries.
 */
#define RNBD_RING_DATA_OFFSET	1024u

/**
 * struct rnbd_ring_ops - callbacks of a ring to its owner
 *
 * @frame, @sent and @credit are called by the completion handler of the ring's CQ, in the
 * context that rnbd_ring_attr.poll selects, or, on a polled ring, by rnbd_ring_poll() or the
 * work item that drains the ring. For one ring they never run concurrently, and ring->lock is
 * not held.
 *
 * @frame: Handle a frame of any type except CREDIT, whose head was checked. Its entries lie in
 *	the receive slot and are valid until the callback returns. If the callback returns a
 *	protocol error, the ring fails.
 * @sent: All frames up to number @seq, and all work requests posted before frame @seq, have
 *	completed. @note is the number that rnbd_ring_set_note() attached to frame @seq, or
 *	0.
 * @credit: A credit frame of the peer has arrived, or the SEND of a credit frame of this end
 *	has completed. So credits or a send slot are possibly available, although neither
 *	@frame nor @sent is called.
 * @proto_err: Report a protocol error of the peer; @failed follows. May be NULL. Called
 *	from any context, with or without ring->lock. Must not sleep.
 * @failed: The ring has failed and cannot be used again before rnbd_ring_create(). Called at
 *	most once per queue pair, from any context, with or without ring->lock; @reason is a
 *	constant string. Must not sleep.
 * @charge: Account for @slots slots, the total of both directions. Returns false if the ring
 *	must not grow to that total. May be NULL. Called from a work item without
 *	ring->lock; may sleep.
 * @grow_depth: Allow the peer @depth requests in flight, and free the memory of requests
 *	beyond that number. Returns the number that is allowed now. May be NULL.
 *	Called like @charge.
 * @trim_depth: Limit the requests in flight to @depth from now on, if this is possible now.
 *	Returns the new limit, or the unchanged higher limit. May be NULL at an end that
 *	sends no requests. Called with ring->lock held.
 */
struct rnbd_ring_ops {
	enum rnbd_proto_err (*frame)(struct rnbd_ring *ring,
				     struct rnbd_frame *frame);
	void (*sent)(struct rnbd_ring *ring, u32 seq, u32 note);
	void (*credit)(struct rnbd_ring *ring);
	void (*proto_err)(struct rnbd_ring *ring, enum rnbd_proto_err perr);
	void (*failed)(struct rnbd_ring *ring, const char *reason);
	bool (*charge)(struct rnbd_ring *ring, u32 slots);
	u16 (*grow_depth)(struct rnbd_ring *ring, u16 depth);
	u16 (*trim_depth)(struct rnbd_ring *ring, u16 depth);
};

/**
 * struct rnbd_ring_attr - geometry of a ring
 * @ops: callbacks to the owner
 * @slots: maximum number of receive slots of each end
 * @slot_size: bytes of a slot
 * @attempt: number of the attempt to connect, carried by every frame of both ends
 * @data_wrs: send-queue entries for the owner's own work requests
 * @max_send_sge: gather entries of the owner's work requests, at least 1
 * @vector: hint for the completion vector
 * @poll: context of completions; with IB_POLL_DIRECT completions are handled only by
 *	rnbd_ring_poll(), which the owner must call
 * @answer: answer keep-alives of the peer; true at one end only
 * @keep: keep the memory of the slots with which a connection begins for the next connection
 */
struct rnbd_ring_attr {
	const struct rnbd_ring_ops *ops;
	u16 slots;
	u32 slot_size;
	u32 attempt;
	u32 data_wrs;
	u32 max_send_sge;
	int vector;
	enum ib_poll_context poll;
	bool answer;
	bool keep;
};

/**
 * struct rnbd_slot - memory for one frame
 * @cqe: completion of the slot's work request
 * @ring: owner
 * @entry: entry in rnbd_ring.recv or rnbd_ring.send
 * @buf: memory of the frame, slot_size bytes
 * @sge: DMA address, length and local key of @buf
 * @mapped: @buf is mapped for the device
 * @seq: number of the frame; send slots only
 * @note: number that rnbd_ring_ops.sent passes back to the owner; send slots only
 * @used: bytes of the latest frame, from the beginning of @buf; only these are synchronised
 *	with the device
 */
struct rnbd_slot {
	struct ib_cqe cqe;
	struct rnbd_ring *ring;
	struct list_head entry;
	void *buf;
	struct ib_sge sge;
	bool mapped;
	u32 seq;
	u32 note;
	u32 used;
};

/**
 * struct rnbd_ring_stats - counters of a ring, protected by ring->lock
 * @frames_sent: sent frames with entries, without SLOTS and SLOTS_REPLY
 * @frames_received: received frames with entries, without SLOTS and SLOTS_REPLY
 * @entries_sent: entries of @frames_sent
 * @credit_frames_sent: sent credit frames, and frames with SLOTS or SLOTS_REPLY
 * @credit_frames_received: received frames of these kinds
 * @unsignaled: frames of @frames_sent that were not signalled
 * @late_frames: frames that were dropped because the ring had failed when they were handled
 * @grown: how often the receive slots of either end were increased
 * @shrunk: how often the receive slots of either end were decreased
 * @polled: completions found by polling; protected by poll_lock
 */
struct rnbd_ring_stats {
	u64 frames_sent;
	u64 frames_received;
	u64 entries_sent;
	u64 credit_frames_sent;
	u64 credit_frames_received;
	u64 unsignaled;
	u64 late_frames;
	u64 grown;
	u64 shrunk;
	u64 polled;
};

/**
 * struct rnbd_ring - one queue pair with its receive and send slots
 * @cm_id: connection id; belongs to the owner of the ring
 * @dev: RDMA device of @cm_id
 * @pd: protection domain; belongs to the session
 * @qp: queue pair, NULL while there is none
 * @cq: completion queue, from the device's pool unless it is polled
 * @quirks: work-arounds that the device needs
 * @nr_cqe: completion queue entries reserved in @cq
 * @poll_lock: held while @cq is polled. A poller returns if the lock is taken;
 *	rnbd_ring_drain_start() takes it once to wait for the last poller
 * @drain_work: drains a polled ring; runs on rnbd_ring_wq
 * @draining: rnbd_ring_drain_start() was called; used only by the task that drains the ring
 * @attr: geometry
 * @recv_done: completion handler of receive slots
 * @send_done: completion handler of send slots
 * @slots_work: allocates slots that this end or the peer needs, see ring_resize.c
 * @lock: protects all members below; the owner may protect its per-queue state with it too.
 *	Taken with interrupts disabled. Valid from rnbd_ring_init() on.
 * @live: frames may be sent; cleared by the first failure
 * @failed: bit 0 is set by the first failure, just before the call of rnbd_ring_ops.failed
 * @recv: receive slots; with rnbd_ring_attr.keep the first ones stay allocated while there
 *	is no queue pair
 * @send: send slots; the first ones stay allocated like those of @recv. The free slots are
 *	first in the list, followed by the slots in use in the order of their frames
 * @nr_send: length of @send; the last free slot is for a credit frame only
 * @send_free: number of free send slots
 * @in: receive slots of this end
 * @out: receive slots of the peer, and credits
 * @slots_request: SLOTS that waits to be sent; valid if @slots_request_pending
 * @slots_request_pending: @slots_request could not be sent yet, because a credit or a send slot
 *	is missing or a frame is open
 * @period_from: jiffies at the start of the current observation period of @out
 * @send_seq: number of the next frame to send
 * @recv_seq: number that the next received frame must have
 * @last_sent: jiffies when the latest frame was sent
 * @last_heard: jiffies when the latest frame of the peer arrived; accessed without the lock
 * @expects: frames of the peer are expected, see rnbd_ring_keepalive()
 * @expects_from: jiffies when @expects became true
 * @done_seq: number of the oldest sent frame whose slot is not free yet
 * @rate_limit: frames per second that the peer may send; 0 if only keep-alives and frames with
 *	SLOTS are limited, to RNBD_KEEPALIVE_FRAMES_MAX
 * @rate_from: jiffies at the start of the current second
 * @rate_frames: frames counted against a rate limit since @rate_from
 * @unacked: signalled frames with entries whose SEND has not completed
 * @open: slot of the frame being gathered, or NULL
 * @open_type: type of the open frame
 * @open_entries: number of entries in the open frame
 * @open_bytes: bytes of the open frame, with its header, without inline data
 * @open_data: bytes of inline data in the open frame
 * @stats: counters
 */
struct rnbd_ring {
	struct rdma_cm_id *cm_id;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_qp *qp;
	struct ib_cq *cq;
	u32 nr_cqe;
	struct rnbd_quirks quirks;
	spinlock_t poll_lock;	/* serialises pollers */
	struct work_struct drain_work;
	bool draining;
	struct rnbd_ring_attr attr;
	void (*recv_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*send_done)(struct ib_cq *cq, struct ib_wc *wc);
	struct work_struct slots_work;

	spinlock_t lock;	/* send path, credits, owner's state */
	bool live;
	unsigned long failed;
	struct list_head recv;
	struct list_head send;
	u16 nr_send;
	u16 send_free;
	struct rnbd_flow_in in;
	struct rnbd_flow_out out;
	struct rnbd_slots_info slots_request;
	bool slots_request_pending;
	unsigned long period_from;
	u32 send_seq;
	u32 recv_seq;
	unsigned long last_sent;
	unsigned long last_heard;
	bool expects;
	unsigned long expects_from;
	u32 done_seq;
	u32 rate_limit;
	unsigned long rate_from;
	u32 rate_frames;
	u32 unacked;
	struct rnbd_slot *open;
	u8 open_type;
	u16 open_entries;
	u32 open_bytes;
	u32 open_data;
	struct rnbd_ring_stats stats;
};

extern struct workqueue_struct *rnbd_ring_wq;

void rnbd_ring_proto_err(struct rnbd_ring *ring, enum rnbd_proto_err perr);
void rnbd_ring_init(struct rnbd_ring *ring);
void rnbd_ring_set_rate_limit(struct rnbd_ring *ring, u32 frames);
bool rnbd_ring_over_rate(struct rnbd_ring *ring, u32 frames);
void rnbd_ring_fail(struct rnbd_ring *ring, const char *reason);

/**
 * rnbd_ring_set_note - attach a number to the open frame
 * @ring: ring with an open frame
 * @note: number that rnbd_ring_ops.sent passes back, if the frame is signalled
 *
 * Context: ring->lock held.
 */
static inline void rnbd_ring_set_note(struct rnbd_ring *ring, u32 note)
{
	ring->open->note = note;
}

/**
 * rnbd_ring_kick - queue the work item that resizes the ring
 * @ring: ring
 *
 * Context: ring->lock held.
 */
static inline void rnbd_ring_kick(struct rnbd_ring *ring)
{
	/* Do not queue slots_work after the ring has failed: the drain possibly cancelled it. */
	if (ring->live)
		queue_work(rnbd_ring_wq, &ring->slots_work);
}

/**
 * rnbd_ring_post_recv - post a receive slot
 * @ring: ring with a queue pair
 * @slot: receive slot whose contents are no longer needed
 *
 * A caller on a connected ring must test ring->live under the lock: a work request that follows
 * those of a drain could complete after the ring is freed.
 *
 * Context: ring->lock held.
 * Return: 0 or the error of the device.
 */
static inline int rnbd_ring_post_recv(struct rnbd_ring *ring, struct rnbd_slot *slot)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &slot->cqe,
		.sg_list = &slot->sge,
		.num_sge = 1,
	};

	lockdep_assert_held(&ring->lock);
	/* The CPU has read only the bytes of the latest frame, so its caches hold no others. */
	if (slot->used)
		ib_dma_sync_single_for_device(ring->dev, slot->sge.addr, slot->used,
					      DMA_FROM_DEVICE);
	return ib_post_recv(ring->qp, &wr, NULL);
}

#endif /* RNBD_CORE_RING_H */
