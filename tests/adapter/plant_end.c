// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends of the connections that the test cases use: setup, posting, waiting.
 *
 * Operation: an end has a page, a memory region for it, and two queue pairs. Both queue pairs
 * use one completion queue, which is polled directly.
 *
 * Ownership: an end owns its objects; mdl_plant_close() frees those that exist.
 *
 * Concurrency: one thread.
 *
 * Errors: errno; -ETIMEDOUT if a completion does not arrive within 2 s.
 */
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "plant.h"

static void mdl_plant_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mdl_plant *end = cq->cq_context;

	end->status = wc->status;
	end->byte_len = wc->byte_len;
	if (!end->done++)
		end->first = wc->qp;
}

static void mdl_plant_event(struct ib_event *event, void *context)
{
	struct mdl_plant *end = context;

	if (end->enables)
		local_irq_enable();
}

/**
 * mdl_plant_wait - poll until a number of completions has arrived
 * @end: end
 * @n: number of completions since the last successful call
 *
 * Context: process context, may sleep.
 * Return: 0 or -ETIMEDOUT.
 */
int mdl_plant_wait(struct mdl_plant *end, u32 n)
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

/* Find the RDMA device of a network device. */
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

/**
 * mdl_plant_open - create the objects of an end
 * @end: end
 * @netdev: name of the network device under the RDMA device
 * @cqe: number of entries of the completion queue
 *
 * Context: process context, may sleep.
 * Return: 0 or errno; the caller must call mdl_plant_close() in both cases.
 */
int mdl_plant_open(struct mdl_plant *end, const char *netdev, u32 cqe)
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
		.event_handler = mdl_plant_event,
		.qp_context = end,
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
	end->second = ib_create_qp(end->pd, &init);
	if (IS_ERR(end->second))
		return PTR_ERR(end->second);
	end->mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, 1);
	return PTR_ERR_OR_ZERO(end->mr);
}

/**
 * mdl_plant_close - destroy the objects of an end
 * @end: end
 *
 * Context: process context, may sleep.
 */
void mdl_plant_close(struct mdl_plant *end)
{
	if (!IS_ERR_OR_NULL(end->mr))
		ib_dereg_mr(end->mr);
	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	if (!IS_ERR_OR_NULL(end->second))
		ib_destroy_qp(end->second);
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

/* Find the first GID of @dev that contains an IPv4 address; returns its index. */
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

static int mdl_plant_connect_qp(struct mdl_plant *end, struct mdl_plant *peer, struct ib_qp *qp,
				struct ib_qp *remote)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
		.path_mtu = IB_MTU_4096,
		.dest_qp_num = remote->qp_num,
		.max_rd_atomic = PLANT_WRS,
		.max_dest_rd_atomic = PLANT_WRS,
		.timeout = 10,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.min_rnr_timer = 1,
	};
	union ib_gid gid;
	int index, ret;

	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
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
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

/**
 * mdl_plant_connect - connect the queue pairs of an end to those of the peer
 * @end: end
 * @peer: the other end
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_connect(struct mdl_plant *end, struct mdl_plant *peer)
{
	return mdl_plant_connect_qp(end, peer, end->qp, peer->qp) ?:
	       mdl_plant_connect_qp(end, peer, end->second, peer->second);
}

/**
 * mdl_plant_send - post a SEND
 * @end: end
 * @addr: DMA address of the data
 * @len: bytes
 * @num_sge: number of scatter/gather entries; only the first one has data
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_send(struct mdl_plant *end, u64 addr, u32 len, int num_sge)
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

/**
 * mdl_plant_recv - post a receive work request
 * @end: end
 * @addr: DMA address of a page
 * @num_sge: number of scatter/gather entries; only the first one has memory
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_recv(struct mdl_plant *end, u64 addr, int num_sge)
{
	struct ib_sge sge[PLANT_SGE + 1] = {};
	struct ib_recv_wr wr = { .wr_cqe = &end->cqe, .sg_list = sge, .num_sge = num_sge };

	sge[0].addr = addr;
	sge[0].length = PAGE_SIZE;
	sge[0].lkey = end->pd->local_dma_lkey;
	return ib_post_recv(end->qp, &wr, NULL);
}

/**
 * mdl_plant_rdma - post an RDMA READ or WRITE between the pages of both ends
 * @end: end
 * @opcode: IB_WR_RDMA_READ or IB_WR_RDMA_WRITE
 * @remote: address in the memory region of the peer
 * @rkey: remote key of the region
 * @len: bytes
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_rdma(struct mdl_plant *end, enum ib_wr_opcode opcode, u64 remote,
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

/**
 * mdl_plant_register_key - register the page of an end with a key, and wait for the completion
 * @end: end
 * @key: key whose lowest byte becomes the variant of the new key
 * @access: allowed access, enum ib_access_flags
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_register_key(struct mdl_plant *end, u32 key, int access)
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
	ib_update_fast_reg_key(end->mr, key);
	wr.mr = end->mr;
	wr.key = end->mr->rkey;
	wr.access = access;
	ret = ib_post_send(end->qp, &wr.wr, NULL);
	return ret ?: mdl_plant_wait(end, 1) ?: end->status ? -EIO : 0;
}

/**
 * mdl_plant_register - register the page of an end with the next key, and wait for the
 *   completion
 * @end: end
 * @access: remote access, added to IB_ACCESS_LOCAL_WRITE
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_register(struct mdl_plant *end, int access)
{
	return mdl_plant_register_key(end, ib_inc_rkey(end->mr->rkey),
				      IB_ACCESS_LOCAL_WRITE | access);
}

/**
 * mdl_plant_invalidate - invalidate the region of an end, and wait for the completion
 * @end: end
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_plant_invalidate(struct mdl_plant *end)
{
	struct ib_send_wr wr = {
		.wr_cqe = &end->cqe,
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = end->mr->rkey,
	};
	int ret = ib_post_send(end->qp, &wr, NULL) ?: mdl_plant_wait(end, 1);

	return ret ?: end->status ? -EIO : 0;
}

