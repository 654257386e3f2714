// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers of receive slots and requests of a connection.
 *
 * Operation
 *
 * A credit is a receive slot that the peer has posted, so the slots of an end limit the number
 * of frames that its peer may send. A connection begins with few slots at each end. An end
 * asks the peer for twice as many slots when few credits are left after it has sent requests or
 * replies. If a request had to wait because the allowed number of requests was in flight, the
 * client asks for twice this number. Both numbers are in one control entry, SLOTS. The
 * peer allocates as much as it can and answers with the new numbers. Each new slot is a new
 * credit.
 *
 * If the highest number of slots (or requests) that were in use during an observation period is
 * less than a quarter of the available number, SLOTS reduces the available number to about twice
 * this highest number, but not below the initial number. A posted slot cannot be taken back from
 * the device, so the sender of SLOTS spends the credits that it gives up: the frame with SLOTS
 * uses the first of them, and empty frames use the others. The receiver does not post the slots
 * of these frames again. From the time at which it sends SLOTS, a client has at most the reduced
 * number of requests in flight.
 *
 * Ownership: nothing is allocated here.
 *
 * Concurrency: the lock of the connection protects both directions.
 *
 * Errors: an invalid SLOTS or SLOTS_REPLY of the peer is a protocol error. If the peer grants
 * nothing of an increase, this end does not ask for an increase again before the end of the
 * observation period.
 */
#include "flow.h"
#include "portable.h"

/* Number of credits that are kept for other frames when credits are given up. */
#define RNBD_FLOW_KEEP		3
/* Limit of credits given up at once: a frame is sent for each, with interrupts disabled. */
#define RNBD_FLOW_GIVE		64

/* Initial and lowest value of the limit on requests in flight on a connection. */
static u16 rnbd_flow_first_depth(u16 max_depth)
{
	return min(max_depth, RNBD_DEPTH_FIRST);
}

/**
 * rnbd_flow_out_init - prepare the sending direction of a new connection
 * @out: direction
 * @slots: receive slots that the peer has posted; 0 if their number is not known yet
 * @max_slots: maximum number of receive slots of the peer
 *
 * Context: any.
 */
void rnbd_flow_out_init(struct rnbd_flow_out *out, u16 slots, u16 max_slots)
{
	*out = (struct rnbd_flow_out) {
		.slots = slots,
		.max_slots = max_slots,
		.credits = slots,
		.low = slots,
	};
}

/**
 * rnbd_flow_out_enable - allow this end to ask for other numbers of slots and requests
 * @out: direction of a connection on which the login or join is granted
 * @max_depth: granted maximum of requests in flight; 0 if this direction carries no requests
 *
 * Context: the lock of the connection held.
 */
void rnbd_flow_out_enable(struct rnbd_flow_out *out, u16 max_depth)
{
	out->depth = rnbd_flow_first_depth(max_depth);
	out->max_depth = max_depth;
	out->on = true;
}

/**
 * rnbd_flow_more - compute increased numbers of slots and requests to ask for
 * @out: direction
 * @info: result: numbers to ask for
 *
 * Context: the lock of the connection held.
 * Return: false if no more are needed, or the peer cannot be asked now.
 */
bool rnbd_flow_more(const struct rnbd_flow_out *out, struct rnbd_slots_info *info)
{
	if (!rnbd_flow_is_short(out))
		return false;
	info->slots = out->slots;
	info->depth = out->depth;
	if (rnbd_flow_short_slots(out))
		info->slots = min(2 * out->slots, (int)out->max_slots);
	if (rnbd_flow_short_requests(out))
		info->depth = min(2 * out->depth, (int)out->max_depth);
	return true;
}

/*
 * Compute the number of slots to ask for at the end of a period. Credits, the number of frames that
 * can be sent, and RNBD_FLOW_GIVE limit the number of slots that are given up.
 */
static u16 rnbd_flow_fewer_slots(const struct rnbd_flow_out *out, u16 frames)
{
	int used = out->slots - out->low, give = 0;

	frames = min(frames, out->credits);
	if (4 * used < out->slots && out->slots > RNBD_RING_SLOTS_MIN && frames > RNBD_FLOW_KEEP)
		give = min(out->slots - max(2 * used, RNBD_RING_SLOTS_MIN),
			   frames - RNBD_FLOW_KEEP);
	return out->slots - min(give, RNBD_FLOW_GIVE);
}

static u16 rnbd_flow_fewer_requests(const struct rnbd_flow_out *out)
{
	int depth = out->depth;
	int first = rnbd_flow_first_depth(out->max_depth);
	int most = DIV_ROUND_UP(2 * out->busy, RNBD_DEPTH_FIRST) * RNBD_DEPTH_FIRST;

	return 4 * out->busy < depth ? min(max(most, first), depth) : depth;
}

/**
 * rnbd_flow_less - compute reduced numbers of slots and requests at the end of a period
 * @out: direction
 * @frames: number of free send slots, which limits the number of slots to give up
 * @info: result: numbers to ask for
 *
 * Context: the lock of the connection held.
 * Return: false if neither number is lower than now, or the peer cannot be asked now.
 */
bool rnbd_flow_less(const struct rnbd_flow_out *out, u16 frames, struct rnbd_slots_info *info)
{
	if (!out->on || out->open)
		return false;
	info->slots = rnbd_flow_fewer_slots(out, frames);
	info->depth = rnbd_flow_fewer_requests(out);
	return info->slots < out->slots || info->depth < out->depth;
}

