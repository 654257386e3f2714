// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deferred WRITEs: their data have arrived at the responder but are not in memory.
 *
 * Operation: the acknowledgment of an RDMA WRITE only says that the responder has received it.
 * The data must be in memory before the next message of the queue pair is delivered, before an
 * RDMA READ of the queue pair is executed, and before the region is invalidated or destroyed.
 * A nasty responder keeps the data outside of memory until one of these events, or until the data
 * exceed MDL_PLACE_LIMIT. The responder then places the data in pieces and in any order; only
 * overlapping WRITEs keep their order.
 * When the connection ends, a random choice decides for each remaining WRITE whether it is placed
 * or dropped.
 *
 * Ownership: the responder's queue pair owns the deferred WRITEs and copies of their data.
 *
 * Concurrency: place_lock is held while data are placed. After mdl_place_all() or
 * mdl_place_end() has returned, no data of a WRITE that was deferred before the call are placed.
 *
 * Errors: a WRITE to memory that is no longer registered is dropped. A WRITE to memory that is
 * registered but no longer mapped for DMA is reported as a violation.
 */
#include <linux/slab.h>

#include "model.h"

/* Longest WRITE that is deferred, and limit for all deferred WRITEs of a queue pair, bytes. */
#define MDL_PLACE_MAX		SZ_64K
#define MDL_PLACE_LIMIT		SZ_256K
/* Number of pieces in which a WRITE is placed; a power of 2. */
#define MDL_PLACE_PIECES	8

struct mdl_place {
	struct list_head entry;
	u64 wr_id;
	u64 addr;
	u32 key;
	u32 len;
	u8 data[] __counted_by(len);
};

static struct mdl_dev *mdl_place_dev(const struct mdl_qp *qp)
{
	return mdl_dev_of(qp->ib.device);
}

/**
 * mdl_place_alloc - decide whether to defer a WRITE, and allocate the deferred WRITE
 * @qp: responder
 * @wqe: work request of the peer
 *
 * Context: the peer's engine.
 * Return: deferred WRITE without its data, or NULL if the WRITE must be executed at once.
 */
struct mdl_place *mdl_place_alloc(struct mdl_qp *qp, const struct mdl_swqe *wqe)
{
	struct mdl_place *place;

	if (wqe->opcode != IB_WR_RDMA_WRITE || !wqe->length || wqe->length > MDL_PLACE_MAX ||
	    !mdl_nasty(mdl_place_dev(qp), MDL_NASTY_DEFER))
		return NULL;
	place = kmalloc(struct_size(place, data, wqe->length), GFP_ATOMIC | __GFP_NOWARN);
	if (!place)
		return NULL;
	place->wr_id = wqe->wr_id;
	place->addr = wqe->remote_addr;
	place->key = wqe->rkey;
	place->len = wqe->length;
	return place;
}

/**
 * mdl_place_data - return the memory for the data of a deferred WRITE
 * @place: deferred WRITE
 *
 * Context: any.
 * Return: memory of the length of the WRITE.
 */
void *mdl_place_data(struct mdl_place *place)
{
	return place->data;
}

/**
 * mdl_place_free - free a deferred WRITE that was not added
 * @place: deferred WRITE
 *
 * Context: any.
 */
void mdl_place_free(struct mdl_place *place)
{
	kfree(place);
}

static void mdl_place_remove(struct mdl_qp *qp, struct mdl_place *place)
{
	lockdep_assert_held(&qp->place_lock);
	list_del(&place->entry);
	qp->place_bytes -= place->len;
	atomic_dec(&mdl_place_dev(qp)->writes);
	kfree(place);
}

/* Place all pieces of a WRITE, from a random first piece on, in steps of a random odd number. */
static void mdl_place_write(struct mdl_qp *qp, struct mdl_place *place)
{
	struct ib_sge sge = { place->addr, place->len, place->key };
	u32 piece = DIV_ROUND_UP(place->len, MDL_PLACE_PIECES), from, len, i;
	struct mdl_dev *dev = mdl_place_dev(qp);
	u32 first = mdl_random(dev, MDL_PLACE_PIECES);
	/* An odd step reaches all pieces, because their number is a power of 2. */
	u32 step = 1 + 2 * mdl_random(dev, MDL_PLACE_PIECES / 2);

	lockdep_assert_held(&qp->place_lock);
	/* Drop the WRITE if the region was invalidated or destroyed since the WRITE arrived. */
	if (mdl_mr_check(dev, qp->ib.pd, place->key, place->addr, place->len,
			 IB_ACCESS_REMOTE_WRITE))
		return;
	for (i = 0; i < MDL_PLACE_PIECES; i++) {
		struct mdl_mem to = {
			.dev = dev,
			.qp = qp,
			.by = qp,
			.wr_id = place->wr_id,
			.sge = &sge,
			.num_sge = 1,
			.access = IB_ACCESS_REMOTE_WRITE,
		};

		from = (first + i * step) % MDL_PLACE_PIECES * piece;
		if (from >= place->len)
			continue;
		len = min(piece, place->len - from);
		mdl_mem_skip(&to, from);
		if (mdl_mem_move(&to, place->data + from, len))
			return;
	}
}

