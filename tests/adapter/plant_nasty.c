// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test cases that look for the nasty behaviour of the modelled adapter.
 *
 * Operation: a case is a round that is repeated until it has seen the behaviour, at most
 * MDL_ROUNDS times. With "seen=Y" the module loads if a round saw the behaviour, with "seen=N"
 * if no round did. Each round also checks guarantees that hold with and without the behaviour,
 * for instance that data are in memory before the completion that announces them.
 *
 * Ownership: see plant.c.
 *
 * Concurrency: init only; the model delivers events on its workqueue.
 *
 * Errors: -EIO and a log line if the model breaks a guarantee or does not show the behaviour.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/string.h>

#include "plant.h"

#define MDL_ROUNDS	100
#define MDL_HALF	(PAGE_SIZE / 2)
/* Value of each byte of a page before and after the change of the page. */
#define MDL_OLD		0x11
#define MDL_NEW		0x22

static bool seen = true;
module_param(seen, bool, 0444);
MODULE_PARM_DESC(seen, "Y: the nasty behaviour must be seen, N: it must not be seen (default: Y)");

static int mdl_broken(const char *rule)
{
	pr_err("rdma-model-plant: the model violates a guarantee: %s\n", rule);
	return -EIO;
}

static u8 *mdl_page(struct mdl_plant *end)
{
	return page_address(end->page);
}

