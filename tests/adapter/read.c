// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA READs in flight: data that are placed late or twice.
 *
 * Operation: a READ is executed when it is issued, in its turn, and completes when the
 * requests before it have. A device that is nasty leaves it in flight: with "late" the
 * responder's memory is read and the requester's is written in up to 64 parts, later, in
 * any order, mixed with those of other READs in flight; with "again" the whole READ is
 * executed once more later. Requests behind it are executed in between unless they are
 * fenced.
 *
 * Ownership: the work request in the ring says what is missing.
 *
 * Concurrency: the engine of the requester.
 *
 * Errors: a part that fails ends the READ with its status.
 */
#include "model.h"

/* A part is late, and then the next ones, by less than that, us. */
#define MDL_READ_LATE_US	300
#define MDL_READ_NEXT_US	400
/* A READ is executed again after less than that, us. */
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

/* All data are there: the READ is done, or will be executed again. */
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

/* Some of the parts that are missing, each picked by chance. */
static enum ib_wc_status mdl_read_parts(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_read_dev(qp);
	u32 n = 1 + mdl_random(dev, hweight64(wqe->missing)), part = mdl_read_part(wqe), i;
	u32 parts = max(DIV_ROUND_UP(wqe->length, part), 1);
	enum ib_wc_status status;

	while (n--) {
		i = mdl_random(dev, parts);
		/* The next one that is missing; there is one. */
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

/* A READ whose time has come; MDL_STATUS_* if the send queue waits. */
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
 * @qp: queue pair, whose READs in flight include this one
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
 * mdl_read_go_on - execute the READs in flight that are due
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
