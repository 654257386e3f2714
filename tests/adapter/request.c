// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of reliable connections: SEND, RDMA WRITE, RDMA READ, and requests on memory
 * regions.
 *
 * Operation: the engine of the requester also does the work of the responder's adapter: the
 * engine takes the receive work request, checks the remote key, copies the data packet by
 * packet, and delivers the receive completion. A READ can be executed in parts; the work
 * request names the current part.
 *
 * Ownership: the requester's engine holds a reference to the responder's queue pair while it
 * executes a request.
 *
 * Concurrency: the requests of one queue pair are executed one after the other. Requests of
 * different queue pairs are not ordered.
 *
 * Errors: functions return the status for the requester's completion. A responder that refuses a
 * request enters the error state and raises an event, as the InfiniBand specification demands.
 */
#include "model.h"

/* Both ends of a request that is being executed. */
struct mdl_exchange {
	struct mdl_dev *dev;
	struct mdl_qp *qp;
	struct mdl_swqe *wqe;
	struct mdl_dev *peer_dev;
	struct mdl_qp *peer;
};

static void mdl_wrong_request(const struct mdl_exchange *x, const char *wrong)
{
	mdl_violation(x->dev, x->qp, x->wqe->wr_id, "%s (opcode %u)", wrong, x->wqe->opcode);
}

/* Find the responder, take a reference and begin to serve; false if no responder answers. */
static bool mdl_find_peer(struct mdl_exchange *x)
{
	struct mdl_qp *peer;

	x->peer_dev = mdl_find_gid(&x->qp->av.dgid);
	if (!x->peer_dev || !READ_ONCE(x->peer_dev->active) || !READ_ONCE(x->dev->active))
		return false;
	peer = mdl_qp_get(x->peer_dev, x->qp->attr.dest_qp_num);
	if (!peer)
		return false;
	if (peer->ib.qp_type != IB_QPT_RC || peer->attr.dest_qp_num != x->qp->ib.qp_num ||
	    !mdl_qp_serve(peer)) {
		mdl_qp_put(peer);
		return false;
	}
	x->peer = peer;
	if (peer->state == IB_QPS_RTR && !peer->established) {
		peer->established = true;
		mdl_event_qp(peer, IB_EVENT_COMM_EST);
	}
	return true;
}

/* Return the position at the beginning of the request's local memory or inline data. */
static struct mdl_mem mdl_local(const struct mdl_exchange *x, int access)
{
	return (struct mdl_mem) {
		.dev = x->dev,
		.qp = x->qp,
		.by = x->qp,
		.wr_id = x->wqe->wr_id,
		.sge = x->wqe->sge,
		.num_sge = x->wqe->num_sge,
		.access = access,
		.data = x->wqe->flags & IB_SEND_INLINE ? x->wqe->data : NULL,
	};
}

/* Return the position at the beginning of the responder's memory, which @sge names. */
static struct mdl_mem mdl_remote(const struct mdl_exchange *x, const struct ib_sge *sge,
				 int access)
{
	return (struct mdl_mem) {
		.dev = x->peer_dev,
		.qp = x->peer,
		.by = x->qp,
		.wr_id = x->wqe->wr_id,
		.sge = sge,
		.num_sge = 1,
		.access = access,
	};
}

static void mdl_refuse(struct mdl_exchange *x, enum ib_event_type event)
{
	mdl_qp_fail(x->peer);
	mdl_event_qp(x->peer, event);
}

static enum ib_wc_status mdl_check_remote(struct mdl_exchange *x, struct mdl_mem *mem)
{
	if (!x->wqe->length)
		return IB_WC_SUCCESS;
	if (mem->access & ~x->peer->attr.qp_access_flags)
		mdl_wrong_request(x, "access that the responder's queue pair does not allow");
	else if (mdl_mem_check(mem) == IB_WC_SUCCESS)
		return IB_WC_SUCCESS;
	mdl_refuse(x, IB_EVENT_QP_ACCESS_ERR);
	return IB_WC_REM_ACCESS_ERR;
}

