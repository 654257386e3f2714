// SPDX-License-Identifier: GPL-2.0-only
/*
 * Setup and teardown of the control ring: queue pair, completion queue and slots.
 *
 * Operation: rnbd_ring_create() allocates and maps the first slots and posts the receive
 * slots, so the peer may send as soon as the connection is established. The queue pair and
 * the completion queue are large enough for the maximum number of slots. rnbd_ring_drain()
 * waits until the device no longer uses any slot; rnbd_ring_destroy() unmaps all slots and
 * frees them, except those that the owner keeps (ring_slots.c). The next rnbd_ring_create()
 * maps the kept slots again, and rnbd_ring_free() frees them. Each polled ring has a work
 * item that drains it, so that several rings drain concurrently.
 *
 * Ownership: see ring.c.
 *
 * Concurrency: process context. No completion is handled after rnbd_ring_drain().
 *
 * Errors: a failed rnbd_ring_create() leaves nothing behind, except kept slots.
 */

#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "flow.h"
#include "ring.h"
#include "ring_complete.h"
#include "ring_resize.h"
#include "ring_setup.h"
#include "ring_slots.h"

static void rnbd_ring_qp_event(struct ib_event *event, void *context)
{
	struct rnbd_ring *ring = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* A frame arrived before the RTU: report the connection as established. */
		rdma_notify(ring->cm_id, event->event);
		break;
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	case IB_EVENT_QP_ACCESS_ERR:
		rnbd_ring_proto_err(ring, RNBD_PERR_ACCESS);
		break;
	default:
		rnbd_ring_fail(ring, ib_event_msg(event->event));
		break;
	}
}

/* Allocate a separate CQ for a polled ring: the CQ pool of the device has no polled CQs. */
static int rnbd_ring_get_cq(struct rnbd_ring *ring)
{
	const struct rnbd_ring_attr *attr = &ring->attr;

	if (attr->poll == IB_POLL_DIRECT)
		ring->cq = ib_alloc_cq(ring->dev, ring, ring->nr_cqe,
				       attr->vector % ring->dev->num_comp_vectors,
				       IB_POLL_DIRECT);
	else
		ring->cq = ib_cq_pool_get(ring->dev, ring->nr_cqe, attr->vector,
					  attr->poll);
	if (IS_ERR(ring->cq)) {
		int ret = PTR_ERR(ring->cq);

		ring->cq = NULL;
		return ret;
	}
	return 0;
}

static void rnbd_ring_put_cq(struct rnbd_ring *ring)
{
	if (ring->attr.poll == IB_POLL_DIRECT)
		ib_free_cq(ring->cq);
	else
		ib_cq_pool_put(ring->cq, ring->nr_cqe);
	ring->cq = NULL;
}

