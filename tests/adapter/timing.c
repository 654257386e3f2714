// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that requests take on a timed adapter.
 *
 * Operation: when a request is executed, this file computes the time at which its message is
 * complete at the responder, and the time at which the requester knows that. Each part of an
 * adapter processes one request after the other: a send queue, the processing of work requests,
 * PCIe for data to be sent, and the wire. The model copies the data when it executes the request,
 * which is never later than the computed time. Only the completions are held until their computed
 * time.
 *
 * Parts that all queue pairs share are lanes. A lane is a list of reserved spans of time. A request
 * that is ready for a lane at some time takes the first gap from this time on that is long enough.
 * Therefore a request that becomes ready late, because it waits for its own send queue or for
 * data, does not delay requests of other queue pairs that are ready earlier. The messages of one
 * queue pair and direction keep their order on the wire.
 *
 * All times of the profile are multiplied by the parameter "slowdown". The value 2 keeps the ratio
 * between adapter and processor, because the emulated processor executes one instruction per
 * nanosecond and a real processor about two.
 *
 * Simplifications: a message occupies the wire without a break, so a short message waits for
 * the end of a long one that was sent before. Acknowledgments take no time on the wire. There
 * is no congestion, and caches of the adapter never miss.
 *
 * Ownership: devices and queue pairs own their parts.
 * Concurrency: engines call mdl_timing_request() with interrupts disabled, on the only
 * processor.
 * Errors: none.
 */
#include <linux/math.h>
#include <linux/module.h>
#include <linux/string.h>

#include "model.h"

/* Bytes of a RETH, an additional header of WRITEs and of the requests of READs. */
#define MDL_RETH_BYTES	16
/* Bytes of one segment, of a REG_MR and of a LOCAL_INV in the send queue of mlx5. */
#define MDL_WQE_SEGMENT	16
#define MDL_WQE_REG_MR	192
#define MDL_WQE_INV	128

static unsigned int mdl_round_trip_ns;
module_param_named(round_trip_ns, mdl_round_trip_ns, uint, 0644);
MODULE_PARM_DESC(round_trip_ns, "round trip of new devices (default 0: as in the profile)");

static unsigned int mdl_slowdown = 1;
module_param_named(slowdown, mdl_slowdown, uint, 0644);
MODULE_PARM_DESC(slowdown, "factor for all times of new devices, 1 to 1000 (default 1)");

static bool mdl_doorbells = true;
module_param_named(doorbells, mdl_doorbells, bool, 0644);
MODULE_PARM_DESC(doorbells, "doorbells of new devices take processor time (default Y)");

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

	dev->busy.slowdown = slow;
	*t = dev->profile->timing;
	t->round_trip_ns = READ_ONCE(mdl_round_trip_ns) ?: t->round_trip_ns;
	t->link_mbps /= slow;
	t->round_trip_ns *= slow;
	t->doorbell_ns *= mdl_doorbells ? slow : 0;
	t->recv_doorbell_ns *= mdl_doorbells ? slow : 0;
	t->cq_doorbell_ns *= mdl_doorbells ? slow : 0;
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
 * Return: number of blocks of the profile's size; the bytes of a request are those of mlx5.
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

/* Time to transfer @bytes at @mbps, ns. */
static u64 mdl_timing_bits(u64 bytes, u32 mbps)
{
	return div_u64(bytes * BITS_PER_BYTE * 1000, mbps);
}

/* Remove the spans that have passed; if the lane is still full, remove the shortest span, too. */
static void mdl_timing_clean(struct mdl_lane *lane)
{
	u64 now = mdl_clock_now(), len, shortest = U64_MAX;
	u32 i, n = 0, victim = 0;

	for (i = 0; i < lane->n; i++) {
		if (lane->spans[i].to <= now)
			continue;
		lane->spans[n] = lane->spans[i];
		len = lane->spans[n].to - lane->spans[n].from;
		if (len < shortest) {
			shortest = len;
			victim = n;
		}
		n++;
	}
	if (n == MDL_TIMING_SPANS) {
		n--;
		memmove(&lane->spans[victim], &lane->spans[victim + 1],
			(n - victim) * sizeof(lane->spans[0]));
	}
	lane->n = n;
}

/* Insert a span before index @i, and merge it with adjacent spans. */
static void mdl_timing_insert(struct mdl_lane *lane, u32 i, u64 from, u64 to)
{
	struct mdl_span *span = &lane->spans[i];
	bool before = i && span[-1].to == from;
	bool after = i < lane->n && span->from == to;

	if (before && after) {
		span[-1].to = span->to;
		lane->n--;
		memmove(span, span + 1, (lane->n - i) * sizeof(*span));
	} else if (before) {
		span[-1].to = to;
	} else if (after) {
		span->from = from;
	} else {
		memmove(span + 1, span, (lane->n - i) * sizeof(*span));
		*span = (struct mdl_span) { from, to };
		lane->n++;
	}
}

/* Reserve a lane for @len ns, at or after @start; returns the start of the reserved time. */
static u64 mdl_timing_reserve(struct mdl_lane *lane, u64 start, u64 len)
{
	u32 i;

	if (!len)
		return start;
	mdl_timing_clean(lane);
	for (i = 0; i < lane->n && lane->spans[i].from < start + len; i++)
		start = max(start, lane->spans[i].to);
	mdl_timing_insert(lane, i, start, start + len);
	return start;
}