/* Copy the data of the request; returns @from_wrong or @to_wrong if @from or @to fails. */
static enum ib_wc_status mdl_move(struct mdl_exchange *x, struct mdl_mem *from,
				  struct mdl_mem *to, enum ib_wc_status from_wrong,
				  enum ib_wc_status to_wrong)
{
	u32 mtu = ib_mtu_enum_to_int(x->qp->attr.path_mtu);
	void *packet = x->dev->engine.packet;
	u32 left, n;

	for (left = x->wqe->bytes; left; left -= n) {
		n = min3(left, mtu, MDL_MAX_PACKET);
		if (mdl_mem_move(from, packet, n))
			return from_wrong;
		if (mdl_mem_move(to, packet, n))
			return to_wrong;
	}
	return IB_WC_SUCCESS;
}

static void mdl_moved(struct mdl_dev *from, struct mdl_dev *to, u32 len)
{
	mdl_add(from, MDL_STAT_BYTES_OUT, len);
	mdl_add(to, MDL_STAT_BYTES_IN, len);
}

static bool mdl_take_recv(struct mdl_exchange *x, struct mdl_rwqe *rwqe)
{
	bool below;

	if (mdl_nasty_rnr(x->peer_dev, x->qp, mdl_sq_rnr_delay(x->qp)))
		return false;
	if (!mdl_rq_take(mdl_qp_rq(x->peer), rwqe, x->dev->engine.sge, &below)) {
		mdl_count(x->peer_dev, MDL_STAT_NO_RECEIVE);
		return false;
	}
	if (below)
		mdl_event_srq(mdl_srq_of(x->peer->ib.srq), IB_EVENT_SRQ_LIMIT_REACHED);
	return true;
}

/* Status of a request that finds no receive work request: no answer if there are no RNR NAKs. */
static enum ib_wc_status mdl_not_ready(const struct mdl_exchange *x)
{
	return x->peer_dev->profile->features & MDL_F_RNR ? MDL_STATUS_RNR :
							    MDL_STATUS_NO_ANSWER;
}

/* Complete the receive work request with an error, and fail the responder's queue pair. */
static void mdl_recv_wrong(struct mdl_exchange *x, const struct mdl_rwqe *rwqe,
			   enum ib_wc_status status)
{
	struct ib_wc wc = { .status = status, .opcode = IB_WC_RECV };

	mdl_qp_recv_done(x->peer, rwqe, &wc, true, x->wqe->arrives);
	mdl_qp_fail(x->peer);
}

static enum ib_wc_status mdl_recv_done(struct mdl_exchange *x, const struct mdl_rwqe *rwqe)
{
	struct mdl_swqe *wqe = x->wqe;
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = wqe->length,
		.src_qp = x->qp->ib.qp_num,
	};

	if (wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	if (wqe->opcode == IB_WR_SEND_WITH_IMM || wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = wqe->imm.imm_data;
	}
	if (wqe->opcode == IB_WR_SEND_WITH_INV) {
		wc.wc_flags |= IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = wqe->imm.invalidate_rkey;
	}
	mdl_place_all(x->peer);
	if (!mdl_qp_recv_done(x->peer, rwqe, &wc, wqe->flags & IB_SEND_SOLICITED, wqe->arrives))
		return IB_WC_REM_OP_ERR;
	return IB_WC_SUCCESS;
}

static enum ib_wc_status mdl_send(struct mdl_exchange *x)
{
	struct mdl_mem from = mdl_local(x, 0), to;
	enum ib_wc_status status;
	struct mdl_rwqe rwqe;
	const char *wrong;

