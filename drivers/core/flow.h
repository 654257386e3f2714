/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of receive slots and requests of a connection. See flow.c. */
#ifndef RNBD_CORE_FLOW_H
#define RNBD_CORE_FLOW_H

#include "slots.h"

/**
 * struct rnbd_flow_out - sending direction; protected by the lock of the connection
 * @slots: receive slots of the peer
 * @max_slots: maximum of @slots that this end may ask for
 * @credits: frames that this end may send now: receive slots of the peer that are not used yet
 * @low: lowest value of @credits after a frame with requests or replies, since the latest
 *	SLOTS_REPLY or the start of the observation period, whichever is later; @slots if
 *	there was no such frame
 * @depth: requests that may be in flight; 0 if this direction carries no requests
 * @max_depth: maximum of @depth that this end may ask for
 * @busy: highest number of requests in flight in the observation period
 * @short_depth: a request has waited because @depth requests were in flight; cleared when
 *	@depth grows, and at the end of the observation period
 * @on: this end may ask for other numbers of slots and requests
 * @open: the latest request for slots is not answered yet
 * @refused: the peer granted nothing of an increase, or this end had no memory to ask for one;
 *	cleared at the end of the observation period or by the next SLOTS_REPLY
 * @asked: numbers in the latest request for slots
 */
struct rnbd_flow_out {
	u16 slots;
	u16 max_slots;
	u16 credits;
	u16 low;
	u16 depth;
	u16 max_depth;
	u16 busy;
	bool short_depth;
	bool on;
	bool open;
	bool refused;
	struct rnbd_slots_info asked;
};

/**
 * struct rnbd_flow_in - receiving direction; protected by the lock of the connection
 * @slots: receive slots of this end, posted or with a frame that is being handled
 * @max_slots: maximum of @slots that the peer may ask for
 * @owed: slots posted again whose credits were not returned to the peer yet
 * @retire: number of slots that the peer has given up and that are still to be removed: each of
 *	the next frames, when it was handled, removes its slot
 * @depth: requests that the peer may have in flight
 * @max_depth: maximum of @depth that the peer may ask for
 * @open: a request of the peer for slots is not answered yet
 * @grow: the request of the peer asks for more, and this end has not allocated the memory yet
 * @asked: numbers in the latest request of the peer
 */
struct rnbd_flow_in {
	u16 slots;
	u16 max_slots;
	u16 owed;
	u16 retire;
	u16 depth;
	u16 max_depth;
	bool open;
	bool grow;
	struct rnbd_slots_info asked;
};

void rnbd_flow_out_init(struct rnbd_flow_out *out, u16 slots, u16 max_slots);
void rnbd_flow_out_enable(struct rnbd_flow_out *out, u16 max_depth);
bool rnbd_flow_more(const struct rnbd_flow_out *out, struct rnbd_slots_info *info);
bool rnbd_flow_less(const struct rnbd_flow_out *out, u16 frames, struct rnbd_slots_info *info);
void rnbd_flow_ask(struct rnbd_flow_out *out, const struct rnbd_slots_info *info);
enum rnbd_proto_err rnbd_flow_answered(struct rnbd_flow_out *out,
				       const struct rnbd_slots_info *info);
void rnbd_flow_end_period(struct rnbd_flow_out *out);

void rnbd_flow_in_init(struct rnbd_flow_in *in, u16 slots, u16 max_slots);
void rnbd_flow_in_enable(struct rnbd_flow_in *in, u16 max_depth);
enum rnbd_proto_err rnbd_flow_asked(struct rnbd_flow_in *in, const struct rnbd_slots_info *info);
void rnbd_flow_grown(struct rnbd_flow_in *in, u16 slots, u16 depth);
bool rnbd_flow_reply(const struct rnbd_flow_in *in, struct rnbd_slots_info *info);

static inline bool rnbd_flow_short_slots(const struct rnbd_flow_out *out)
{
	int few = out->slots < 8 ? 2 : out->slots / 4;

	return out->slots < out->max_slots && out->low <= few;
}

static inline bool rnbd_flow_short_requests(const struct rnbd_flow_out *out)
{
	return out->short_depth && out->depth < out->max_depth;
}

/**
 * rnbd_flow_is_short - test whether more slots or requests should be asked for
 * @out: direction
 *
 * Context: the lock of the connection held.
 * Return: true if so, and if the peer can be asked now.
 */
static inline bool rnbd_flow_is_short(const struct rnbd_flow_out *out)
{
	return (rnbd_flow_short_slots(out) || rnbd_flow_short_requests(out)) &&
	       out->on && !out->open && !out->refused;
}

/**
 * rnbd_flow_sent - update the credits for a sent frame
 * @out: direction with a credit
 * @load: the frame has requests or replies; only such frames update out->low. Other frames show
 *	no need for slots, because they are few or change the number of slots
 *
 * Context: the lock of the connection held.
 */
static inline void rnbd_flow_sent(struct rnbd_flow_out *out, bool load)
{
	out->credits--;
	if (load)
		out->low = min(out->low, out->credits);
}

/**
 * rnbd_flow_returned - take the credits that a received frame returns
 * @out: direction
 * @credits: number of returned credits
 *
 * Context: the lock of the connection held.
 * Return: false if the peer returned more credits than were used.
 */
static inline bool rnbd_flow_returned(struct rnbd_flow_out *out, u16 credits)
{
	if (credits > out->slots - out->credits)
		return false;
	out->credits += credits;
	return true;
}

/**
 * rnbd_flow_busy - record the number of requests in flight
 * @out: direction of the requests
 * @nr: number of requests in flight
 *
 * Context: the lock of the connection held.
 */
static inline void rnbd_flow_busy(struct rnbd_flow_out *out, u16 nr)
{
	if (unlikely(nr > out->busy))
		out->busy = nr;
}

/**
 * rnbd_flow_received - update the number of slots after a frame was handled
 * @in: direction
 *
 * Context: the lock of the connection held.
 * Return: true if the slot of the frame stays in use and is posted again, so that this end owes the
 * peer a credit; false if the peer has given up the slot.
 */
static inline bool rnbd_flow_received(struct rnbd_flow_in *in)
{
	if (likely(!in->retire))
		return true;
	in->retire--;
	in->slots--;
	return false;
}

#endif /* RNBD_CORE_FLOW_H */
