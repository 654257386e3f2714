// SPDX-License-Identifier: GPL-2.0-only
/* The strike of a case: it sends the invalid frame, or breaks the rule in another way. */
#include <string.h>

#include "target.h"

void target_patch(uint8_t *bytes, const struct patch *p, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		patch_apply(bytes, &p[i], target.rel);
}

/*
 * Wait until the target has more than one credit, as a well-behaved target does before it sends.
 * Return false if the connection ends or GONE_MS pass before that.
 */
bool target_has_credit(struct conn *c)
{
	uint64_t end = deadline(GONE_MS);
	const uint8_t *frame;
	uint32_t len;

	while (c->credits <= 1 && !c->gone && now_ms() < end) {
		frame = conn_receive(c, 0, &len, 0);
		/*
		 * Put the frame off until later. Drop it if too many frames are put off, or after
		 * the strike of a case, because the target then answers no requests.
		 */
		if (!frame || (target.struck && !target.mutate) ||
		    target.nr_put_off == PUT_OFF_MAX)
			continue;
		target.put_off[target.nr_put_off].c = c;
		target.put_off[target.nr_put_off].len = len;
		memcpy(target.put_off[target.nr_put_off++].b, frame, len);
	}
	return c->credits > 1 && !c->gone;
}

static void flood(struct conn *c, enum base which, uint32_t frames)
{
	static struct frame f;

	while (frames-- && target_has_credit(c)) {
		target_build(&f, which);
		frame_send(c, &f);
	}
}

/* Send more frames than there are credits for, and return no credits. */
static void overdraw(struct conn *c, enum base which)
{
	uint32_t frames = c->slots * (c->slots / 2 + 2);
	static struct frame f;

	c->mute = true;
	while (frames-- && !c->gone) {
		target_build(&f, which);
		frame_seal(c, &f);
		if (!conn_post(c, f.b, f.len, IBV_WR_SEND, 0))
			break;
		conn_step(c);
	}
}

/* Send more exports than a list may have. */
static void endless_list(struct conn *c)
{
	uint32_t per_frame = (c->slot_size - HDR_BYTES) /
			     (sizeof(struct rnbd_ctl) + sizeof(struct rnbd_ctl_export));
	static struct frame f;
	uint32_t i;

	for (i = 0; i <= RNBD_EXPORTS_MAX / per_frame + 1 && target_has_credit(c); i++) {
		target_build_list(&f, true, per_frame);
		frame_send(c, &f);
	}
}

/* Send a valid frame; in random mode, mutate some of these frames. */
void target_send(struct conn *c, struct frame *f)
{
	frame_seal(c, f);
	if (target.mutate && target.mutate_at-- == 0) {
		rng_mutate(target.mutate, f->b, &f->len, c->slot_size);
		target.mutate_at = rng_below(target.mutate, target.mutate_every);
		target.mutated++;
		c->lax = true;
	}
	conn_post(c, f->b, f->len, IBV_WR_SEND, 0);
}

/* Close the attachment; the client may attach again after a delay. */
void target_close_attachment(struct conn *c)
{
	static struct frame f;

	target_build(&f, END);
	target_send(c, &f);
	target.attached = false;
}

void target_strike(struct conn *c)
{
	const struct target_case *tc = target.tc;
	enum ibv_wr_opcode opcode = IBV_WR_SEND;
	int frames = tc->also == TWICE ? 2 : 1;
	static struct frame f;

	target.struck = true;
	if (tc->also == IMMEDIATE)
		opcode = IBV_WR_SEND_WITH_IMM;
	else if (tc->also == INVALIDATE)
		opcode = IBV_WR_SEND_WITH_INV;
	else if (tc->also == FLOOD)
		flood(c, tc->base, 1000);
	else if (tc->also == ENDLESS)
		endless_list(c);
	else if (tc->also == OVERDRAW)
		overdraw(c, tc->base);
	else if (tc->also == SILENT)
		target.silent = true;
	else if (tc->also == STARVE)
		c->mute = true;
	/*
	 * the handle is attached even if the client gets no valid reply: the client can use or
	 * detach it
	 */
	target.attached |= tc->base == ATTACH_REPLY || tc->also == LOST;
	while (frames-- && tc->base && tc->also != ENDLESS && tc->also != OVERDRAW) {
		target_build(&f, tc->base);
		if (tc->base != GARBAGE)
			frame_seal(c, &f);
		target_patch(f.b, tc->p, ARRAY_SIZE(tc->p));
		f.len = tc->more == OVERSIZED ? c->slot_size + 64 : f.len + tc->more;
		conn_post(c, f.b, f.len, opcode, 0x12345);
	}
	if (tc->also == EAGER) {
		target_build(&f, LOGIN_REPLY);
		frame_send(c, &f);
	}
	if (tc->also == HANG_UP) {
		/*
		 * wait until the connection is established: the client's frame can arrive before
		 * the last message of the connection manager
		 */
		uint64_t end = deadline(GONE_MS);

		while (!c->established && now_ms() < end) {
			conn_step(c);
			nap();
		}
		rdma_disconnect(c->id);
	}
}