	if (mdl_mem_check(&from))
		return IB_WC_LOC_PROT_ERR;
	if (!mdl_take_recv(x, &rwqe))
		return mdl_not_ready(x);
	if (x->wqe->length > mdl_mem_length(rwqe.sge, rwqe.num_sge)) {
		mdl_recv_wrong(x, &rwqe, IB_WC_LOC_LEN_ERR);
		return IB_WC_REM_INV_REQ_ERR;
	}
	to = (struct mdl_mem) {
		.dev = x->peer_dev,
		.qp = x->peer,
		.by = x->peer,
		.wr_id = rwqe.wr_id,
		.sge = rwqe.sge,
		.num_sge = rwqe.num_sge,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	status = mdl_mem_check(&to) ? IB_WC_REM_OP_ERR :
		 mdl_move(x, &from, &to, IB_WC_LOC_PROT_ERR, IB_WC_REM_OP_ERR);
	if (status) {
		mdl_recv_wrong(x, &rwqe, status == IB_WC_REM_OP_ERR ? IB_WC_LOC_PROT_ERR :
								      IB_WC_WR_FLUSH_ERR);
		return status;
	}
	if (x->wqe->opcode == IB_WR_SEND_WITH_INV) {
		wrong = mdl_mr_invalidate(x->peer_dev, x->peer->ib.pd,
					  x->wqe->imm.invalidate_rkey);
		if (wrong) {
			mdl_wrong_request(x, wrong);
			mdl_recv_wrong(x, &rwqe, IB_WC_LOC_QP_OP_ERR);
			return IB_WC_REM_ACCESS_ERR;
		}
	}
	mdl_moved(x->dev, x->peer_dev, x->wqe->length);
	mdl_count(x->peer_dev, MDL_STAT_SERVED_SEND);
	return mdl_recv_done(x, &rwqe);
}

/* Defer a WRITE if mdl_place_alloc() decides so; @deferred returns the decision. */
static enum ib_wc_status mdl_defer(struct mdl_exchange *x, struct mdl_mem *from, bool *deferred)
{
	struct mdl_place *place = mdl_place_alloc(x->peer, x->wqe);

	*deferred = place;
	if (!place)
		return IB_WC_SUCCESS;
	if (mdl_mem_move(from, mdl_place_data(place), x->wqe->length)) {
		mdl_place_free(place);
		return IB_WC_LOC_PROT_ERR;
	}
	mdl_place_add(x->peer, place);
	return IB_WC_SUCCESS;
}

static enum ib_wc_status mdl_write(struct mdl_exchange *x)
{
	struct ib_sge sge = { x->wqe->remote_addr, x->wqe->length, x->wqe->rkey };
	struct mdl_mem to = mdl_remote(x, &sge, IB_ACCESS_REMOTE_WRITE);
	struct mdl_mem from = mdl_local(x, 0);
	enum ib_wc_status status;
	struct mdl_rwqe rwqe;
	bool deferred;

