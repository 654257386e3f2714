// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test cases that violate the rules of an adapter on purpose.
 *
 * Operation: loading the module with "what=NAME" opens two connections between the devices on
 * the network devices d0 and d1, runs the case NAME, and frees all objects. Most cases commit
 * one violation, and the script that loads the module then looks for the report of the model.
 * plant_nasty.c has the cases that are not in the table below.
 *
 * Ownership: an end owns its objects; all are released before init returns.
 *
 * Concurrency: init only.
 *
 * Errors: init fails with errno if the model does not behave as the case expects.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "plant.h"

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "violation to commit, or nasty behaviour to look for");

static struct mdl_plant mdl_ends[2];

/* Send from memory that is no longer mapped. */
static int mdl_plant_unmapped(struct mdl_plant *end, struct mdl_plant *peer)
{
	u64 addr = end->addr;
	int ret = mdl_plant_recv(peer, peer->addr, 1);

	ib_dma_unmap_page(end->dev, addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	end->addr = 0;
	return ret ?: mdl_plant_send(end, addr, 64, 1) ?: mdl_plant_wait(end, 1);
}

/* Receive into memory that the device may only read. */
static int mdl_plant_direction(struct mdl_plant *end, struct mdl_plant *peer)
{
	u64 addr = ib_dma_map_page(peer->dev, peer->page, 0, PAGE_SIZE, DMA_TO_DEVICE);
	int ret;

	if (ib_dma_mapping_error(peer->dev, addr))
		return -ENOMEM;
	ret = mdl_plant_recv(peer, addr, 1) ?: mdl_plant_send(end, end->addr, 64, 1) ?:
	      mdl_plant_wait(end, 1) ?: mdl_plant_wait(peer, 1);
	ib_dma_unmap_page(peer->dev, addr, PAGE_SIZE, DMA_TO_DEVICE);
	return ret;
}

/* Without polling, all entries of the send queue stay in use, so one more post must fail. */
static int mdl_plant_sends(struct mdl_plant *end, struct mdl_plant *peer)
{
	int i, ret;

	for (i = 0; i < end->send_wrs; i++) {
		ret = mdl_plant_send(end, end->addr, 64, 1);
		if (ret)
			return ret;
	}
	return mdl_plant_send(end, end->addr, 64, 1) == -ENOMEM ? 0 : -EIO;
}

static int mdl_plant_recvs(struct mdl_plant *end, struct mdl_plant *peer)
{
	int i, ret;

	for (i = 0; i < PLANT_WRS; i++) {
		ret = mdl_plant_recv(peer, peer->addr, 1);
		if (ret)
			return ret;
	}
	return mdl_plant_recv(peer, peer->addr, 1) == -ENOMEM ? 0 : -EIO;
}

/* Cause more completions than the completion queue has entries; nothing polls it. */
static int mdl_plant_cq(struct mdl_plant *end, struct mdl_plant *peer)
{
	int i, ret = 0;

	for (i = 0; i < PLANT_WRS && !ret; i++)
		ret = mdl_plant_recv(peer, peer->addr, 1);
	for (i = 0; i < PLANT_WRS && !ret; i++)
		ret = mdl_plant_send(end, end->addr, 64, 1);
	msleep(100);
	return ret;
}

/* Post two work requests for a completion queue of one entry. No overflow: only one completes. */
static int mdl_plant_cq_posted(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_recv(end, end->addr, 1);

	return ret ?: mdl_plant_recv(peer, peer->addr, 1) ?:
	       mdl_plant_send(end, end->addr, 64, 1) ?: mdl_plant_wait(end, 1);
}

static int mdl_plant_sges(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_send(end, end->addr, 64, PLANT_SGE + 1) == -EINVAL ? 0 : -EIO;
}

static int mdl_plant_recv_sges(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_recv(peer, peer->addr, PLANT_SGE + 1) == -EINVAL ? 0 : -EIO;
}

/* Post an RDMA request, which must fail with a remote access error. */
static int mdl_plant_remote(struct mdl_plant *end, enum ib_wr_opcode opcode, u64 addr,
			    u32 rkey, u32 len)
{
	int ret = mdl_plant_rdma(end, opcode, addr, rkey, len) ?: mdl_plant_wait(end, 1);

	return ret ?: end->status == IB_WC_REM_ACCESS_ERR ? 0 : -EIO;
}

static int mdl_plant_rkey(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer, IB_ACCESS_REMOTE_WRITE) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_WRITE, peer->mr->iova,
				peer->mr->rkey ^ 0x10000, 64);
}

