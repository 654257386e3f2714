// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that requests take on a timed adapter.
 *
 * Operation: when a request is executed, this file computes when its message is complete
 * at the responder and when the requester knows that. The parts of an adapter are used
 * one request after the other: its send queues, the processing of work requests, PCIe
 * for data that it sends, and the wire. The model copies the data when it executes the
 * request, which is never later than the computed time. Only the completions are held
 * until their computed time.
 *
 * All times of the profile are multiplied by "slowdown": the emulated processor executes
 * one instruction per nanosecond, a real one about two.
 *
 * Simplifications: a READ response reserves the wire when the READ is issued, so a
 * shorter message that the responder sends in the meantime waits for it; acknowledgments
 * take no time on the wire; there is no congestion, and caches of the adapter never miss.
 *
 * Ownership: devices and queue pairs own their parts.
 * Concurrency: engine, interrupts disabled, one processor.
 * Errors: none.
 */
#include <linux/math.h>
#include <linux/module.h>

#include "model.h"

/* Bytes of a RETH, which a WRITE and the request of a READ have besides other headers. */
#define MDL_RETH_BYTES	16
/* Parts of a work request in the send queue of mlx5, bytes. */
#define MDL_WQE_SEGMENT	16
#define MDL_WQE_REG_MR	192
#define MDL_WQE_INV	128

static unsigned int mdl_round_trip_ns;
module_param_named(round_trip_ns, mdl_round_trip_ns, uint, 0644);
MODULE_PARM_DESC(round_trip_ns, "round trip of devices made from now on (default 0: as in the profile)");

static unsigned int mdl_slowdown = 1;
module_param_named(slowdown, mdl_slowdown, uint, 0644);
MODULE_PARM_DESC(slowdown, "factor for all times of devices made from now on, 1 to 1000 (default 1)");

/**
 * mdl_timing_init - prepare the timing of a device
 * @dev: device with its profile
 *
 * Context: process context.
 */
void mdl_timing_init(struct mdl_dev *dev)
{
	u32 slow = clamp(READ_ONCE(mdl_slowdown), 1U, 1000U);
	struct mdl_timing *t = &dev->busy.timing;

	*t = dev->profile->timing;
	t->round_trip_ns = READ_ONCE(mdl_round_trip_ns) ?: t->round_trip_ns;
	t->link_mbps /= slow;
	t->round_trip_ns *= slow;
	t->doorbell_ns *= slow;
	t->doorbell_to_fetch_ns *= slow;
	t->wqe_fetch_ns *= slow;
	t->wqe_ns *= slow;
	t->device_wqe_ns *= slow;
	t->cqe_write_ns *= slow;
	t->pcie_read_ns *= slow;
	t->pcie_mbps /= slow;
	t->reg_mr_ns *= slow;
	t->reg_mr_page_ns *= slow;
	t->local_inv_ns *= slow;
	t->interrupt_ns *= slow;
	t->moderation_us *= slow;
}

/**
 * mdl_timing_blocks - return the size of a work request in the send queue
 * @dev: device
 * @wqe: work request
 *
 * Context: any.
 * Return: number of blocks of the profile; the parts of a request are those of mlx5.
 */
u32 mdl_timing_blocks(const struct mdl_dev *dev, const struct mdl_swqe *wqe)
{
	u32 bytes = MDL_WQE_SEGMENT;

	switch (wqe->opcode) {
	case IB_WR_REG_MR:
		bytes = MDL_WQE_REG_MR;
		break;
	case IB_WR_LOCAL_INV:
		bytes = MDL_WQE_INV;
		break;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		bytes += MDL_WQE_SEGMENT;
		fallthrough;
	default:
		if (wqe->flags & IB_SEND_INLINE)
			bytes += round_up(wqe->length + sizeof(__be32), MDL_WQE_SEGMENT);
		else
			bytes += wqe->num_sge * MDL_WQE_SEGMENT;
	}
	return DIV_ROUND_UP(bytes, dev->profile->timing.wqe_block_bytes);
}

/* Time of so many bytes at a rate, ns. */
static u64 mdl_timing_bits(u64 bytes, u32 mbps)
{
	return div_u64(bytes * BITS_PER_BYTE * 1000, mbps);
}