	if (mdl_mem_check(&from))
		return IB_WC_LOC_PROT_ERR;
	status = mdl_check_remote(x, &to);
	if (status)
		return status;
	if (x->wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM && !mdl_take_recv(x, &rwqe))
		return mdl_not_ready(x);
	mdl_place_before(x->peer, x->wqe);
	status = mdl_defer(x, &from, &deferred);
	if (!deferred)
		status = mdl_move(x, &from, &to, IB_WC_LOC_PROT_ERR, IB_WC_REM_ACCESS_ERR);
	if (status == IB_WC_REM_ACCESS_ERR)
		mdl_refuse(x, IB_EVENT_QP_ACCESS_ERR);
	if (status) {
		if (x->wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
			mdl_recv_wrong(x, &rwqe, IB_WC_WR_FLUSH_ERR);
		return status;
	}
	mdl_moved(x->dev, x->peer_dev, x->wqe->length);
	mdl_count(x->peer_dev, MDL_STAT_SERVED_WRITE);
	if (x->wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		return mdl_recv_done(x, &rwqe);
	return IB_WC_SUCCESS;
}

static enum ib_wc_status mdl_read(struct mdl_exchange *x)
{
	struct ib_sge sge = { x->wqe->remote_addr, x->wqe->length, x->wqe->rkey };
	struct mdl_mem from = mdl_remote(x, &sge, IB_ACCESS_REMOTE_READ);
	struct mdl_mem to = mdl_local(x, IB_ACCESS_LOCAL_WRITE);
	enum ib_wc_status status;

	if (!x->qp->attr.max_rd_atomic) {
		mdl_wrong_request(x, "RDMA READ on a queue pair with max_rd_atomic 0");
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (x->qp->sq.reads > x->peer->attr.max_dest_rd_atomic) {
		mdl_wrong_request(x, "more RDMA READs than the responder's max_dest_rd_atomic");
		mdl_refuse(x, IB_EVENT_QP_REQ_ERR);
		return IB_WC_REM_INV_REQ_ERR;
	}
	if (mdl_mem_check(&to))
		return IB_WC_LOC_PROT_ERR;
	status = mdl_check_remote(x, &from);
	if (status)
		return status;
	mdl_place_all(x->peer);
	if (x->wqe->from) {
		mdl_mem_skip(&from, x->wqe->from);
		mdl_mem_skip(&to, x->wqe->from);
	}
	status = mdl_move(x, &from, &to, IB_WC_REM_ACCESS_ERR, IB_WC_LOC_PROT_ERR);
	if (status == IB_WC_REM_ACCESS_ERR)
		mdl_refuse(x, IB_EVENT_QP_ACCESS_ERR);
	if (status)
		return status;
	mdl_moved(x->peer_dev, x->dev, x->wqe->bytes);
	if (!x->wqe->from)
		mdl_count(x->peer_dev, MDL_STAT_SERVED_READ);
	return IB_WC_SUCCESS;
}

/* Execute a request on a memory region of the requester. */
static enum ib_wc_status mdl_memory(struct mdl_exchange *x)
{
	const char *wrong;

	if (mdl_timed)
		mdl_timing_request(x->qp, x->dev, x->wqe);
	if (x->wqe->opcode == IB_WR_REG_MR)
		wrong = mdl_mr_register(x->dev, x->qp->ib.pd, x->wqe);
	else
		wrong = mdl_mr_invalidate(x->dev, x->qp->ib.pd, x->wqe->imm.invalidate_rkey);
	if (!wrong)
		return IB_WC_SUCCESS;
	mdl_wrong_request(x, wrong);
	return IB_WC_MW_BIND_ERR;
}

/* Execute a request that has a responder. */
static enum ib_wc_status mdl_remote_request(struct mdl_exchange *x)
{
	if (mdl_timed)
		mdl_timing_request(x->qp, x->peer_dev, x->wqe);
	switch (x->wqe->opcode) {
	case IB_WR_RDMA_READ:
		return mdl_read(x);
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return mdl_write(x);
	default:
		return mdl_send(x);
	}
}

/**
 * mdl_request - execute a request of a reliable connection
 * @qp: queue pair
 * @wqe: work request
 *
 * Context: engine, RCU read section.
 * Return: status, or MDL_STATUS_* if the request must be retried.
 */
enum ib_wc_status mdl_request(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_exchange x = { mdl_dev_of(qp->ib.device), qp, wqe };
	enum ib_wc_status status, error;
	bool executed = true, fails;

	fails = mdl_nasty_error(x.dev, wqe, &error, &executed);
	if (fails && !executed && error != IB_WC_REM_OP_ERR) {
		mdl_nasty_count(x.dev, MDL_NASTY_ERROR);
		return error;
	}
	if (wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_LOCAL_INV)
		return mdl_memory(&x);
	if (!mdl_find_peer(&x))
		return MDL_STATUS_NO_ANSWER;
	if (executed) {
		status = mdl_remote_request(&x);
	} else {
		mdl_refuse(&x, IB_EVENT_QP_FATAL);
		status = IB_WC_SUCCESS;
	}
	mdl_qp_served(x.peer);
	mdl_qp_put(x.peer);
	if (!fails || status != IB_WC_SUCCESS)
		return status;
	mdl_nasty_count(x.dev, MDL_NASTY_ERROR);
	return error;
}
