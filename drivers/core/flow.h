/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many receive slots and requests a connection has, see flow.c.
 */
#ifndef RNBD_CORE_FLOW_H
#define RNBD_CORE_FLOW_H

#include "slots.h"

/**
 * struct rnbd_flow_out - the direction in which frames are sent
 * @slots: receive slots of the peer
 * @max_slots: most receive slots to ask for
 * @credits: receive slots of the peer that may still be used
 * @low: least @credits after a frame with entries, since the latest change of @slots or end
 *	of a period
 * @depth: requests that may be in flight; 0 if there are none in this direction
 * @max_depth: most requests to ask for
 * @busy: most requests in flight since the latest end of a period
 * @short_depth: a request has waited because @depth were in flight
 * @on: more slots and requests may be asked for
 * @open: the latest request for slots is not answered
 * @refused: the peer did not give more; cleared at the end of a period
 * @asked: what the latest request for slots says
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
 * struct rnbd_flow_in - the direction in which frames are received
 * @slots: receive slots: posted, or with a frame that is being handled
 * @max_slots: most receive slots that the peer may ask for
 * @owed: slots that the peer does not yet know are posted again
 * @retire: frames whose slots are not posted again, because the peer has given them up
 * @depth: requests that the peer may have in flight
 * @max_depth: most requests that the peer may ask for
 * @open: the peer has asked, and was not answered
 * @grow: it has asked for more, for which no memory was allocated yet
 * @asked: what the latest request of the peer says
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
 * Return: true if so.
 */
static inline bool rnbd_flow_is_short(const struct rnbd_flow_out *out)
{
	return (rnbd_flow_short_slots(out) || rnbd_flow_short_requests(out)) &&
	       out->on && !out->open && !out->refused;
}

/**
 * rnbd_flow_sent - count a frame that is sent
 * @out: direction with a credit
 * @entries: the frame has entries: keep-alives show no need for slots
 *
 * Context: the lock of the connection held.
 */
static inline void rnbd_flow_sent(struct rnbd_flow_out *out, bool entries)
{
	out->credits--;
	if (entries)
		out->low = min(out->low, out->credits);
}

/**
 * rnbd_flow_returned - take the credits of a frame that has arrived
 * @out: direction
 * @credits: number of credits
 *
 * Context: the lock of the connection held.
 * Return: false if there are not so many to return.
 */
static inline bool rnbd_flow_returned(struct rnbd_flow_out *out, u16 credits)
{
	if (credits > out->slots - out->credits)
		return false;
	out->credits += credits;
	return true;
}

/**
 * rnbd_flow_busy - note how many requests are in flight
 * @out: direction of the requests
 * @nr: number of requests
 *
 * Context: the lock of the connection held.
 */
static inline void rnbd_flow_busy(struct rnbd_flow_out *out, u16 nr)
{
	if (unlikely(nr > out->busy))
		out->busy = nr;
}

/**
 * rnbd_flow_received - decide about the slot of a frame that was handled
 * @in: direction
 *
 * Context: the lock of the connection held.
 * Return: true if the slot is to be posted again, after which the peer is owed a credit;
 * false if it is one slot less.
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
