// SPDX-License-Identifier: GPL-2.0-only
/*
 * Planted violations: a ULP that does what an adapter does not allow.
 *
 * Operation: loading the module with "what=NAME" connects two queue pairs of the
 * devices mdl0 and mdl1, commits the violation NAME, and takes all down again. A test
 * then looks for the report of the model.
 *
 * Ownership: an end owns its objects; everything is released before init returns.
 *
 * Concurrency: init only.
 *
 * Errors: init fails with errno if the model does not behave as the case expects.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define PLANT_WRS	4
#define PLANT_SGE	2
#define PLANT_CQE	64

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "violation to be committed");

/**
 * struct mdl_plant - one end of the connection
 * @dev: device
 * @pd: protection domain
 * @cq: completion queue of both work queues, polled directly
 * @qp: queue pair
 * @send_wrs: granted capacity of its send queue
 * @mr: region for fast registration
 * @page: memory
 * @addr: its address, mapped in both directions
 * @status: status of the last completion
 * @done: number of completions
 * @cqe: completion function of all work requests
 */
struct mdl_plant {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u32 send_wrs;
	struct ib_mr *mr;
	struct page *page;
	u64 addr;
	enum ib_wc_status status;
	u32 done;
	struct ib_cqe cqe;
};

static struct mdl_plant mdl_ends[2];

static void mdl_plant_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mdl_plant *end = cq->cq_context;

	end->status = wc->status;
	end->done++;
}

/* Poll until @n completions were seen since the call before; -ETIMEDOUT after 2 s. */
static int mdl_plant_wait(struct mdl_plant *end, u32 n)
{
	unsigned long until = jiffies + 2 * HZ;

	while (end->done < n) {
		ib_process_cq_direct(end->cq, -1);
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		cond_resched();
	}
	end->done = 0;
	return 0;
}

/* The adapter of a network device, or NULL. */
static struct ib_device *mdl_plant_device(const char *netdev)
{
	struct net_device *ndev = dev_get_by_name(&init_net, netdev);
	struct ib_device *dev;

	if (!ndev)
		return NULL;
	dev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	dev_put(ndev);
	return dev;
}

static int mdl_plant_open(struct mdl_plant *end, const char *netdev, u32 cqe)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = PLANT_WRS,
			.max_recv_wr = PLANT_WRS,
			.max_send_sge = PLANT_SGE,
			.max_recv_sge = PLANT_SGE,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	end->cqe.done = mdl_plant_done;
	end->dev = mdl_plant_device(netdev);
	if (!end->dev)
		return -ENODEV;
	end->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!end->page)
		return -ENOMEM;
	end->addr = ib_dma_map_page(end->dev, end->page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(end->dev, end->addr)) {
		end->addr = 0;
		return -ENOMEM;
	}
	end->pd = ib_alloc_pd(end->dev, 0);
	if (IS_ERR(end->pd))
		return PTR_ERR(end->pd);
	end->cq = ib_alloc_cq(end->dev, end, cqe, 0, IB_POLL_DIRECT);
	if (IS_ERR(end->cq))
		return PTR_ERR(end->cq);
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ib_create_qp(end->pd, &init);
	if (IS_ERR(end->qp))
		return PTR_ERR(end->qp);
	end->send_wrs = init.cap.max_send_wr;
	end->mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, 1);
	return PTR_ERR_OR_ZERO(end->mr);
}