/* Send a message of so many bytes that is ready; result, when it has arrived. */
static u64 mdl_timing_wire(struct mdl_dev *dev, const struct mdl_qp *qp, u64 ready, u32 len)
{
	u32 mtu = ib_mtu_enum_to_int(qp->attr.path_mtu);
	u32 packets = max(DIV_ROUND_UP(len, mtu), 1);
	const struct mdl_timing *t = &dev->busy.timing;
	u64 start = max(ready, dev->busy.wire);

	dev->busy.wire = start + mdl_timing_bits(len + (u64)packets * t->header_bytes,
						 t->link_mbps);
	return dev->busy.wire + t->round_trip_ns / 2;
}

/* Read data from host memory; result, when the first of them are there. */
static u64 mdl_timing_fetch(struct mdl_dev *dev, u64 ready, u32 len)
{
	const struct mdl_timing *t = &dev->busy.timing;
	u64 start = max(ready, dev->busy.pcie);

	dev->busy.pcie = start + mdl_timing_bits(len, t->pcie_mbps);
	return start + t->pcie_read_ns;
}

/* When the adapter begins to execute a request. */
static u64 mdl_timing_start(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	const struct mdl_timing *t = &dev->busy.timing;
	struct mdl_pace *pace = qp->pace;
	u64 start;

	start = wqe->posted + t->doorbell_to_fetch_ns + t->wqe_fetch_ns;
	start = max3(start, pace->sq, dev->busy.wqe);
	if (wqe->flags & IB_SEND_FENCE && pace->reads)
		start = max(start, pace->read_ends[(pace->reads - 1) % MDL_TIMING_READS]);
	if (wqe->opcode == IB_WR_RDMA_READ && pace->reads >= qp->attr.max_rd_atomic)
		start = max(start, pace->read_ends[(pace->reads - qp->attr.max_rd_atomic) %
						   MDL_TIMING_READS]);
	pace->sq = start + t->wqe_ns;
	dev->busy.wqe = start + (u64)t->device_wqe_ns * mdl_timing_blocks(dev, wqe);
	return start;
}

/* A request on a memory region: it ends before the next one of its queue begins. */
static void mdl_timing_memory(struct mdl_qp *qp, struct mdl_swqe *wqe, u64 start, u32 pages)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	const struct mdl_timing *t = &dev->busy.timing;

	if (wqe->opcode == IB_WR_REG_MR)
		start += t->reg_mr_ns + (u64)pages * t->reg_mr_page_ns;
	else
		start += t->local_inv_ns;
	qp->pace->sq = max(qp->pace->sq, start);
	if (t->reg_mr_stalls)
		dev->busy.wqe = max(dev->busy.wqe, start);
	wqe->arrives = start;
	wqe->ends = start;
}

static void mdl_timing_read(struct mdl_qp *qp, struct mdl_dev *peer, struct mdl_swqe *wqe,
			    u64 start)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	struct mdl_pace *pace = qp->pace;
	u64 asked = mdl_timing_wire(dev, qp, start, MDL_RETH_BYTES);

	wqe->arrives = asked;
	wqe->ends = mdl_timing_wire(peer, qp, mdl_timing_fetch(peer, asked, wqe->length),
				    wqe->length);
	pace->read_ends[pace->reads++ % MDL_TIMING_READS] = wqe->ends;
}

/**
 * mdl_timing_request - compute when a request arrives and ends
 * @qp: queue pair
 * @peer: device of the responder, which may be that of the queue pair
 * @wqe: work request that is executed now; the results are in @arrives and @ends
 *
 * Context: engine.
 */
void mdl_timing_request(struct mdl_qp *qp, struct mdl_dev *peer, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	const struct mdl_timing *t = &dev->busy.timing;
	u64 start = mdl_timing_start(qp, wqe);
	u32 len = wqe->length;

	switch (wqe->opcode) {
	case IB_WR_REG_MR:
	case IB_WR_LOCAL_INV:
		mdl_timing_memory(qp, wqe, start, wqe->pages);
		return;
	case IB_WR_RDMA_READ:
		mdl_timing_read(qp, peer, wqe, start);
		return;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		len += MDL_RETH_BYTES;
		break;
	}
	/* Inline data came with the work request. */
	if (wqe->length && !(wqe->flags & IB_SEND_INLINE))
		start = mdl_timing_fetch(dev, start, wqe->length);
	wqe->arrives = mdl_timing_wire(dev, qp, start, len);
	wqe->ends = wqe->arrives + t->round_trip_ns / 2;
	if (wqe->opcode == IB_WR_SEND_WITH_INV)
		wqe->arrives += peer->busy.timing.local_inv_ns;
}