/**
 * rnbd_flow_ask - record a request for slots that is about to be sent
 * @out: direction without an open request
 * @info: numbers in the request. If the request gives up slots, the caller must send one frame for
 *	each of them; the frame with the request counts as one. From now on the caller must
 *	have at most out->depth requests in flight
 *
 * Context: the lock of the connection held.
 */
void rnbd_flow_ask(struct rnbd_flow_out *out, const struct rnbd_slots_info *info)
{
	out->open = true;
	out->asked = *info;
	out->depth = min(out->depth, info->depth);
}

/* A reduction must be granted exactly; an increase may be granted in part or not at all. */
static bool rnbd_flow_answer_ok(u16 was, u16 asked, u16 now)
{
	return asked < was ? now == asked : now >= was && now <= asked;
}

/**
 * rnbd_flow_answered - handle the answer of the peer to a request for slots
 * @out: direction
 * @info: answer
 *
 * Context: the lock of the connection held.
 * Return: RNBD_PERR_NONE, RNBD_PERR_TYPE if no request is open, RNBD_PERR_GEOMETRY if the
 * answer does not match the request, or RNBD_PERR_CREDITS if the peer has returned
 * credits for slots that were given up.
 */
enum rnbd_proto_err rnbd_flow_answered(struct rnbd_flow_out *out,
				       const struct rnbd_slots_info *info)
{
	bool more = out->asked.slots > out->slots || out->asked.depth > out->depth;

	if (!out->open)
		return RNBD_PERR_TYPE;
	if (!rnbd_flow_answer_ok(out->slots, out->asked.slots, info->slots) ||
	    !rnbd_flow_answer_ok(out->depth, out->asked.depth, info->depth))
		return RNBD_PERR_GEOMETRY;
	out->refused = more && info->slots <= out->slots && info->depth <= out->depth;
	if (info->slots > out->slots)
		out->credits += info->slots - out->slots;
	/* If the depth did not grow, the request that lacked a tag possibly still waits. */
	if (info->depth > out->depth)
		out->short_depth = false;
	out->slots = info->slots;
	out->depth = info->depth;
	if (out->credits > out->slots)
		return RNBD_PERR_CREDITS;
	out->low = out->slots;
	out->open = false;
	return RNBD_PERR_NONE;
}

/**
 * rnbd_flow_end_period - begin a new observation period
 * @out: direction
 *
 * Context: the lock of the connection held.
 */
void rnbd_flow_end_period(struct rnbd_flow_out *out)
{
	out->low = out->slots;
	out->busy = 0;
	out->short_depth = false;
	out->refused = false;
}

/**
 * rnbd_flow_in_init - prepare the receiving direction of a new connection
 * @in: direction
 * @slots: receive slots of this end that are posted
 * @max_slots: maximum number of receive slots that the peer may ask for
 *
 * Context: any.
 */
void rnbd_flow_in_init(struct rnbd_flow_in *in, u16 slots, u16 max_slots)
{
	*in = (struct rnbd_flow_in) {
		.slots = slots,
		.max_slots = max_slots,
	};
}

/**
 * rnbd_flow_in_enable - allow the peer to have requests in flight
 * @in: direction
 * @max_depth: maximum number of requests in flight that the peer may ask for
 *
 * Context: the lock of the connection held.
 */
void rnbd_flow_in_enable(struct rnbd_flow_in *in, u16 max_depth)
{
	in->depth = rnbd_flow_first_depth(max_depth);
	in->max_depth = max_depth;
}

/**
 * rnbd_flow_asked - handle a request of the peer for other numbers of slots and requests
 * @in: direction
 * @info: numbers in the request
 *
 * If the function sets in->grow, the caller allocates memory and calls rnbd_flow_grown().
 *
 * Context: the lock of the connection held.
 * Return: RNBD_PERR_NONE, RNBD_PERR_RATE if the previous request was not answered yet, or
 * RNBD_PERR_GEOMETRY if the connection does not allow these numbers.
 */
enum rnbd_proto_err rnbd_flow_asked(struct rnbd_flow_in *in, const struct rnbd_slots_info *info)
{
	if (in->open)
		return RNBD_PERR_RATE;
	if (info->slots < RNBD_RING_SLOTS_MIN || info->slots > in->max_slots ||
	    info->depth < rnbd_flow_first_depth(in->max_depth) || info->depth > in->max_depth)
		return RNBD_PERR_GEOMETRY;
	in->open = true;
	in->asked = *info;
	if (info->slots < in->slots)
		in->retire = in->slots - info->slots;
	in->grow = info->slots > in->slots || info->depth > in->depth;
	in->depth = min(in->depth, info->depth);
	return RNBD_PERR_NONE;
}

/**
 * rnbd_flow_grown - record the slots and requests allocated for the latest SLOTS of the peer
 * @in: direction with in->grow set
 * @slots: number of slots that were added and posted
 * @depth: new number of requests that the peer may have in flight
 *
 * Context: the lock of the connection held.
 */
void rnbd_flow_grown(struct rnbd_flow_in *in, u16 slots, u16 depth)
{
	in->slots += slots;
	in->depth = depth;
	in->grow = false;
}

/**
 * rnbd_flow_reply - get the answer to the latest SLOTS of the peer
 * @in: direction; the caller clears in->open when it sends the answer
 * @info: result: numbers in the answer
 *
 * Context: the lock of the connection held.
 * Return: false if no SLOTS of the peer is open, or if this end has not allocated the memory for it
 * yet, or not received all frames that use the given-up slots.
 */
bool rnbd_flow_reply(const struct rnbd_flow_in *in, struct rnbd_slots_info *info)
{
	if (!in->open || in->grow || in->retire)
		return false;
	info->slots = in->slots;
	info->depth = in->depth;
	return true;
}
