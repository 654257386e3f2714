/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control ring: one RC queue pair, its slots and its credits. See ring.c.
 */
#ifndef RNBD_CORE_RING_H
#define RNBD_CORE_RING_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "flow.h"
#include "frame.h"
#include "quirks.h"

struct rnbd_ring;

/*
 * Entries and inline data are gathered apart: data begin here in a send slot, and
 * the device puts the two together. Room for 31 requests, or 63 replies.
 */
#define RNBD_RING_DATA_OFFSET	1024u

/**
 * struct rnbd_ring_ops - what a ring asks of its owner
 *
 * All are called from the completion handler of the ring's CQ: from softirq
 * or a work item, as struct rnbd_ring_attr.poll says, or rnbd_ring_poll(). Never
 * concurrently with each other for one ring.
 *
 * @frame: A checked frame of another type than CREDIT. Its entries lie in the
 *	receive slot, valid until the return. A fault returned fails the ring.
 *	Called without ring->lock.
 * @sent: Frames up to and including number @seq, and every work request that
 *	was posted before them, have completed. @note is what rnbd_ring_set_note() was
 *	called with for frame @seq, or 0. Called without ring->lock.
 * @credit: Credits came with a frame that @frame was not called for. Called
 *	without ring->lock.
 * @proto_err: The peer has broken a rule; @failed follows. May be NULL. Called
 *	with or without ring->lock, from any context. Must not sleep.
 * @failed: The ring is of no more use. Called once per ring, from any
 *	context; @reason is a constant text. Must not sleep.
 * @charge: The ring is to have @slots slots in both directions together; false forbids
 *	more than before. May be NULL. Called from a work item without ring->lock; may sleep.
 * @grow_depth: The peer wants to have @depth requests in flight. The return value is how
 *	many it may. May be NULL. Called as @charge.
 * @trim_depth: Use only @depth requests from now on. The return value is the number that
 *	the owner needs, @depth or more. May be NULL. Called under ring->lock.
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
 * @ops: calls to the owner
 * @slots: most receive slots of each end
 * @slot_size: bytes of a slot
 * @attempt: number of the attempt to connect, in every frame of both ends
 * @data_wrs: send-queue entries for the owner's own work requests
 * @max_send_sge: gather entries of the owner's work requests, at least 1
 * @vector: hint for the completion vector
 * @poll: context of completions; with IB_POLL_DIRECT there are none but in
 *	rnbd_ring_poll(), which somebody has to call
 * @answer: answer keep-alives of the peer; true at one end only
 * @keep: keep the memory of the slots from one connection to the next
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
 * struct rnbd_slot - one frame's worth of memory
 * @cqe: its completion
 * @ring: owner
 * @entry: entry of rnbd_ring.recv or rnbd_ring.send
 * @buf: the memory, slot_size bytes
 * @sge: @buf as the device sees it
 * @mapped: @buf is mapped for the device
 * @seq: send slots: number of the frame in it
 * @note: send slots: number that the owner wants back when the frame was sent
 * @used: bytes of the latest frame in it, from the beginning of @buf; no others are
 *	synchronised with the device
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
 * struct rnbd_ring_stats - counters of a ring, under its lock
 * @frames_sent: frames with entries
 * @frames_received: frames with entries
 * @entries_sent: entries of @frames_sent
 * @credit_frames_sent: frames that only return credits, or are about slots
 * @credit_frames_received: the same, received
 * @unsignaled: those of @frames_sent whose completion nobody waited for
 * @late_frames: frames that came before the connection broke but were looked at
 *	after that, and so dropped
 * @grown: times that the receive slots of either end became more
 * @shrunk: times that they became fewer
 * @polled: completions that were found by polling; under poll_lock
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
 * struct rnbd_ring - one queue pair with its two rings of slots
 * @cm_id: connection, owned by the owner of the ring
 * @dev: its device
 * @pd: protection domain, owned by the session
 * @qp: queue pair, NULL when not set up
 * @cq: completion queue, from the device's pool unless it is polled
 * @quirks: those of the device
 * @nr_cqe: what was taken from @cq
 * @poll_lock: whoever polls @cq; never waited for but to see the last one leave
 * @drain_work: drains a polled ring; on a work queue of ring_setup.c
 * @draining: rnbd_ring_drain_start() was called; the owner's
 * @attr: geometry
 * @recv_done: completion handler of receive slots
 * @send_done: completion handler of send slots
 * @slots_work: allocates slots that the peer or this end needs, see ring_resize.c
 * @lock: everything below; the owner's per-queue state may share it. Taken
 *	with interrupts disabled. Good from rnbd_ring_init() on.
 * @live: frames may be sent; cleared by the first failure
 * @failed: rnbd_ring_ops.failed was called (atomic bit 0)
 * @recv: receive slots; with rnbd_ring_attr.keep some stay without a queue pair
 * @send: send slots likewise: those not in use, then the others in the order of their
 *	frames
 * @nr_send: length of @send; one more than frames can be outstanding (credit frame)
 * @send_free: send slots not in use
 * @in: receive slots
 * @out: receive slots of the peer, and credits
 * @wish: what is to be asked of the peer, if @wished
 * @wished: @wish was prepared, but not sent for lack of a credit
 * @period_from: jiffies at the begin of the current period of @out
 * @send_seq: number of the next frame
 * @recv_seq: number of the frame that must come next
 * @last_sent: jiffies of the latest frame
 * @last_heard: jiffies of the latest frame of the peer, read without the lock
 * @expects: frames of the peer are expected, see rnbd_ring_keepalive()
 * @expects_from: jiffies since when they are
 * @done_seq: number of the first frame whose slot is not free yet
 * @rate_limit: frames per second that the peer may send, 0: as many as it has credits for
 * @rate_from: jiffies at the begin of the current second
 * @rate_frames: frames since then that are counted
 * @unacked: signalled frames with entries that the wire has not acknowledged
 * @open: slot of the frame being gathered, or NULL
 * @open_type: its type
 * @open_entries: entries in it
 * @open_bytes: bytes in it, header included and inline data not
 * @open_data: bytes of inline data in it
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
	spinlock_t poll_lock;	/* polling */
	struct work_struct drain_work;
	bool draining;
	struct rnbd_ring_attr attr;
	void (*recv_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*send_done)(struct ib_cq *cq, struct ib_wc *wc);
	struct work_struct slots_work;

	spinlock_t lock;	/* sending side, credits, owner's state */
	bool live;
	unsigned long failed;
	struct list_head recv;
	struct list_head send;
	u16 nr_send;
	u16 send_free;
	struct rnbd_flow_in in;
	struct rnbd_flow_out out;
	struct rnbd_slots_info wish;
	bool wished;
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
 * rnbd_ring_set_note - keep a number with the open frame
 * @ring: ring with an open frame
 * @note: what rnbd_ring_ops.sent gets when the frame, if it is signalled, was sent
 *
 * Context: ring->lock held.
 */
static inline void rnbd_ring_set_note(struct rnbd_ring *ring, u32 note)
{
	ring->open->note = note;
}

/**
 * rnbd_ring_kick - let the resize work run
 * @ring: ring
 *
 * Context: ring->lock held.
 */
static inline void rnbd_ring_kick(struct rnbd_ring *ring)
{
	/* The drain of a ring that is not live cancels the work. */
	if (ring->live)
		queue_work(rnbd_ring_wq, &ring->slots_work);
}

/**
 * rnbd_ring_post_recv - give a receive slot to the device
 * @ring: ring with a queue pair
 * @slot: receive slot that nothing reads any longer
 *
 * Context: any.
 * Return: 0 or what the device says.
 */
static inline int rnbd_ring_post_recv(struct rnbd_ring *ring, struct rnbd_slot *slot)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &slot->cqe,
		.sg_list = &slot->sge,
		.num_sge = 1,
	};

	/* What the processor has not read it cannot have in a cache. */
	if (slot->used)
		ib_dma_sync_single_for_device(ring->dev, slot->sge.addr, slot->used,
					      DMA_FROM_DEVICE);
	return ib_post_recv(ring->qp, &wr, NULL);
}

#endif /* RNBD_CORE_RING_H */