static void mdl_fill(struct mdl_plant *end, u8 mark)
{
	memset(mdl_page(end), mark, PAGE_SIZE);
	ib_dma_sync_single_for_device(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
}

/* Return the page with the data that the device wrote. */
static u8 *mdl_look(struct mdl_plant *end)
{
	ib_dma_sync_single_for_cpu(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	return mdl_page(end);
}

static bool mdl_all(const u8 *data, u8 mark, u32 len)
{
	return !memchr_inv(data, mark, len);
}

/* Post an empty message on @qp, one of the two queue pairs of @end. */
static int mdl_message(struct mdl_plant *end, struct ib_qp *qp, int flags)
{
	struct ib_send_wr wr = {
		.wr_cqe = &end->cqe,
		.opcode = IB_WR_SEND,
		.send_flags = flags,
	};

	return ib_post_send(qp, &wr, NULL);
}

static int mdl_expect(struct mdl_plant *end, struct ib_qp *qp)
{
	struct ib_recv_wr wr = { .wr_cqe = &end->cqe };

	return ib_post_recv(qp, &wr, NULL);
}

/* Wait for completions and require success. */
static int mdl_finish(struct mdl_plant *end, u32 n)
{
	int ret = mdl_plant_wait(end, n);

	if (!ret && end->status)
		return mdl_broken("a request failed");
	return ret;
}

/*
 * Send a message behind an RDMA READ. When the message arrives, the peer changes the memory that
 * the READ names; only the send fence keeps the READ from returning the changed data.
 */
static int mdl_round_change(struct mdl_plant *end, struct mdl_plant *peer, int flags, bool *saw)
{
	struct ib_sge sge = { end->addr, PAGE_SIZE, end->pd->local_dma_lkey };
	struct ib_send_wr send = {
		.wr_cqe = &end->cqe,
		.opcode = IB_WR_SEND,
		.send_flags = flags,
	};
	struct ib_rdma_wr read = {
		.wr = {
			.next = &send,
			.wr_cqe = &end->cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_RDMA_READ,
		},
		.remote_addr = peer->mr->iova,
		.rkey = peer->mr->rkey,
	};
	u8 *data;
	int ret;

	mdl_fill(peer, MDL_OLD);
	mdl_fill(end, 0);
	ret = mdl_expect(peer, peer->qp) ?: ib_post_send(end->qp, &read.wr, NULL) ?:
	      mdl_finish(peer, 1);
	if (ret)
		return ret;
	mdl_fill(peer, MDL_NEW);
	ret = mdl_finish(end, 2);
	if (ret)
		return ret;
	data = mdl_look(end);
	if (memchr(data, 0, PAGE_SIZE))
		return mdl_broken("data of a READ are missing after its completion");
	*saw |= !!memchr(data, MDL_NEW, PAGE_SIZE);
	return 0;
}

static int mdl_round_unfenced(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	return mdl_round_change(end, peer, 0, saw);
}

static int mdl_round_fenced(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	return mdl_round_change(end, peer, IB_SEND_FENCE, saw);
}

/* Look for data of two READs that arrive out of order, within the first READ and between both. */
static int mdl_round_pieces(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	struct ib_sge sges[2] = {
		{ end->addr, MDL_HALF, end->pd->local_dma_lkey },
		{ end->addr + MDL_HALF, MDL_HALF, end->pd->local_dma_lkey },
	};
	struct ib_rdma_wr reads[2] = {};
	static bool inside, across;
	unsigned long until;
	u8 *data;
	int i, ret;

	mdl_fill(peer, MDL_OLD);
	mdl_fill(end, 0);
	for (i = 0; i < 2; i++) {
		reads[i].wr.wr_cqe = &end->cqe;
		reads[i].wr.sg_list = &sges[i];
		reads[i].wr.num_sge = 1;
		reads[i].wr.opcode = IB_WR_RDMA_READ;
		reads[i].remote_addr = peer->mr->iova + i * MDL_HALF;
		reads[i].rkey = peer->mr->rkey;
	}
	reads[0].wr.next = &reads[1].wr;
	ret = ib_post_send(end->qp, &reads[0].wr, NULL);
	if (ret)
		return ret;
	until = jiffies + 2 * HZ;
	while (end->done < 2 && time_before(jiffies, until)) {
		/*
		 * Read the later byte first: if it has arrived and the earlier byte has not,
		 * their order is reversed.
		 */
		data = mdl_look(end);
		if (READ_ONCE(data[MDL_HALF - 1])) {
			rmb(); /* order of the reads */
			inside |= !READ_ONCE(data[0]);
		}
		if (READ_ONCE(data[PAGE_SIZE - 1])) {
			rmb(); /* order of the reads */
			across |= !READ_ONCE(data[0]) || !READ_ONCE(data[MDL_HALF - 1]);
		}
		ib_process_cq_direct(end->cq, 1);
		if (end->done && !mdl_all(mdl_look(end), MDL_OLD, end->done * MDL_HALF))
			return mdl_broken("data of a READ are missing after its completion");
		cpu_relax();
	}
	*saw = inside && across;
	return mdl_finish(end, 2);
}

/*
 * The data of a completed WRITE need not be in memory until the next message or READ. The rounds
 * alternate between a message and a READ.
 */
static int mdl_round_defer(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	static bool by_read;
	int ret;

	mdl_fill(peer, MDL_OLD);
	mdl_fill(end, MDL_NEW);
	ret = mdl_plant_rdma(end, IB_WR_RDMA_WRITE, peer->mr->iova, peer->mr->rkey, PAGE_SIZE) ?:
	      mdl_finish(end, 1);
	if (ret)
		return ret;
	*saw |= !mdl_all(mdl_look(peer), MDL_NEW, PAGE_SIZE);
	by_read = !by_read;
	if (by_read) {
		mdl_fill(end, 0);
		ret = mdl_plant_rdma(end, IB_WR_RDMA_READ, peer->mr->iova, peer->mr->rkey,
				     PAGE_SIZE) ?: mdl_finish(end, 1);
		if (!ret && !mdl_all(mdl_look(end), MDL_NEW, PAGE_SIZE))
			return mdl_broken("a READ does not see the WRITE before it");
	} else {
		ret = mdl_expect(peer, peer->qp) ?: mdl_message(end, end->qp, 0) ?:
		      mdl_finish(peer, 1) ?: mdl_finish(end, 1);
		if (!ret && !mdl_all(mdl_look(peer), MDL_NEW, PAGE_SIZE))
			return mdl_broken("a message came before the data of a WRITE");
	}
	return ret;
}

/*
 * End the connection after a WRITE was deferred, and unmap the memory of the WRITE. This case has
 * only one round.
 */
static int mdl_round_drop(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret;

	mdl_fill(peer, MDL_OLD);
	mdl_fill(end, MDL_NEW);
	ret = mdl_plant_rdma(end, IB_WR_RDMA_WRITE, peer->mr->iova, peer->mr->rkey, PAGE_SIZE) ?:
	      mdl_finish(end, 1) ?: mdl_expect(peer, peer->qp);
	if (ret)
		return ret;
	*saw = mdl_all(mdl_look(peer), MDL_OLD, PAGE_SIZE);
	ret = ib_modify_qp(peer->qp, &attr, IB_QP_STATE) ?: mdl_plant_wait(peer, 1);
	if (ret)
		return ret;
	if (peer->status != IB_WC_WR_FLUSH_ERR)
		return mdl_broken("a receive work request was not flushed");
	ib_dma_unmap_page(peer->dev, peer->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	peer->addr = 0;
	return *saw ? 0 : mdl_broken("the last WRITE was not deferred");
}

/* Look for a completion of the second queue pair before that of the first queue pair. */
static int mdl_round_swap(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	int ret = mdl_expect(peer, peer->qp) ?: mdl_expect(peer, peer->second) ?:
		  mdl_message(end, end->qp, 0) ?: mdl_message(end, end->second, 0) ?:
		  mdl_finish(end, 2) ?: mdl_finish(peer, 2);

	*saw |= end->first == end->second;
	return ret;
}

/* Look for a completion of the sender that is pollable before that of the receiver. */
static int mdl_round_sender_first(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	int ret = mdl_expect(peer, peer->qp) ?: mdl_message(end, end->qp, 0) ?:
		  mdl_finish(end, 1);

	if (ret)
		return ret;
	*saw |= !ib_process_cq_direct(peer->cq, -1);
	return mdl_finish(peer, 1);
}

/* Look for completions that appear together, of messages that were sent one after the other. */
static int mdl_round_merge(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	ktime_t until;
	int i, ret = 0;

	for (i = 0; i < PLANT_WRS && !ret; i++)
		ret = mdl_expect(peer, peer->qp);
	for (i = 0; i < PLANT_WRS && !ret; i++) {
		ret = mdl_message(end, end->qp, 0);
		until = ktime_add_us(ktime_get(), 50);
		do {
			if (ib_process_cq_direct(end->cq, -1) > 1)
				*saw = true;
		} while (ktime_before(ktime_get(), until));
	}
	until = ktime_add_ms(ktime_get(), 100);
	while (end->done < PLANT_WRS && ktime_before(ktime_get(), until))
		if (ib_process_cq_direct(end->cq, -1) > 1)
			*saw = true;
	return ret ?: mdl_finish(end, PLANT_WRS) ?: mdl_finish(peer, PLANT_WRS);
}

/* Check that a message arrives even if the receiver first answers with RNR NAKs. */
static int mdl_round_message(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	*saw = true;
	return mdl_expect(peer, peer->qp) ?: mdl_message(end, end->qp, 0) ?:
	       mdl_finish(end, 1) ?: mdl_finish(peer, 1);
}

static int mdl_round_register(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	ktime_t start = ktime_get();
	struct ib_mr *mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, 1);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	*saw |= ktime_ms_delta(ktime_get(), start) >= 1;
	return ib_dereg_mr(mr);
}

static int mdl_round_modify(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	struct ib_qp_attr attr = { .min_rnr_timer = 1 };
	ktime_t start = ktime_get();
	int ret = ib_modify_qp(end->qp, &attr, IB_QP_MIN_RNR_TIMER);

	*saw |= ktime_ms_delta(ktime_get(), start) >= 1;
	return ret;
}

/* Send messages until one fails; then the next one must be flushed. Runs for only one round. */
static int mdl_round_error(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	int ret, i;

	for (i = 0; i < MDL_ROUNDS * MDL_ROUNDS; i++) {
		ret = mdl_expect(peer, peer->qp) ?: mdl_message(end, end->qp, 0) ?:
		      mdl_plant_wait(end, 1);
		if (ret || end->status)
			break;
		ret = mdl_finish(peer, 1);
		if (ret)
			return ret;
	}
	if (ret)
		return ret;
	pr_info("rdma-model-plant: message %d: %s\n", i, ib_wc_status_msg(end->status));
	if (end->status != IB_WC_RETRY_EXC_ERR && end->status != IB_WC_LOC_QP_OP_ERR &&
	    end->status != IB_WC_REM_OP_ERR)
		return mdl_broken("a status that a SEND cannot have");
	ret = mdl_message(end, end->qp, 0) ?: mdl_plant_wait(end, 1);
	if (!ret && end->status != IB_WC_WR_FLUSH_ERR)
		return mdl_broken("the queue pair works after an error");
	*saw = true;
	return ret;
}

/**
 * struct mdl_listener - listener for asynchronous events of a device
 * @handler: handler of the RDMA core
 * @types: bitmap of the reported enum ib_event_type
 */
struct mdl_listener {
	struct ib_event_handler handler;
	unsigned long types;
};

static void mdl_listen(struct ib_event_handler *handler, struct ib_event *event)
{
	set_bit(event->event, &container_of(handler, struct mdl_listener, handler)->types);
}

/* Wait up to 10 s until all events in the bitmap @types were reported. */
static bool mdl_heard(struct mdl_plant *end, unsigned long types)
{
	unsigned long until = jiffies + 10 * HZ;
	struct mdl_listener listener = {};

	INIT_IB_EVENT_HANDLER(&listener.handler, end->dev, mdl_listen);
	ib_register_event_handler(&listener.handler);
	while ((READ_ONCE(listener.types) & types) != types && time_before(jiffies, until))
		msleep(20);
	ib_unregister_event_handler(&listener.handler);
	return (listener.types & types) == types;
}

/* This case has only one round: it waits for the events by itself. */
static int mdl_round_events(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	*saw = mdl_heard(end, BIT(IB_EVENT_PORT_ERR) | BIT(IB_EVENT_PORT_ACTIVE) |
			      BIT(IB_EVENT_PKEY_CHANGE) | BIT(IB_EVENT_CLIENT_REREGISTER));
	return *saw ? mdl_round_message(end, peer, saw) : -EIO;
}

/* This case has only one round: it waits for the events by itself. */
static int mdl_round_fatal(struct mdl_plant *end, struct mdl_plant *peer, bool *saw)
{
	int ret = mdl_expect(end, end->qp);

	if (ret)
		return ret;
	*saw = mdl_heard(end, BIT(IB_EVENT_DEVICE_FATAL));
	ret = mdl_plant_wait(end, 1);
	if (!ret && end->status != IB_WC_WR_FLUSH_ERR)
		return mdl_broken("a receive work request was not flushed");
	return ret;
}

static const struct {
	const char *name;
	int (*round)(struct mdl_plant *end, struct mdl_plant *peer, bool *saw);
} mdl_cases[] = {
	{ "unfenced", mdl_round_unfenced },
	{ "fenced", mdl_round_fenced },
	{ "pieces", mdl_round_pieces },
	{ "defer", mdl_round_defer },
	{ "drop", mdl_round_drop },
	{ "swap", mdl_round_swap },
	{ "sender-first", mdl_round_sender_first },
	{ "merge", mdl_round_merge },
	{ "message", mdl_round_message },
	{ "register", mdl_round_register },
	{ "modify", mdl_round_modify },
	{ "error", mdl_round_error },
	{ "events", mdl_round_events },
	{ "fatal", mdl_round_fatal },
};

/**
 * mdl_plant_nasty - run a case that looks for nasty behaviour
 * @name: name of the case
 * @end: end that runs the case
 * @peer: the other end
 *
 * Context: process context, may sleep.
 * Return: 0 if the result matches the parameter "seen", otherwise errno.
 */
int mdl_plant_nasty(const char *name, struct mdl_plant *end, struct mdl_plant *peer)
{
	bool saw = false;
	int ret, i, n;

	for (i = 0; i < ARRAY_SIZE(mdl_cases); i++)
		if (!strcmp(mdl_cases[i].name, name))
			break;
	if (i == ARRAY_SIZE(mdl_cases))
		return -EINVAL;
	ret = mdl_plant_register(peer, IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE);
	for (n = 0; n < MDL_ROUNDS && !saw && !ret; n++)
		ret = mdl_cases[i].round(end, peer, &saw);
	pr_info("rdma-model-plant: %s: %s after %d rounds, %d\n", name,
		saw ? "seen" : "not seen", n, ret);
	return ret ?: saw == seen ? 0 : -EIO;
}