static int mdl_plant_old_rkey(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer, IB_ACCESS_REMOTE_WRITE) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_WRITE, peer->mr->iova,
				peer->mr->rkey - 1, 64);
}

static int mdl_plant_bounds(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer, IB_ACCESS_REMOTE_WRITE) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_WRITE, peer->mr->iova + PAGE_SIZE - 32,
				peer->mr->rkey, 64);
}

static int mdl_plant_access(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer, IB_ACCESS_REMOTE_WRITE) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_READ, peer->mr->iova, peer->mr->rkey, 64);
}

/* Register a region that the peer may write but the local device may not. */
static int mdl_plant_reg_access(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_register_key(peer, ib_inc_rkey(peer->mr->rkey),
					 IB_ACCESS_REMOTE_WRITE);

	return ret == -EIO && peer->status == IB_WC_MW_BIND_ERR ? 0 : -EIO;
}

/* Register twice with the same key. */
static int mdl_plant_reg_key(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_register(peer, IB_ACCESS_REMOTE_WRITE) ?: mdl_plant_invalidate(peer);

	if (ret)
		return ret;
	ret = mdl_plant_register_key(peer, peer->mr->rkey,
				     IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	return ret == -EIO && peer->status == IB_WC_MW_BIND_ERR ? 0 : -EIO;
}

/* Cause an event at the peer, whose handler returns with interrupts enabled. */
static int mdl_plant_event(struct mdl_plant *end, struct mdl_plant *peer)
{
	peer->enables = true;
	return mdl_plant_rkey(end, peer);
}

/* Unmap after the message has arrived, but before the sender polls its completion. */
static int mdl_plant_early_unmap(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_recv(peer, peer->addr, 1) ?:
		  mdl_plant_send(end, end->addr, 64, 1) ?: mdl_plant_wait(peer, 1);

	ib_dma_unmap_page(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	end->addr = 0;
	return ret ?: mdl_plant_wait(end, 1);
}

static int mdl_plant_early_unmap_recv(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_recv(peer, peer->addr, 1);

	ib_dma_unmap_page(peer->dev, peer->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	peer->addr = 0;
	return ret;
}

static int mdl_plant_unmap(struct mdl_plant *end, struct mdl_plant *peer)
{
	ib_dma_unmap_page(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	ib_dma_unmap_page(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	end->addr = 0;
	return 0;
}

/*
 * Map a list of two entries, which the mapping joins into one segment, and unmap it with the
 * number of segments instead of the number of entries.
 */
static int mdl_plant_unmap_count(struct mdl_plant *end, struct mdl_plant *peer)
{
	struct scatterlist sg[2];
	int i, n;

	sg_init_table(sg, 2);
	sg_set_page(&sg[0], end->page, PAGE_SIZE, 0);
	sg_set_page(&sg[1], peer->page, PAGE_SIZE, 0);
	for (i = 0; i < 100; i++) {
		n = ib_dma_map_sg(end->dev, sg, 2, DMA_TO_DEVICE);
		if (!n)
			return -ENOMEM;
		if (n == 1 && sg_dma_len(&sg[0]) != 2 * PAGE_SIZE)
			return -EIO;
		ib_dma_unmap_sg(end->dev, sg, n, DMA_TO_DEVICE);
		if (n == 1)
			return 0;
	}
	return -EIO;
}

/* Leave a mapping behind: the model reports it when the device is removed. */
static int mdl_plant_leak(struct mdl_plant *end, struct mdl_plant *peer)
{
	u64 addr = ib_dma_map_page(end->dev, ZERO_PAGE(0), 0, PAGE_SIZE, DMA_TO_DEVICE);

	return ib_dma_mapping_error(end->dev, addr) ? -ENOMEM : 0;
}

/* No violation: a message arrives. The other cases rely on that. */
static int mdl_plant_nothing(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_recv(peer, peer->addr, 1) ?:
		  mdl_plant_send(end, end->addr, 64, 1) ?:
		  mdl_plant_wait(end, 1) ?: mdl_plant_wait(peer, 1);

	return ret ?: end->status || peer->status ? -EIO : 0;
}

/* No violation: received data are in memory only after ib_dma_sync_single_for_cpu(). */
static int mdl_plant_sync(struct mdl_plant *end, struct mdl_plant *peer)
{
	u8 *virt = page_address(end->page);
	int ret;

	memset(page_address(peer->page), 0x5a, 64);
	ret = mdl_plant_recv(end, end->addr, 1) ?: mdl_plant_send(peer, peer->addr, 64, 1) ?:
	      mdl_plant_wait(peer, 1) ?: mdl_plant_wait(end, 1);
	if (ret)
		return ret;
	if (READ_ONCE(*virt))
		return -EIO;
	ib_dma_sync_single_for_cpu(end->dev, end->addr, 64, DMA_BIDIRECTIONAL);
	return READ_ONCE(*virt) == 0x5a ? 0 : -EIO;
}

/* No violation: the length in the completion of a SEND or of a flushed request is undefined. */
static int mdl_plant_undefined(struct mdl_plant *end, struct mdl_plant *peer)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret = mdl_plant_nothing(end, peer);

	if (ret)
		return ret;
	if (end->byte_len <= PAGE_SIZE || peer->byte_len != 64)
		return -EIO;
	ret = mdl_plant_recv(peer, peer->addr, 1) ?: ib_modify_qp(peer->qp, &attr, IB_QP_STATE) ?:
	      mdl_plant_wait(peer, 1);
	return ret ?: peer->status == IB_WC_WR_FLUSH_ERR && peer->byte_len > PAGE_SIZE ? 0 : -EIO;
}

/* No violation, but counted: a message that finds no receive work request. */
static int mdl_plant_unreceived(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_send(end, end->addr, 64, 1) ?: mdl_plant_wait(end, 1);

	return ret ?: end->status == IB_WC_RNR_RETRY_EXC_ERR ? 0 : -EIO;
}

static const struct {
	const char *name;
	int (*run)(struct mdl_plant *end, struct mdl_plant *peer);
	u32 cqe;
} mdl_plants[] = {
	{ "nothing", mdl_plant_nothing, PLANT_CQE },
	{ "sync", mdl_plant_sync, PLANT_CQE },
	{ "undefined", mdl_plant_undefined, PLANT_CQE },
	{ "unreceived", mdl_plant_unreceived, PLANT_CQE },
	{ "unmapped", mdl_plant_unmapped, PLANT_CQE },
	{ "direction", mdl_plant_direction, PLANT_CQE },
	{ "sends", mdl_plant_sends, PLANT_CQE },
	{ "recvs", mdl_plant_recvs, PLANT_CQE },
	{ "cq", mdl_plant_cq, 1 },
	{ "cq-posted", mdl_plant_cq_posted, 1 },
	{ "sges", mdl_plant_sges, PLANT_CQE },
	{ "recv-sges", mdl_plant_recv_sges, PLANT_CQE },
	{ "rkey", mdl_plant_rkey, PLANT_CQE },
	{ "old-rkey", mdl_plant_old_rkey, PLANT_CQE },
	{ "bounds", mdl_plant_bounds, PLANT_CQE },
	{ "access", mdl_plant_access, PLANT_CQE },
	{ "reg-access", mdl_plant_reg_access, PLANT_CQE },
	{ "reg-key", mdl_plant_reg_key, PLANT_CQE },
	{ "event", mdl_plant_event, PLANT_CQE },
	{ "early-unmap", mdl_plant_early_unmap, PLANT_CQE },
	{ "early-unmap-recv", mdl_plant_early_unmap_recv, PLANT_CQE },
	{ "unmap", mdl_plant_unmap, PLANT_CQE },
	{ "unmap-count", mdl_plant_unmap_count, PLANT_CQE },
	{ "leak", mdl_plant_leak, PLANT_CQE },
};

static int __init mdl_plant_init(void)
{
	struct mdl_plant *end = &mdl_ends[0], *peer = &mdl_ends[1];
	bool known;
	int ret, i;

	for (i = 0; i < ARRAY_SIZE(mdl_plants); i++)
		if (!strcmp(mdl_plants[i].name, what))
			break;
	known = i < ARRAY_SIZE(mdl_plants);
	ret = mdl_plant_open(end, "d0", known ? mdl_plants[i].cqe : PLANT_CQE) ?:
	      mdl_plant_open(peer, "d1", PLANT_CQE) ?:
	      mdl_plant_connect(end, peer) ?: mdl_plant_connect(peer, end);
	if (ret)
		pr_err("rdma-model-plant: cannot set up: %d\n", ret);
	else
		ret = known ? mdl_plants[i].run(end, peer) : mdl_plant_nasty(what, end, peer);
	mdl_plant_close(end);
	mdl_plant_close(peer);
	return ret;
}

static void __exit mdl_plant_exit(void)
{
}

module_init(mdl_plant_init);
module_exit(mdl_plant_exit);

MODULE_DESCRIPTION("Planted violations for the modelled RDMA adapter");
MODULE_LICENSE("GPL");