static void mdl_plant_close(struct mdl_plant *end)
{
	if (!IS_ERR_OR_NULL(end->mr))
		ib_dereg_mr(end->mr);
	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
	if (end->addr)
		ib_dma_unmap_page(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (end->page)
		__free_page(end->page);
	if (end->dev)
		ib_device_put(end->dev);
}

/* The index of the GID that stands for an IPv4 address. */
static int mdl_plant_gid(struct ib_device *dev, union ib_gid *gid)
{
	const struct ib_gid_attr *attr;
	int i;

	for (i = 0; i < dev->port_data[1].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(dev, 1, i);
		if (IS_ERR(attr))
			continue;
		*gid = attr->gid;
		rdma_put_gid_attr(attr);
		if (ipv6_addr_v4mapped((struct in6_addr *)gid))
			return i;
	}
	return -ENOENT;
}

static int mdl_plant_connect(struct mdl_plant *end, struct mdl_plant *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
		.path_mtu = IB_MTU_4096,
		.dest_qp_num = peer->qp->qp_num,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.timeout = 10,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.min_rnr_timer = 1,
	};
	union ib_gid gid;
	int index, ret;

	ret = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	ret = mdl_plant_gid(peer->dev, &attr.ah_attr.grh.dgid);
	index = mdl_plant_gid(end->dev, &gid);
	if (ret < 0 || index < 0)
		return -ENOENT;
	gid = attr.ah_attr.grh.dgid;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(&attr.ah_attr, &gid, 0, index, 64, 0);
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	attr.qp_state = IB_QPS_RTR;
	ret = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static int mdl_plant_send(struct mdl_plant *end, u64 addr, u32 len, int num_sge)
{
	struct ib_sge sge[PLANT_SGE + 1] = {};
	struct ib_send_wr wr = {
		.wr_cqe = &end->cqe,
		.sg_list = sge,
		.num_sge = num_sge,
		.opcode = IB_WR_SEND,
	};

	sge[0].addr = addr;
	sge[0].length = len;
	sge[0].lkey = end->pd->local_dma_lkey;
	return ib_post_send(end->qp, &wr, NULL);
}

static int mdl_plant_recv(struct mdl_plant *end, u64 addr, int num_sge)
{
	struct ib_sge sge[PLANT_SGE + 1] = {};
	struct ib_recv_wr wr = { .wr_cqe = &end->cqe, .sg_list = sge, .num_sge = num_sge };

	sge[0].addr = addr;
	sge[0].length = PAGE_SIZE;
	sge[0].lkey = end->pd->local_dma_lkey;
	return ib_post_recv(end->qp, &wr, NULL);
}

static int mdl_plant_rdma(struct mdl_plant *end, enum ib_wr_opcode opcode, u64 remote,
			  u32 rkey, u32 len)
{
	struct ib_sge sge = { end->addr, len, end->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &end->cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
		},
		.remote_addr = remote,
		.rkey = rkey,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

/* Register the page for remote writes, and wait for that. */
static int mdl_plant_register(struct mdl_plant *end)
{
	struct ib_reg_wr wr = { .wr = { .wr_cqe = &end->cqe, .opcode = IB_WR_REG_MR } };
	struct scatterlist sg;
	int ret;

	sg_init_table(&sg, 1);
	sg_set_page(&sg, end->page, PAGE_SIZE, 0);
	sg_dma_address(&sg) = end->addr;
	sg_dma_len(&sg) = PAGE_SIZE;
	ret = ib_map_mr_sg(end->mr, &sg, 1, NULL, PAGE_SIZE);
	if (ret != 1)
		return ret < 0 ? ret : -EIO;
	ib_update_fast_reg_key(end->mr, ib_inc_rkey(end->mr->rkey));
	wr.mr = end->mr;
	wr.key = end->mr->rkey;
	wr.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	ret = ib_post_send(end->qp, &wr.wr, NULL);
	return ret ?: mdl_plant_wait(end, 1) ?: end->status ? -EIO : 0;
}

/* Send from memory whose mapping has ended. */
static int mdl_plant_unmapped(struct mdl_plant *end, struct mdl_plant *peer)
{
	u64 addr = end->addr;
	int ret = mdl_plant_recv(peer, peer->addr, 1);

	ib_dma_unmap_page(end->dev, addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	end->addr = 0;
	return ret ?: mdl_plant_send(end, addr, 64, 1) ?: mdl_plant_wait(end, 1);
}

/* Receive into memory that is mapped for reading by the device. */
static int mdl_plant_direction(struct mdl_plant *end, struct mdl_plant *peer)
{
	u64 addr = ib_dma_map_page(peer->dev, peer->page, 0, PAGE_SIZE, DMA_TO_DEVICE);
	int ret;

	if (ib_dma_mapping_error(peer->dev, addr))
		return -ENOMEM;
	ret = mdl_plant_recv(peer, addr, 1) ?: mdl_plant_send(end, end->addr, 64, 1) ?:
	      mdl_plant_wait(end, 1);
	ib_dma_unmap_page(peer->dev, addr, PAGE_SIZE, DMA_TO_DEVICE);
	return ret;
}

/* Work requests that nothing receives keep their places: one more than were granted. */
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

/* More completions than the completion queue has entries; it is not polled. */
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

static int mdl_plant_sges(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_send(end, end->addr, 64, PLANT_SGE + 1) == -EINVAL ? 0 : -EIO;
}

static int mdl_plant_recv_sges(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_recv(peer, peer->addr, PLANT_SGE + 1) == -EINVAL ? 0 : -EIO;
}

/* The request must fail as a remote access error. */
static int mdl_plant_remote(struct mdl_plant *end, enum ib_wr_opcode opcode, u64 addr,
			    u32 rkey, u32 len)
{
	int ret = mdl_plant_rdma(end, opcode, addr, rkey, len) ?: mdl_plant_wait(end, 1);

	return ret ?: end->status == IB_WC_REM_ACCESS_ERR ? 0 : -EIO;
}

static int mdl_plant_rkey(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_WRITE, peer->mr->iova,
				peer->mr->rkey ^ 0x10000, 64);
}

static int mdl_plant_old_rkey(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_WRITE, peer->mr->iova,
				peer->mr->rkey - 1, 64);
}

static int mdl_plant_bounds(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_WRITE, peer->mr->iova + PAGE_SIZE - 32,
				peer->mr->rkey, 64);
}