/* Reset the ring to its state before the first connection; the statistics are kept. */
static void rnbd_ring_reset(struct rnbd_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring->live = false;
	ring->failed = 0;
	ring->nr_send = RNBD_RING_SLOTS_MIN + 1;
	ring->send_free = ring->nr_send;
	rnbd_flow_in_init(&ring->in, RNBD_RING_SLOTS_MIN, ring->attr.slots);
	rnbd_flow_out_init(&ring->out, 0, ring->attr.slots);
	ring->slots_request_pending = false;
	ring->period_from = jiffies;
	ring->send_seq = 0;
	ring->recv_seq = 0;
	ring->done_seq = 0;
	ring->expects = false;
	ring->rate_limit = 0;
	ring->rate_from = jiffies;
	ring->rate_frames = 0;
	ring->unacked = 0;
	ring->open = NULL;
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbd_ring_setup_init - create the work queue that all rings share
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbd_ring_setup_init(void)
{
	/* WQ_MEM_RECLAIM: writeback can wait for the teardown of a connection. */
	rnbd_ring_wq = alloc_workqueue("rnbd-ring", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rnbd_ring_wq ? 0 : -ENOMEM;
}

/**
 * rnbd_ring_setup_exit - destroy the work queue
 *
 * Context: process context, may sleep; no ring exists.
 */
void rnbd_ring_setup_exit(void)
{
	destroy_workqueue(rnbd_ring_wq);
}

static void rnbd_ring_drain_work(struct work_struct *work)
{
	struct rnbd_ring *ring = container_of(work, struct rnbd_ring, drain_work);

	ib_drain_qp(ring->qp);
}

/**
 * rnbd_ring_create - create a queue pair with its receive and send slots
 * @ring: initialised ring without a queue pair. Kept slots are used again; therefore the
 *	slot size must not change
 * @cm_id: connection id that is not connected or accepted yet
 * @pd: protection domain of the session
 * @attr: geometry; copied
 *
 * The first receive slots are posted on return, so the peer may send as soon as the
 * connection is established. On error nothing is left behind, except kept slots.
 *
 * Context: process context, may sleep.
 * Return: 0, -EINVAL if the device cannot hold that many work requests, -ENOMEM, or another
 * error of the device.
 */
int rnbd_ring_create(struct rnbd_ring *ring, struct rdma_cm_id *cm_id,
		     struct ib_pd *pd, const struct rnbd_ring_attr *attr)
{
	struct ib_qp_init_attr qp_attr = {
		.event_handler = rnbd_ring_qp_event,
		.qp_context = ring,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = cm_id->port_num,
	};
	struct rnbd_slot *slot;
	unsigned long flags;
	int ret;

	ring->cm_id = cm_id;
	ring->dev = cm_id->device;
	ring->pd = pd;
	ring->attr = *attr;
	ring->recv_done = rnbd_ring_recv_done;
	ring->send_done = rnbd_ring_send_done;
	INIT_WORK(&ring->drain_work, rnbd_ring_drain_work);
	INIT_WORK(&ring->slots_work, rnbd_ring_slots_work);
	ring->draining = false;
	rnbd_quirks_init(&ring->quirks, ring->dev);
	rnbd_ring_reset(ring);

	/* A credit frame needs a SEND besides the slots, and ib_drain_qp() one entry per queue. */
	qp_attr.cap.max_send_wr = attr->slots + 1 + attr->data_wrs + 1;
	qp_attr.cap.max_recv_wr = attr->slots + 1;
	/* A frame needs at most two gather entries: one for its entries, one for inline data. */
	qp_attr.cap.max_send_sge = clamp(attr->max_send_sge, 2U,
					 (u32)ring->dev->attrs.max_send_sge);
	qp_attr.cap.max_recv_sge = 1;
	ring->nr_cqe = qp_attr.cap.max_send_wr + qp_attr.cap.max_recv_wr;
	if (qp_attr.cap.max_send_wr > ring->dev->attrs.max_qp_wr ||
	    qp_attr.cap.max_recv_wr > ring->dev->attrs.max_qp_wr)
		return -EINVAL;

	ret = rnbd_ring_get_cq(ring);
	if (ret)
		return ret;
	qp_attr.send_cq = ring->cq;
	qp_attr.recv_cq = ring->cq;

	ret = rdma_create_qp(cm_id, pd, &qp_attr);
	if (ret)
		goto put_cq;
	ring->qp = cm_id->qp;

	ret = rnbd_ring_take_slots(ring, &ring->recv, ring->in.slots, DMA_FROM_DEVICE);
	if (ret)
		goto destroy_qp;
	ret = rnbd_ring_take_slots(ring, &ring->send, ring->nr_send, DMA_TO_DEVICE);
	if (ret)
		goto give_recv;

	list_for_each_entry(slot, &ring->recv, entry) {
		spin_lock_irqsave(&ring->lock, flags);
		ret = rnbd_ring_post_recv(ring, slot);
		spin_unlock_irqrestore(&ring->lock, flags);
		if (ret)
			goto drain;
	}
	return 0;

drain:
	/* Mark the ring as failed, so that flushed receive slots do not call ops->failed(). */
	set_bit(0, &ring->failed);
	ib_drain_qp(ring->qp);
	rnbd_ring_give_slots(ring, &ring->send, DMA_TO_DEVICE);
give_recv:
	rnbd_ring_give_slots(ring, &ring->recv, DMA_FROM_DEVICE);
destroy_qp:
	rdma_destroy_qp(cm_id);
	ring->qp = NULL;
put_cq:
	rnbd_ring_put_cq(ring);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_ring_create);

/**
 * rnbd_ring_start - allow the ring to send and receive frames
 * @ring: a ring that was created
 * @peer_slots: receive slots that the peer has posted, or 0 if the number is not known yet
 *
 * The target calls this before it accepts the connection. The client calls it twice: with 0
 * before it connects, because a frame of the target can arrive before the event that
 * reports the acceptance, and with the announced number after that event. Between the two
 * calls the ring receives, but has no credit to send.
 *
 * Context: any.
 * Return: 0, or -ENOTCONN if the ring has failed already.
 */
int rnbd_ring_start(struct rnbd_ring *ring, u16 peer_slots)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&ring->lock, flags);
	rnbd_flow_out_init(&ring->out, peer_slots, ring->attr.slots);
	ring->last_sent = jiffies;
	ring->last_heard = jiffies;
	/* A ring that is being drained must not be live even for a moment. */
	if (!test_bit(0, &ring->failed)) {
		WRITE_ONCE(ring->live, true);
		/* pairs with test_and_set_bit() in rnbd_ring_fail() */
		smp_mb();
	}
	if (test_bit(0, &ring->failed)) {
		WRITE_ONCE(ring->live, false);
		ret = -ENOTCONN;
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_ring_start);

/**
 * rnbd_ring_query_remote_access - read back the remote access that the device allows
 * @ring: a connected ring
 * @flags: result: those of the flags IB_ACCESS_REMOTE_* that are set
 *
 * Context: process context, may sleep.
 * Return: 0 or the errno of the driver.
 */
int rnbd_ring_query_remote_access(const struct rnbd_ring *ring, u32 *flags)
{
	struct ib_qp_init_attr init_attr = { };
	struct ib_qp_attr attr = { };
	int ret;

	ret = ib_query_qp(ring->qp, &attr, IB_QP_ACCESS_FLAGS, &init_attr);
	if (!ret)
		*flags = attr.qp_access_flags & (IB_ACCESS_REMOTE_READ |
						 IB_ACCESS_REMOTE_WRITE |
						 IB_ACCESS_REMOTE_ATOMIC);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_ring_query_remote_access);

/**
 * rnbd_ring_disable_remote_access - disable all remote access of the peer
 * @ring: a connected ring
 * @left: result: remote access flags that the device still reports
 *
 * The connection manager enables remote access on every queue pair that it connects. A
 * client offers no memory, so it disables remote access on all its queue pairs. The target
 * disables remote access on a further queue until the queue has joined its session. The
 * drivers irdma and bnxt_re report success but leave access enabled, so the flags are read
 * back. If a driver cannot report the flags, its success is trusted and @left is 0.
 *
 * Context: process context, may sleep.
 * Return: 0 or the errno with which the driver refuses to change the flags.
 */
int rnbd_ring_disable_remote_access(struct rnbd_ring *ring, u32 *left)
{
	struct ib_qp_attr attr = { .qp_access_flags = 0 };
	int ret;

	*left = 0;
	ret = ib_modify_qp(ring->qp, &attr, IB_QP_ACCESS_FLAGS);
	if (!ret)
		rnbd_ring_query_remote_access(ring, left);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_ring_disable_remote_access);

/**
 * rnbd_ring_enable_remote_access - allow RDMA READ and RDMA WRITE of the peer
 * @ring: a connected ring whose remote access was disabled
 *
 * Context: process context, may sleep.
 * Return: 0 or the errno with which the driver refuses to change the flags.
 */
int rnbd_ring_enable_remote_access(struct rnbd_ring *ring)
{
	struct ib_qp_attr attr = {
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};

	return ib_modify_qp(ring->qp, &attr, IB_QP_ACCESS_FLAGS);
}
EXPORT_SYMBOL_GPL(rnbd_ring_enable_remote_access);

/**
 * rnbd_ring_drain_start - begin to drain a ring
 * @ring: ring; a ring that was never created is fine
 *
 * ib_drain_qp() polls a polled CQ only ten times per second. An owner of several rings
 * therefore begins to drain all of them before it waits for the first.
 *
 * Context: process context, may sleep; not a completion handler. The caller must call
 * rnbd_ring_drain() before it destroys the ring.
 */
void rnbd_ring_drain_start(struct rnbd_ring *ring)
{
	unsigned long flags;

	if (!ring->qp)
		return;
	rnbd_ring_fail(ring, "connection closed by this end");
	/*
	 * Functions that post to the queue pair test ring->live under the lock, so none of them
	 * posts after this unlock. A later rnbd_ring_start() finds ring->failed set and does not
	 * set live again.
	 */
	spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(ring->live, false);
	spin_unlock_irqrestore(&ring->lock, flags);
	/* Wait for the last rnbd_ring_poll(): from here on only the drain polls the CQ. */
	spin_lock(&ring->poll_lock);
	spin_unlock(&ring->poll_lock);
	ring->draining = true;
	if (ring->attr.poll == IB_POLL_DIRECT)
		queue_work(rnbd_ring_wq, &ring->drain_work);
}
EXPORT_SYMBOL_GPL(rnbd_ring_drain_start);

/**
 * rnbd_ring_drain - wait until the device no longer uses the ring
 * @ring: ring; a ring that was never created is fine
 *
 * Moves the queue pair to the error state. On return no callback of the ring runs or will
 * run, and the device uses no memory of the ring and none of the owner's work requests.
 *
 * Context: process context, may sleep; not a completion handler.
 */
void rnbd_ring_drain(struct rnbd_ring *ring)
{
	if (!ring->qp)
		return;
	if (!ring->draining)
		rnbd_ring_drain_start(ring);
	ring->draining = false;
	if (ring->attr.poll == IB_POLL_DIRECT)
		flush_work(&ring->drain_work);
	else
		ib_drain_qp(ring->qp);
	/* On a ring that is not live, slots_work posts nothing, and no function queues it. */
	cancel_work_sync(&ring->slots_work);
}
EXPORT_SYMBOL_GPL(rnbd_ring_drain);

/**
 * rnbd_ring_destroy - destroy the queue pair, and free the slots that are not kept
 * @ring: drained ring; a ring that was never created is fine
 *
 * Context: process context, may sleep.
 */
void rnbd_ring_destroy(struct rnbd_ring *ring)
{
	if (!ring->qp)
		return;
	rnbd_quirks_reset_qp(&ring->quirks, ring->qp);
	rdma_destroy_qp(ring->cm_id);
	ring->qp = NULL;
	rnbd_ring_put_cq(ring);
	rnbd_ring_give_slots(ring, &ring->send, DMA_TO_DEVICE);
	rnbd_ring_give_slots(ring, &ring->recv, DMA_FROM_DEVICE);
}
EXPORT_SYMBOL_GPL(rnbd_ring_destroy);

/**
 * rnbd_ring_free - free the kept slots of a ring
 * @ring: ring without a queue pair; a ring that was never created is fine
 *
 * Context: process context, may sleep.
 */
void rnbd_ring_free(struct rnbd_ring *ring)
{
	rnbd_ring_free_slots(ring, &ring->send, DMA_TO_DEVICE);
	rnbd_ring_free_slots(ring, &ring->recv, DMA_FROM_DEVICE);
}
EXPORT_SYMBOL_GPL(rnbd_ring_free);
