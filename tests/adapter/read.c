// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA READs in flight, whose data may be placed late or twice.
 *
 * Operation: normally a READ is executed when it is issued, and completes after the requests
 * before it. A nasty device can leave the READ in flight. With "late", the READ is divided into up
 * to 64 parts; later, and in any order, each part is read from the responder's memory and written
 * to the requester's memory. Parts of different READs can alternate. With "again", the whole READ
 * is executed once more later. Requests behind the READ are executed while the READ is in flight,
 * unless they are fenced.
 *
 * Ownership: the work request in the ring records the missing parts.
 *
 * Concurrency: only the engine of the requester uses these functions.
 *
 * Errors: if a part fails, the READ ends with the status of this part.
 */
#include "model.h"

/* Longest delay of the first parts of a late READ, and of further parts, us. */
#define MDL_READ_LATE_US	300
#define MDL_READ_NEXT_US	400
/* Longest delay of the second execution of a READ, us. */
#define MDL_READ_AGAIN_US	500
#define MDL_READ_PARTS		64
#define MDL_READ_PART_MIN	128

static struct mdl_dev *mdl_read_dev(const struct mdl_qp *qp)
{
	return mdl_dev_of(qp->ib.device);
}

static u32 mdl_read_part(const struct mdl_swqe *wqe)
{
	return max(DIV_ROUND_UP(wqe->length, MDL_READ_PARTS), MDL_READ_PART_MIN);
}

static ktime_t mdl_read_later(const struct mdl_qp *qp, u32 us)
{
	return ktime_add_us(ktime_get(), 1 + mdl_random(mdl_read_dev(qp), us));
}

/* Finish a READ whose data are placed, or schedule its second execution. */
static void mdl_read_placed(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	if (!wqe->again && mdl_nasty(mdl_read_dev(qp), MDL_NASTY_AGAIN)) {
		wqe->again = true;
		wqe->due = mdl_read_later(qp, MDL_READ_AGAIN_US);
		return;
	}
	mdl_sq_finished(qp, wqe, IB_WC_SUCCESS);
}

static enum ib_wc_status mdl_read_all(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	wqe->from = 0;
	wqe->bytes = wqe->length;
	return mdl_sq_execute(qp, wqe);
}

/* Execute a random number of the missing parts, in random order. */
static enum ib_wc_status mdl_read_parts(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_read_dev(qp);
	u32 n = 1 + mdl_random(dev, hweight64(wqe->missing)), part = mdl_read_part(wqe), i;
	u32 parts = max(DIV_ROUND_UP(wqe->length, part), 1);
	enum ib_wc_status status;

	while (n--) {
		i = mdl_random(dev, parts);
		/* Skip the parts that are placed; at least one is missing. */
		while (!(wqe->missing & BIT_ULL(i)))
			i = (i + 1) % parts;
		wqe->from = i * part;
		wqe->bytes = min(part, wqe->length - wqe->from);
		status = mdl_sq_execute(qp, wqe);
		if (status != IB_WC_SUCCESS)
			return status;
		wqe->missing &= ~BIT_ULL(i);
		mdl_count(dev, MDL_STAT_PIECE);
	}
	return IB_WC_SUCCESS;
}

/* Continue a READ that is due; returns MDL_STATUS_* if the send queue waits. */
static enum ib_wc_status mdl_read_due(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	enum ib_wc_status status;

	if (wqe->again) {
		status = mdl_read_all(qp, wqe);
		if (status == IB_WC_SUCCESS) {
			mdl_nasty_count(mdl_read_dev(qp), MDL_NASTY_AGAIN);
			mdl_sq_finished(qp, wqe, status);
		}
	} else {
		status = mdl_read_parts(qp, wqe);
		if (wqe->missing)
			wqe->due = mdl_read_later(qp, MDL_READ_NEXT_US);
		else
			mdl_read_placed(qp, wqe);
	}
	if (status != IB_WC_SUCCESS && status != MDL_STATUS_RNR && status != MDL_STATUS_NO_ANSWER)
		mdl_sq_finished(qp, wqe, status);
	return status;
}

/**
 * mdl_read_issue - issue an RDMA READ
 * @qp: queue pair; sq.reads includes this READ
 * @wqe: work request
 *
 * Context: engine.
 * Return: status; MDL_STATUS_* if the send queue waits.
 */
enum ib_wc_status mdl_read_issue(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_read_dev(qp);
	enum ib_wc_status status;
	u32 parts;

	if (mdl_nasty(dev, MDL_NASTY_LATE)) {
		parts = max(DIV_ROUND_UP(wqe->length, mdl_read_part(wqe)), 1);
		wqe->missing = GENMASK_ULL(parts - 1, 0);
		wqe->due = mdl_read_later(qp, MDL_READ_LATE_US);
		mdl_nasty_count(dev, MDL_NASTY_LATE);
		return IB_WC_SUCCESS;
	}
	status = mdl_read_all(qp, wqe);
	if (status == IB_WC_SUCCESS)
		mdl_read_placed(qp, wqe);
	else if (status != MDL_STATUS_RNR && status != MDL_STATUS_NO_ANSWER)
		mdl_sq_finished(qp, wqe, status);
	return status;
}

/**
 * mdl_read_go_on - continue the READs in flight that are due
 * @qp: queue pair
 *
 * Context: engine.
 */
void mdl_read_go_on(struct mdl_qp *qp)
{
	struct mdl_sq *sq = &qp->sq;
	ktime_t next = KTIME_MAX;
	struct mdl_swqe *wqe;
	u32 i, reads;

	for (i = sq->done, reads = sq->reads; i != sq->next && reads; i++) {
		wqe = &sq->wqe[i % sq->size];
		if (wqe->opcode != IB_WR_RDMA_READ)
			continue;
		reads--;
		if (wqe->finished)
			continue;
		if (!ktime_after(wqe->due, ktime_get())) {
			switch (mdl_read_due(qp, wqe)) {
			case MDL_STATUS_RNR:
			case MDL_STATUS_NO_ANSWER:
				return;
			case IB_WC_SUCCESS:
				break;
			default:
				sq->stopped = true;
			}
		}
		if (!wqe->finished)
			next = min(next, wqe->due);
	}
	if (next != KTIME_MAX)
		mdl_delay_qp(qp, next);
}