/*
 * Reserve the wire for a message of @len bytes from @ready on, but not before @last, the end of
 * the previous message of the same queue pair and direction. Returns the time of arrival, and sets
 * @last to the end of this message.
 */
static u64 mdl_timing_wire(struct mdl_dev *dev, const struct mdl_qp *qp, u64 *last, u64 ready,
			   u32 len)
{
	u32 mtu = ib_mtu_enum_to_int(qp->attr.path_mtu);
	u32 packets = max(DIV_ROUND_UP(len, mtu), 1);
	const struct mdl_timing *t = &dev->busy.timing;
	u64 took = mdl_timing_bits(len + (u64)packets * t->header_bytes, t->link_mbps);

	*last = mdl_timing_reserve(&dev->busy.wire, max(ready, *last), took) + took;
	return *last + t->round_trip_ns / 2;
}

/* Read @len bytes from host memory; returns the time at which the first of them arrive. */
static u64 mdl_timing_fetch(struct mdl_dev *dev, u64 ready, u32 len)
{
	const struct mdl_timing *t = &dev->busy.timing;

	return mdl_timing_reserve(&dev->busy.pcie, ready, mdl_timing_bits(len, t->pcie_mbps)) +
	       t->pcie_read_ns;
}

/* Time of a request on a memory region, ns; 0 for other requests. */
static u64 mdl_timing_memory_ns(const struct mdl_timing *t, const struct mdl_swqe *wqe)
{
	if (wqe->opcode == IB_WR_REG_MR)
		return t->reg_mr_ns + (u64)wqe->pages * t->reg_mr_page_ns;
	return wqe->opcode == IB_WR_LOCAL_INV ? t->local_inv_ns : 0;
}

/* Reserve the processing of a request; returns the time at which its execution starts. */
static u64 mdl_timing_start(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	const struct mdl_timing *t = &dev->busy.timing;
	struct mdl_pace *pace = qp->pace;
	u64 start, engine;

	/* A retried request, or one that waited for a retry, must not start in the past. */
	start = max(wqe->posted, mdl_clock_now()) + t->doorbell_to_fetch_ns + t->wqe_fetch_ns;
	start = max(start, pace->sq);
	if (wqe->flags & IB_SEND_FENCE && pace->reads)
		start = max(start, pace->read_ends[(pace->reads - 1) % MDL_TIMING_READS]);
	if (wqe->opcode == IB_WR_RDMA_READ && pace->reads >= qp->attr.max_rd_atomic)
		start = max(start, pace->read_ends[(pace->reads - qp->attr.max_rd_atomic) %
						   MDL_TIMING_READS]);
	engine = (u64)t->device_wqe_ns * mdl_timing_blocks(dev, wqe);
	if (t->reg_mr_stalls)
		engine = max(engine, mdl_timing_memory_ns(t, wqe));
	start = mdl_timing_reserve(&dev->busy.wqe, start, engine);
	pace->sq = start + t->wqe_ns;
	return start;
}

/* Time a request on a memory region: the next request of the queue starts after its end. */
static void mdl_timing_memory(struct mdl_qp *qp, struct mdl_swqe *wqe, u64 start)
{
	start += mdl_timing_memory_ns(&mdl_dev_of(qp->ib.device)->busy.timing, wqe);
	qp->pace->sq = max(qp->pace->sq, start);
	wqe->arrives = start;
	wqe->ends = start;
}

/* Return the time at which the responder has invalidated the key of a SEND_WITH_INV. */
static u64 mdl_timing_invalidate(struct mdl_dev *peer, u64 arrives)
{
	const struct mdl_timing *t = &peer->busy.timing;

	if (t->reg_mr_stalls)
		arrives = mdl_timing_reserve(&peer->busy.wqe, arrives, t->local_inv_ns);
	return arrives + t->local_inv_ns;
}

static void mdl_timing_read(struct mdl_qp *qp, struct mdl_dev *peer, struct mdl_swqe *wqe,
			    u64 start)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	struct mdl_pace *pace = qp->pace;
	u64 asked = mdl_timing_wire(dev, qp, &pace->sent, start, MDL_RETH_BYTES);

	wqe->arrives = asked;
	wqe->ends = mdl_timing_wire(peer, qp, &pace->answered,
				    mdl_timing_fetch(peer, asked, wqe->length), wqe->length);
	pace->read_ends[pace->reads++ % MDL_TIMING_READS] = wqe->ends;
}

/**
 * mdl_timing_request - compute the times at which a request arrives and ends
 * @qp: queue pair
 * @peer: device of the responder; for requests on memory regions, the requester's device
 * @wqe: work request that is being executed; returns the times in @arrives and @ends
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
		mdl_timing_memory(qp, wqe, start);
		return;
	case IB_WR_RDMA_READ:
		mdl_timing_read(qp, peer, wqe, start);
		return;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		len += MDL_RETH_BYTES;
		break;
	}
	/* Inline data need no fetch: the adapter has them with the work request. */
	if (wqe->length && !(wqe->flags & IB_SEND_INLINE))
		start = mdl_timing_fetch(dev, start, wqe->length);
	wqe->arrives = mdl_timing_wire(dev, qp, &qp->pace->sent, start, len);
	wqe->ends = wqe->arrives + t->round_trip_ns / 2;
	if (wqe->opcode == IB_WR_SEND_WITH_INV)
		wqe->arrives = mdl_timing_invalidate(peer, wqe->arrives);
}