static struct mdl_place *mdl_place_pick(struct mdl_qp *qp)
{
	struct mdl_place *place = list_first_entry(&qp->places, struct mdl_place, entry);
	u32 skip = mdl_random(mdl_place_dev(qp), MDL_PLACE_PIECES);

	while (skip-- && !list_is_last(&place->entry, &qp->places))
		place = list_next_entry(place, entry);
	return place;
}

static void mdl_place_flush(struct mdl_qp *qp)
{
	struct mdl_place *place;

	lockdep_assert_held(&qp->place_lock);
	while (!list_empty(&qp->places)) {
		place = mdl_place_pick(qp);
		mdl_place_write(qp, place);
		mdl_place_remove(qp, place);
	}
}

/**
 * mdl_place_before - place the deferred WRITEs that overlap a new WRITE
 * @qp: responder
 * @wqe: work request of the peer, not yet executed or deferred
 *
 * Context: the peer's engine.
 */
void mdl_place_before(struct mdl_qp *qp, const struct mdl_swqe *wqe)
{
	struct mdl_place *place, *next;
	unsigned long flags;

	if (list_empty_careful(&qp->places))
		return;
	spin_lock_irqsave(&qp->place_lock, flags);
	list_for_each_entry_safe(place, next, &qp->places, entry) {
		if (place->addr >= wqe->remote_addr + wqe->length ||
		    wqe->remote_addr >= place->addr + place->len)
			continue;
		mdl_place_write(qp, place);
		mdl_place_remove(qp, place);
	}
	spin_unlock_irqrestore(&qp->place_lock, flags);
}

/**
 * mdl_place_add - defer a WRITE
 * @qp: responder; mdl_qp_serve() was called
 * @place: deferred WRITE with its data
 *
 * Context: the peer's engine.
 */
void mdl_place_add(struct mdl_qp *qp, struct mdl_place *place)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->place_lock, flags);
	if (qp->place_bytes + place->len > MDL_PLACE_LIMIT)
		mdl_place_flush(qp);
	list_add_tail(&place->entry, &qp->places);
	qp->place_bytes += place->len;
	atomic_inc(&mdl_place_dev(qp)->writes);
	spin_unlock_irqrestore(&qp->place_lock, flags);
	mdl_nasty_count(mdl_place_dev(qp), MDL_NASTY_DEFER);
}

/**
 * mdl_place_all - place all deferred WRITEs of a queue pair
 * @qp: responder
 *
 * Context: any.
 */
void mdl_place_all(struct mdl_qp *qp)
{
	unsigned long flags;

	if (list_empty_careful(&qp->places))
		return;
	spin_lock_irqsave(&qp->place_lock, flags);
	mdl_place_flush(qp);
	spin_unlock_irqrestore(&qp->place_lock, flags);
}

/**
 * mdl_place_end - place or drop the deferred WRITEs of a connection that ended
 * @qp: responder, which serves no request
 *
 * Context: any.
 */
void mdl_place_end(struct mdl_qp *qp)
{
	struct mdl_dev *dev = mdl_place_dev(qp);
	struct mdl_place *place;
	unsigned long flags;

	spin_lock_irqsave(&qp->place_lock, flags);
	while (!list_empty(&qp->places)) {
		place = mdl_place_pick(qp);
		if (mdl_random(dev, 2))
			mdl_place_write(qp, place);
		else
			mdl_count(dev, MDL_STAT_DROPPED);
		mdl_place_remove(qp, place);
	}
	spin_unlock_irqrestore(&qp->place_lock, flags);
}

/**
 * mdl_place_key - place all deferred WRITEs to a region that is to be invalidated or destroyed
 * @dev: device
 * @key: key of the region
 *
 * Context: any.
 */
void mdl_place_key(struct mdl_dev *dev, u32 key)
{
	struct mdl_place *place, *next;
	unsigned long flags, index;
	struct mdl_qp *qp;

	if (!atomic_read(&dev->writes))
		return;
	rcu_read_lock();
	xa_for_each(&dev->qps, index, qp) {
		if (!refcount_inc_not_zero(&qp->refs))
			continue;
		spin_lock_irqsave(&qp->place_lock, flags);
		list_for_each_entry_safe(place, next, &qp->places, entry) {
			if (place->key != key)
				continue;
			mdl_place_write(qp, place);
			mdl_place_remove(qp, place);
		}
		spin_unlock_irqrestore(&qp->place_lock, flags);
		mdl_qp_put(qp);
	}
	rcu_read_unlock();
}