static int mdl_plant_access(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_register(peer) ?:
	       mdl_plant_remote(end, IB_WR_RDMA_READ, peer->mr->iova, peer->mr->rkey, 64);
}

static int mdl_plant_unmap(struct mdl_plant *end, struct mdl_plant *peer)
{
	ib_dma_unmap_page(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	ib_dma_unmap_page(end->dev, end->addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	end->addr = 0;
	return 0;
}

/* The model reports what is left when the device is removed. */
static int mdl_plant_leak(struct mdl_plant *end, struct mdl_plant *peer)
{
	u64 addr = ib_dma_map_page(end->dev, ZERO_PAGE(0), 0, PAGE_SIZE, DMA_TO_DEVICE);

	return ib_dma_mapping_error(end->dev, addr) ? -ENOMEM : 0;
}

/* Nothing wrong: a message arrives, which the other cases rely on. */
static int mdl_plant_nothing(struct mdl_plant *end, struct mdl_plant *peer)
{
	int ret = mdl_plant_recv(peer, peer->addr, 1) ?:
		  mdl_plant_send(end, end->addr, 64, 1) ?:
		  mdl_plant_wait(end, 1) ?: mdl_plant_wait(peer, 1);

	return ret ?: end->status || peer->status ? -EIO : 0;
}

/* Nothing wrong: what was received reaches memory when it is synchronised, not before. */
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

static const struct {
	const char *name;
	int (*run)(struct mdl_plant *end, struct mdl_plant *peer);
	u32 cqe;
} mdl_plants[] = {
	{ "nothing", mdl_plant_nothing, PLANT_CQE },
	{ "sync", mdl_plant_sync, PLANT_CQE },
	{ "unmapped", mdl_plant_unmapped, PLANT_CQE },
	{ "direction", mdl_plant_direction, PLANT_CQE },
	{ "sends", mdl_plant_sends, PLANT_CQE },
	{ "recvs", mdl_plant_recvs, PLANT_CQE },
	{ "cq", mdl_plant_cq, 1 },
	{ "sges", mdl_plant_sges, PLANT_CQE },
	{ "recv-sges", mdl_plant_recv_sges, PLANT_CQE },
	{ "rkey", mdl_plant_rkey, PLANT_CQE },
	{ "old-rkey", mdl_plant_old_rkey, PLANT_CQE },
	{ "bounds", mdl_plant_bounds, PLANT_CQE },
	{ "access", mdl_plant_access, PLANT_CQE },
	{ "unmap", mdl_plant_unmap, PLANT_CQE },
	{ "leak", mdl_plant_leak, PLANT_CQE },
};

static int __init mdl_plant_init(void)
{
	struct mdl_plant *end = &mdl_ends[0], *peer = &mdl_ends[1];
	int ret, i;

	for (i = 0; i < ARRAY_SIZE(mdl_plants); i++)
		if (!strcmp(mdl_plants[i].name, what))
			break;
	if (i == ARRAY_SIZE(mdl_plants))
		return -EINVAL;
	ret = mdl_plant_open(end, "d0", mdl_plants[i].cqe) ?:
	      mdl_plant_open(peer, "d1", PLANT_CQE) ?:
	      mdl_plant_connect(end, peer) ?: mdl_plant_connect(peer, end);
	if (ret)
		pr_err("rdma-model-plant: cannot set up: %d\n", ret);
	else
		ret = mdl_plants[i].run(end, peer);
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
