// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of exports, for clients that ask which exports they may attach.
 *
 * Operation
 *
 * A client that asks for a list sends LIST instead of LOGIN. The login work then sets the state of
 * the session to RNBDT_LISTING. It sends frames while it has credits, and is queued again when
 * credits arrive. A list has at most RNBD_EXPORTS_MAX enabled exports, in the order of their ids,
 * which is the order of their creation. The session keeps only the id of the last export that it
 * has sent, and each frame continues after that id. Therefore a list needs no memory while a client
 * is slow. If the administrator adds or removes links in configfs while a list is sent, no export
 * is sent twice and, up to the maximum, no export that stays linked and enabled is left out.
 *
 * Ownership
 *
 * The login work holds no reference on an export: it copies the contents of one frame under
 * rnbdt_lock, and uses only the copies after it has released the lock.
 *
 * Concurrency
 *
 * Only the login work sends lists, and it runs once at a time. The teardown cancels it after the
 * queue pairs are drained, when no completion can queue it again. The login work never waits for
 * the client while it sends a list, so a slow client does not delay the removal of a port or of
 * an export.
 *
 * Errors
 *
 * If memory is short, the list ends with the status RNBD_ST_NOMEM. A client that has not
 * received its list after RNBDT_LISTING_TIMEOUT is disconnected (login.c).
 */

#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../core/discover.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "backend.h"
#include "ctl.h"
#include "discover.h"
#include "graph.h"
#include "queue.h"
#include "reach.h"
#include "session.h"
#include "target.h"

/* Retry delay in ms for a client whose host has reached its limit of concurrent lists */
#define RNBDT_LIST_RETRY_MS	1000

static void rnbdt_discover_fill(const struct rnbdt_session *s, struct rnbdt_export *export,
				struct rnbd_export_info *info)
{
	const struct rnbdt_allow *allow = rnbdt_find_allow(export, s->host);
	const struct rnbdt_backend *be = export->backend;

	*info = (struct rnbd_export_info) {
		.capacity = be->geo.capacity,
		.logical_block = be->geo.logical_block,
		.flags = be->readonly || (allow && allow->readonly) ? RNBD_EXPORT_READONLY : 0,
	};
	strscpy(info->name, rnbdt_export_name(export));
	export_uuid(info->uuid, &export->uuid);
}

/**
 * struct rnbdt_listing - contents of one frame of a list
 * @status: enum rnbd_status
 * @more: further frames follow
 * @last: id of the last export in this frame
 * @nr: number of used members of @exports
 * @max: number of exports that fit into a frame
 * @exports: copies of the properties of the exports
 */
struct rnbdt_listing {
	u16 status;
	bool more;
	unsigned long last;
	u32 nr;
	u32 max;
	struct rnbd_export_info *exports;
};

static void rnbdt_discover_gather(struct rnbdt_session *s, struct rnbdt_listing *list)
{
	u32 max = min(list->max, RNBD_EXPORTS_MAX - s->listing.nr_listed);
	struct rnbdt_export *export;

	list->nr = 0;
	list->last = s->listing.listed;
	down_read(&rnbdt_lock);
	while ((export = rnbdt_port_next_export(s->port, s->host, list->last)) &&
	       list->nr < max) {
		rnbdt_discover_fill(s, export, &list->exports[list->nr++]);
		list->last = export->id;
	}
	up_read(&rnbdt_lock);
	list->more = export && s->listing.nr_listed + list->nr < RNBD_EXPORTS_MAX;
}

/* Called with ring->lock held and a frame open. */
static int rnbdt_discover_post(struct rnbdt_session *s, struct rnbd_ring *ring,
			       const struct rnbdt_listing *list)
{
	const struct rnbd_list_end_info info = {
		.status = list->status,
		.retry_ms = list->status == RNBD_ST_LIMIT ? RNBDT_LIST_RETRY_MS : 0,
	};
	struct rnbd_ctl_list_end end;
	struct rnbd_ctl_export wire;
	u32 i;

	/* rnbdt_discover_work() has limited list->nr, so the entries fit into a slot. */
	for (i = 0; i < list->nr; i++) {
		rnbd_encode_export(&wire, &list->exports[i]);
		rnbdt_ctl_add(ring, RNBD_CTL_EXPORT, s->login.id, &wire, sizeof(wire));
	}
	if (!list->more) {
		rnbd_encode_list_end(&end, &info);
		rnbdt_ctl_add(ring, RNBD_CTL_LIST_END, s->login.id, &end, sizeof(end));
	}
	return rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}

/*
 * Test for a credit and a send slot before exports are gathered: gathering is expensive, and
 * each frame of the client can queue the login work.
 */
static bool rnbdt_discover_can_send(struct rnbdt_session *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	bool can;

	spin_lock_irqsave(&ring->lock, flags);
	can = rnbd_ring_can_open(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	return can;
}

/* Send one frame of a list. Return false if there is no credit, or the frame cannot be sent. */
static bool rnbdt_discover_send(struct rnbdt_session *s, const struct rnbdt_listing *list)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	int ret = 0;
	bool open;

	spin_lock_irqsave(&ring->lock, flags);
	open = rnbd_ring_open(ring, RNBD_FRAME_CONTROL);
	if (open)
		ret = rnbdt_discover_post(s, ring, list);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (!open || ret)
		return false;
	s->listing.listed = list->last;
	s->listing.nr_listed += list->nr;
	s->listing.all_listed = !list->more;
	return true;
}

/**
 * rnbdt_discover_work - send as much of a list of exports as credits allow
 * @s: session whose client has sent LIST
 *
 * Context: work item login_work of @s; takes rnbdt_lock, may sleep.
 * Return: true if the list is complete and this call sent its last frame.
 */
bool rnbdt_discover_work(struct rnbdt_session *s)
{
	struct rnbdt_listing list = { };

	if (s->listing.all_listed || !rnbdt_discover_can_send(s))
		return false;
	list.max = (s->queues[0]->ring.attr.slot_size - sizeof(struct rnbd_frame_hdr) -
		    sizeof(struct rnbd_ctl) - sizeof(struct rnbd_ctl_list_end)) /
		   (sizeof(struct rnbd_ctl) + sizeof(struct rnbd_ctl_export));
	/* Not GFP_KERNEL: memory reclaim can wait for a disk whose client waits for a login. */
	list.exports = kvmalloc_array(list.max, sizeof(*list.exports), GFP_NOIO);
	list.status = list.exports ? s->listing.list_status : RNBD_ST_NOMEM;

	while (READ_ONCE(s->state) == RNBDT_LISTING && !s->listing.all_listed &&
	       rnbdt_discover_can_send(s)) {
		if (!list.status)
			rnbdt_discover_gather(s, &list);
		if (!rnbdt_discover_send(s, &list))
			break;
	}
	kvfree(list.exports);
	return s->listing.all_listed;
}
