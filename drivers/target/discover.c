// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of exports, for clients that ask what they may attach.
 *
 * Operation
 *
 * After its login such a session is listing: the login work sends frames as long
 * as there are credits, and is queued again when more come. The links of a port
 * are in the order in which they were made, and numbered so. The session only
 * remembers the number of the last one that it has told, and each frame goes on
 * behind it. So whatever comes and goes in between, no export is told twice and
 * none that stays is left out, and a client that is slow costs no memory.
 *
 * Ownership
 *
 * Nothing of an export is kept: a frame's worth of copies is made under
 * rnbdt_lock and is all that is looked at without it.
 *
 * Concurrency
 *
 * The login work is the only one that sends here and runs once at a time. The
 * teardown waits for it when no completion can queue it any more. It waits for
 * nothing but rnbdt_lock, so neither a port nor an export has to wait for a client.
 *
 * Errors
 *
 * Without memory the client is told so, and the list ends. Who does not take the
 * list is disconnected by the timeout of the session.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/slab.h>

#include "target.h"

static bool rnbdt_discover_may_tell(const struct rnbd_tsession *s,
				    const struct rnbd_toffer *offer)
{
	return offer->export->enabled && rnbdt_host_allowed(offer->export, s->host);
}

/* The next one to tell behind number @listed, or NULL. */
static struct rnbd_toffer *rnbdt_discover_first(const struct rnbd_tsession *s,
						u64 listed)
{
	struct rnbd_toffer *offer;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(offer, &s->port->exports, entry)
		if (offer->serial > listed && rnbdt_discover_may_tell(s, offer))
			return offer;
	return NULL;
}

static struct rnbd_toffer *rnbdt_discover_next(const struct rnbd_tsession *s,
					       struct rnbd_toffer *offer)
{
	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry_continue(offer, &s->port->exports, entry)
		if (rnbdt_discover_may_tell(s, offer))
			return offer;
	return NULL;
}

static void rnbdt_discover_fill(struct rnbd_texport *export,
				struct rnbd_export_info *info)
{
	const struct rnbd_tbackend *be = export->backend;

	*info = (struct rnbd_export_info) {
		.capacity = be->capacity,
		.logical_block = be->logical_block,
		.flags = be->readonly ? RNBD_EXPORT_READONLY : 0,
	};
	strscpy(info->name, rnbdt_export_name(export));
	export_uuid(info->uuid, &export->uuid);
}

/**
 * struct rnbdt_listing - what one frame tells
 * @status: enum rnbd_status
 * @more: there are others
 * @last: number of the last link
 * @nr: used members of @exports
 * @max: how many there can be in a frame
 * @exports: copies
 */
struct rnbdt_listing {
	u16 status;
	bool more;
	u64 last;
	u32 nr;
	u32 max;
	struct rnbd_export_info *exports;
};

static void rnbdt_discover_gather(struct rnbd_tsession *s, struct rnbdt_listing *list)
{
	u32 max = min(list->max, RNBD_EXPORTS_MAX - s->nr_listed);
	struct rnbd_toffer *offer;

	list->nr = 0;
	list->last = s->listed;
	mutex_lock(&rnbdt_lock);
	offer = rnbdt_discover_first(s, s->listed);
	while (offer && list->nr < max) {
		rnbdt_discover_fill(offer->export, &list->exports[list->nr++]);
		list->last = offer->serial;
		offer = rnbdt_discover_next(s, offer);
	}
	mutex_unlock(&rnbdt_lock);
	list->more = offer && s->nr_listed + list->nr < RNBD_EXPORTS_MAX;
}

/* Called under ring->lock, with an open frame. */
static int rnbdt_discover_post(struct rnbd_ring *ring, const struct rnbdt_listing *list)
{
	void *room = rnbd_ring_add(ring, sizeof(struct rnbd_discover_reply), 1);
	u32 i;

	rnbd_encode_discover_reply(room, list->status, list->more);
	for (i = 0; i < list->nr; i++) {
		/* list->max has seen to it that there is room. */
		room = rnbd_ring_add(ring, sizeof(struct rnbd_export_entry), 1);
		rnbd_encode_export(room, &list->exports[i]);
	}
	return rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}

/* Looked at first: any frame of the client gets us here, and a list is work. */
static bool rnbdt_discover_can_send(struct rnbd_tsession *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	bool can;

	spin_lock_irqsave(&ring->lock, flags);
	can = rnbd_ring_can_open(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	return can;
}

/* Returns false when there is no credit, or the connection is lost. */
static bool rnbdt_discover_send(struct rnbd_tsession *s, const struct rnbdt_listing *list)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	int ret = 0;
	bool open;

	spin_lock_irqsave(&ring->lock, flags);
	open = rnbd_ring_open(ring, RNBD_FRAME_DISCOVER_REPLY);
	if (open)
		ret = rnbdt_discover_post(ring, list);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (!open || ret)
		return false;
	s->listed = list->last;
	s->nr_listed += list->nr;
	s->all_listed = !list->more;
	if (s->all_listed)
		mod_delayed_work(rnbdt_timer_wq, &s->timeout_work, RNBDT_LEAVE_TIMEOUT);
	return true;
}

/**
 * rnbdt_discover_work - send what the credits allow
 * @s: session that was listing when this was queued
 *
 * Context: the login work.
 */
void rnbdt_discover_work(struct rnbd_tsession *s)
{
	struct rnbdt_listing list = { };

	if (s->all_listed || !rnbdt_discover_can_send(s))
		return;
	list.max = (s->queues[0]->ring.attr.slot_size - sizeof(struct rnbd_frame_hdr) -
		    sizeof(struct rnbd_discover_reply)) / sizeof(struct rnbd_export_entry);
	/* Memory may wait for who waits for a login, as in all of the login work. */
	list.exports = kvmalloc_array(list.max, sizeof(*list.exports), GFP_NOIO);
	list.status = list.exports ? s->list_status : RNBD_ST_NOMEM;

	while (READ_ONCE(s->state) == RNBDT_LISTING && !s->all_listed &&
	       rnbdt_discover_can_send(s)) {
		if (!list.status)
			rnbdt_discover_gather(s, &list);
		if (!rnbdt_discover_send(s, &list))
			break;
	}
	kvfree(list.exports);
}

/**
 * rnbdt_discover_kick - there may be a credit or a slot for another frame
 * @s: session that is listing
 *
 * Context: completion handler of queue 0.
 */
void rnbdt_discover_kick(struct rnbd_tsession *s)
{
	queue_work(rnbdt_login_wq, &s->login_work);
}
