// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of the client to attach and detach exports.
 *
 * Operation
 *
 * Queue 0 of a live session receives these requests as control entries. The frame handler
 * records a DETACH in the attachment that it names. The frame handler puts an ATTACH, and a DETACH
 * that it cannot record, into a slot of the session (ctl.c). The control work handles the recorded
 * DETACHs and the slots. For an ATTACH, the control work binds a new attachment to the export,
 * under the handle that the client chose. The answer contains the properties of the export. A
 * repeated ATTACH binds nothing and is answered again. An ATTACH with a newer generation of an
 * index closes the former attachment of the index, and is answered with RNBD_ST_BUSY until that
 * attachment has ended. A DETACH closes an attachment. The DETACH is answered when the storage has
 * completed the requests of the attachment; then the client may use the index again.
 *
 * Ownership: s->attaches owns the attachments. A closed attachment remains there until it is
 * detached or replaced, or the session ends. After a DETACH, s->attaches keeps the generation of
 * the handle at its index, so that the target can distinguish late requests from invalid ones.
 *
 * Concurrency: the control work of a session runs once at a time and locks only the host, so hosts
 * do not wait for each other. For a request that changes the configuration (the owner of an
 * exclusive export, or the capacity of an export), it takes rnbdt_lock for writing instead. Memory
 * is allocated without these locks, and without I/O, because memory reclaim can wait for a disk of
 * a client on this machine.
 *
 * Errors: exports that a client may not use look to the client like exports that do not exist.
 * A host whose rate of ATTACHs is too high gets RNBD_ST_LIMIT, so it cannot try many names. If an
 * allocation fails, the answer is RNBD_ST_BUSY, because a retry can succeed: an allocation
 * without I/O gets per-CPU memory only from a small stock, which a work item of the kernel
 * refills. A malformed entry, or an entry that finds no free slot, is a protocol error.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../core/attach.h"
#include "../core/ctl.h"
#include "../core/inject.h"
#include "../core/names.h"
#include "../core/ring.h"
#include "attach_ctl.h"
#include "attached.h"
#include "backend.h"
#include "bind.h"
#include "counters.h"
#include "ctl.h"
#include "depth.h"
#include "export.h"
#include "fence.h"
#include "graph.h"
#include "inject.h"
#include "owner.h"
#include "queue.h"
#include "queue_budget.h"
#include "rate.h"
#include "request.h"
#include "resize.h"
#include "session.h"
#include "target.h"

/* Milliseconds after which a client should repeat an ATTACH that was answered with BUSY. */
#define RNBDT_BUSY_MS		100
/* Milliseconds after which a host that exceeded its rate limit should repeat an ATTACH. */
#define RNBDT_LIMIT_MS		1000

/* Maximum number of DETACHs that are handled before the host is unlocked for a moment. */
#define RNBDT_DETACHES_MAX	16

static void rnbdt_fill_grant(const struct rnbdt_attach *att, struct rnbd_attach_grant *grant)
{
	rnbdt_assert_host(att->session->host);

	grant->status = RNBD_ST_OK;
	grant->fence_generation = att->fence_generation;
	grant->owner_generation = att->owner_generation;
	grant->storage_inflight = rnbdt_depth_limit(att->backend);
	grant->geo = att->backend->geo;
	if (att->readonly)
		grant->geo.flags |= RNBD_EXPORT_READONLY;
	memcpy(grant->incarnation, att->export->incarnation, sizeof(grant->incarnation));
	export_uuid(grant->export_uuid, &att->export->uuid);
}

/*
 * Check whether a new attachment may use the index in an ATTACH. Return RNBD_ST_OK if it may, and
 * RNBD_ST_NO_ATTACH if the generation is not newer than that of the former attachment. Otherwise
 * close the former attachment, and return RNBD_ST_BUSY until it has ended and has no DETACH.
 */
static u16 rnbdt_check_index(struct rnbdt_session *s, struct rnbdt_attach *old,
			     const struct rnbd_attach_info *info)
{
	u32 generation = info->handle.generation;
	void *entry = xa_load(&s->attaches, info->handle.index);

	if (xa_is_value(entry))
		return generation > xa_to_value(entry) ? RNBD_ST_OK : RNBD_ST_NO_ATTACH;
	if (!old)
		return RNBD_ST_OK;
	if (generation <= old->handle.generation)
		return RNBD_ST_NO_ATTACH;
	/* A newer generation shows that the client no longer uses the former attachment. */
	rnbdt_attach_close(old, RNBD_ST_OK);
	return old->state == RNBDT_ATTACH_CLOSED && !READ_ONCE(old->detach.asked) ?
	       RNBD_ST_OK : RNBD_ST_BUSY;
}

/* Test whether a request repeats the ATTACH of @old, for example because the answer was lost. */
static bool rnbdt_is_repeated(const struct rnbdt_attach *old, const struct rnbd_attach_info *info)
{
	return old && rnbd_handle_equal(&old->handle, &info->handle) &&
	       old->state == RNBDT_ATTACH_OPEN && !strcmp(old->name, info->export);
}

static struct rnbdt_attach *rnbdt_new_attach(struct rnbdt_session *s,
					     const struct rnbd_attach_info *info)
{
	struct rnbdt_attach *att = rnbdt_attach_alloc(s, info);
	u32 i;

	if (!att)
		return NULL;
	for (i = 0; i < att->nr_submits; i++)
		INIT_WORK(&att->submits[i].submit_work.work, rnbdt_submit_work);
	INIT_DELAYED_WORK(&att->resize.resize_work, rnbdt_attach_resize_work);
	return att;
}

/* Fill the answer to a repeated ATTACH, and accept requests up to the capacity in the answer. */
static void rnbdt_attach_again(struct rnbdt_attach *att, struct rnbd_attach_grant *grant)
{
	rnbdt_fill_grant(att, grant);
	if (grant->geo.capacity > att->limits.capacity)
		WRITE_ONCE(att->limits.capacity, grant->geo.capacity);
	att->resize.reported = grant->geo.capacity;
}

/**
 * struct rnbdt_new - state of the handling of an ATTACH, kept while the host is not locked
 * @att: attachment that was allocated for the request, or NULL
 * @used: @att was bound, and the session owns it
 * @charged: the rate limit of the host was applied to the request, which is done only once
 * @nomem: the allocation of @att, or of its entry in s->attaches, failed
 * @config: the request changes the configuration, so rnbdt_lock is taken for writing
 */
struct rnbdt_new {
	struct rnbdt_attach *att;
	bool used;
	bool charged;
	bool nomem;
	bool config;
};

/* Lock the host of a session, or the whole configuration if @config is set. */
static void rnbdt_attach_lock(struct rnbdt_session *s, bool config)
{
	if (config)
		down_write(&rnbdt_lock);
	else
		rnbdt_host_lock(s->host);
}

static void rnbdt_attach_unlock(struct rnbdt_session *s, bool config)
{
	if (config)
		up_write(&rnbdt_lock);
	else
		rnbdt_host_unlock(s->host);
}

/*
 * Bind a new attachment and publish it to frame handlers. Return RNBD_ST_OK, or RNBD_ST_BUSY or
 * RNBD_ST_LIMIT if it cannot be bound.
 */
static u16 rnbdt_attach_begin(struct rnbdt_session *s, const struct rnbdt_new *new,
			      struct rnbdt_attach *old, struct rnbdt_export *export,
			      struct rnbdt_ctl_slot *slot)
{
	struct rnbdt_attach *att = new->att;
	u16 status = rnbdt_queue_budget_attach(att);

	if (status)
		return status;
	/* If @old has no DETACH yet, the frame handler records none in @old from here on. */
	if (old && !rnbdt_ctl_replace(old)) {
		rnbdt_attach_forget(att);
		return RNBD_ST_BUSY;
	}
	/* Update the capacity of the export now, so that the answer contains the new one. */
	if (new->config)
		rnbdt_export_update_capacity(export);
	rnbdt_bind(att, export, slot->attach.flags);
	rnbdt_fill_grant(att, &slot->grant);
	att->resize.reported = slot->grant.geo.capacity;
	att->resize.reported_at = jiffies - RNBDT_RESIZE_PAUSE;
	/* This allocates nothing, because rnbdt_attach_prepare() has reserved the entry. */
	xa_store(&s->attaches, att->handle.index, att, GFP_NOWAIT);
	if (old)
		rnbdt_attach_free(old);
	return RNBD_ST_OK;
}

/*
 * Handle an ATTACH. The caller sends the answer before it releases the lock, so that no event
 * about the attachment precedes the answer. Return false if the caller must release the lock,
 * allocate the attachment if @new has none, lock as @new->config says, and call this again.
 */
static bool rnbdt_attach_locked(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot,
				struct rnbdt_new *new)
{
	const struct rnbd_attach_info *info = &slot->attach;
	struct rnbdt_attach *old = rnbdt_attach_load(s, info->handle.index);
	bool repeated = rnbdt_is_repeated(old, info);
	struct rnbdt_export *export = NULL;
	u16 status = RNBD_ST_OK;

	rnbdt_assert_host(s->host);

	slot->grant = (struct rnbd_attach_grant) { .handle = info->handle };
	if (READ_ONCE(s->state) != RNBDT_LIVE)
		status = RNBD_ST_SHUTDOWN;
	else if (!repeated)
		status = rnbdt_check_index(s, old, info) ?: rnbdt_bind_check(s, info, &export);
	/* For BUSY or SHUTDOWN, take no token of the rate limit: the client repeats the ATTACH. */
	if (status != RNBD_ST_BUSY && status != RNBD_ST_SHUTDOWN && !new->charged) {
		status = rnbdt_rate_attach(s->host) ?: status;
		new->charged = true;
	}
	if (!status && !repeated && new->nomem)
		status = RNBD_ST_BUSY;
	if (!status && repeated) {
		rnbdt_attach_again(old, &slot->grant);
	} else if (!status) {
		bool config = new->config;

		/* Let the caller lock rnbdt_lock for writing if the configuration changes. */
		new->config = config || rnbdt_bind_is_config(s, export);
		if (new->config != config || !new->att)
			return false;
		status = rnbdt_attach_begin(s, new, old, export, slot);
		new->used = !status;
	}
	slot->grant.status = status;
	if (status == RNBD_ST_BUSY)
		slot->grant.retry_ms = RNBDT_BUSY_MS;
	else if (status == RNBD_ST_LIMIT)
		slot->grant.retry_ms = RNBDT_LIMIT_MS;
	return true;
}

/* Allocate the attachment of a request, and reserve its index in the session. */
static void rnbdt_attach_prepare(struct rnbdt_session *s, const struct rnbd_attach_info *info,
				 struct rnbdt_new *new)
{
	new->att = rnbdt_new_attach(s, info);
	if (new->att && xa_reserve(&s->attaches, info->handle.index, GFP_KERNEL)) {
		rnbdt_attach_free(new->att);
		new->att = NULL;
	}
	new->nomem = !new->att;
}

static void rnbdt_handle_attach(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot)
{
	u16 status, index = slot->attach.handle.index;
	char name[RNBD_EXPORT_NAME_SIZE];
	struct rnbdt_new new = { };
	bool config = false;

	strscpy(name, slot->attach.export);
	rnbdt_attach_lock(s, config);
	while (!rnbdt_attach_locked(s, slot, &new)) {
		rnbdt_attach_unlock(s, config);
		if (!new.att)
			rnbdt_attach_prepare(s, &slot->attach, &new);
		config = new.config;
		rnbdt_attach_lock(s, config);
	}
	status = slot->grant.status;
	if (status)
		rnbdt_count(RNBDT_COUNT_REFUSED, status);
	if (status == RNBD_ST_BUSY)
		rnbdt_rate_deferred(s->host);
	if (!status && rnbd_inject(&rnbdt_inject_drop_attach_reply, NULL))
		rnbdt_ctl_drop(s, slot);
	else
		rnbdt_ctl_answer(s, slot);
	rnbdt_attach_unlock(s, config);
	if (new.att && !new.used) {
		xa_release(&s->attaches, index);
		rnbdt_attach_free(new.att);
	}
	if (new.used)
		pr_info_ratelimited("session %u: host %pUb attached export %s\n", s->serial,
				    &s->host_id, name);
	else if (status && status != RNBD_ST_BUSY)
		pr_warn_ratelimited("session %u: host %pUb: export \"%s\" on port %s refused: %s\n",
				    s->serial, &s->host_id, name, rnbdt_port_name(s->port),
				    rnbd_status_text(status));
}

/*
 * Handle an ATTACH that only ends an ownership and attaches nothing. A client can send any number
 * of such requests, so take rnbdt_lock for writing only if the request would end an ownership.
 */
static void rnbdt_handle_disown(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot)
{
	bool owned;

	slot->grant = (struct rnbd_attach_grant) {
		.handle = slot->attach.handle,
		.status = RNBD_ST_NO_ATTACH,
	};
	rnbdt_host_lock(s->host);
	owned = rnbdt_owner_owns(s, &slot->attach);
	rnbdt_host_unlock(s->host);
	if (owned) {
		down_write(&rnbdt_lock);
		if (READ_ONCE(s->state) == RNBDT_LIVE)
			rnbdt_owner_disown(s, &slot->attach);
		up_write(&rnbdt_lock);
	}
	rnbdt_ctl_answer(s, slot);
}

/*
 * Answer the DETACH of an attachment that has ended. The index keeps the generation, so that
 * late requests can be distinguished from invalid ones.
 */
static void rnbdt_finish_detach(struct rnbdt_session *s, struct rnbdt_attach *att)
{
	rnbdt_assert_host(s->host);

	xa_store(&s->attaches, att->handle.index, xa_mk_value(att->handle.generation),
		 GFP_KERNEL);
	rnbdt_attach_forget(att);
	rnbdt_ctl_detached(att);
}

/*
 * Handle a DETACH that the frame handler could not record in an attachment: possibly the DETACH
 * arrived before the control work had handled the ATTACH.
 */
static void rnbdt_handle_detach(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot)
{
	bool keep_owner = slot->info.flags & RNBD_DETACH_KEEP_OWNER;
	struct rnbdt_attach *att;

	/* The answer has no flags. */
	slot->info.flags = 0;
	rnbdt_host_lock(s->host);
	att = rnbdt_attach_load(s, slot->info.handle.index);
	if (att && rnbd_handle_equal(&att->handle, &slot->info.handle) &&
	    rnbdt_ctl_detach(att, slot->id, keep_owner)) {
		rnbdt_ctl_drop(s, slot);
	} else {
		slot->info.status = RNBD_ST_NO_ATTACH;
		rnbdt_ctl_answer(s, slot);
	}
	rnbdt_host_unlock(s->host);
}

/*
 * Close an attachment that has a DETACH, and end the ownership of its exclusive export, if
 * rnbdt_owner_detach() allows that, before the DETACH is answered. An ATTACH of the next owner is
 * answered with BUSY until the attachment has ended.
 */
static void rnbdt_detach_owner(struct rnbdt_attach *att)
{
	down_write(&rnbdt_lock);
	rnbdt_attach_close(att, RNBD_ST_OK);
	rnbdt_owner_detach(att);
	att->detach.keep_owner = true;
	/* Queue the DETACH again, unless rnbdt_attach_closed_work() has done so already. */
	rnbdt_ctl_ended(att);
	up_write(&rnbdt_lock);
}

/*
 * Close attachments that have a DETACH, and answer the DETACHs of attachments that have ended. A
 * session can have thousands of DETACHs, so handle a limited number. Return true if DETACHs that
 * must be handled are possibly left.
 */
static bool rnbdt_handle_detaches(struct rnbdt_session *s)
{
	struct rnbdt_attach *att = NULL;
	bool owner = false;
	u32 nr;

	rnbdt_host_lock(s->host);
	for (nr = 0; nr < RNBDT_DETACHES_MAX; nr++) {
		att = rnbdt_ctl_next_detach(s);
		if (!att)
			break;
		/* Now the session leaves a claim only if an attachment is open when it ends. */
		s->account.claims = false;
		owner = att->owner_generation && !att->detach.keep_owner;
		if (owner)
			break;
		rnbdt_attach_close(att, RNBD_ST_OK);
		/* If @att has not ended yet, rnbdt_attach_closed_work() queues the DETACH again. */
		if (att->state == RNBDT_ATTACH_CLOSED)
			rnbdt_finish_detach(s, att);
	}
	rnbdt_host_unlock(s->host);
	if (owner)
		rnbdt_detach_owner(att);
	return owner || nr == RNBDT_DETACHES_MAX;
}

static void rnbdt_handle_slot(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot)
{
	if (slot->type == RNBD_CTL_ATTACH && slot->attach.flags & RNBD_ATTACH_DISOWN)
		rnbdt_handle_disown(s, slot);
	else if (slot->type == RNBD_CTL_ATTACH)
		rnbdt_handle_attach(s, slot);
	else
		rnbdt_handle_detach(s, slot);
}

/**
 * rnbdt_ctl_work - handle the control requests of a session
 * @work: rnbdt_session.ctl.ctl_work
 *
 * A client can send requests as fast as they are answered. The work item handles a limited number
 * and, if more wait, queues itself again, so that other sessions have their turn.
 *
 * Context: work item of rnbdt_ctl_wq; locks the host or the configuration, may sleep.
 */
void rnbdt_ctl_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(work, struct rnbdt_session, ctl.ctl_work);
	unsigned int noio = memalloc_noio_save();
	struct rnbdt_ctl_slot *slot;
	bool more = true;
	u32 i;

	for (i = 0; more && i < RNBD_CTL_OPEN_MAX; i++) {
		/* Handle DETACHs first: they can free an index that a waiting ATTACH names. */
		more = rnbdt_handle_detaches(s);
		slot = rnbdt_ctl_next(s);
		if (!slot)
			continue;
		rnbdt_handle_slot(s, slot);
		more = true;
	}
	if (more)
		queue_work(rnbdt_ctl_wq, &s->ctl.ctl_work);
	memalloc_noio_restore(noio);
}

static enum rnbd_proto_err rnbdt_decode_slot(const struct rnbd_ctl_entry *entry,
					     struct rnbdt_ctl_slot *slot)
{
	slot->type = entry->type;
	slot->id = entry->id;
	if (entry->type == RNBD_CTL_ATTACH)
		return rnbd_decode_attach(entry, &slot->attach);
	return rnbd_decode_handle(entry, &slot->info);
}

/* Put a request into a slot for the control work. */
static enum rnbd_proto_err rnbdt_take_slot(struct rnbdt_session *s,
					   const struct rnbd_ctl_entry *entry)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	struct rnbdt_ctl_slot *slot;
	enum rnbd_proto_err perr;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	slot = list_first_entry_or_null(&s->ctl.free, struct rnbdt_ctl_slot, entry);
	perr = slot ? rnbdt_decode_slot(entry, slot) : RNBD_PERR_COUNT;
	if (!perr)
		list_move_tail(&slot->entry, &s->ctl.todo);
	spin_unlock_irqrestore(&ring->lock, flags);
	return perr;
}

/* Record a DETACH in its attachment and set @noted, or leave it to rnbdt_handle_detach(). */
static enum rnbd_proto_err rnbdt_note_detach(struct rnbdt_session *s,
					     const struct rnbd_ctl_entry *entry, bool *noted)
{
	struct rnbd_handle_info info;
	enum rnbd_proto_err perr;
	struct rnbdt_attach *att;

	perr = rnbd_decode_handle(entry, &info);
	if (perr)
		return perr;
	rcu_read_lock();
	att = rnbdt_attach_load(s, info.handle.index);
	*noted = att && rnbd_handle_equal(&att->handle, &info.handle) &&
		 rnbdt_ctl_detach(att, entry->id, info.flags & RNBD_DETACH_KEEP_OWNER);
	rcu_read_unlock();
	return RNBD_PERR_NONE;
}

/**
 * rnbdt_session_handle_attach - handle an entry of type ATTACH or DETACH
 * @s: session
 * @entry: entry that queue 0 has received
 *
 * Context: completion handler of queue 0; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the session is not live yet, the entry
 * is malformed, or the client has too many open requests.
 */
enum rnbd_proto_err rnbdt_session_handle_attach(struct rnbdt_session *s,
						const struct rnbd_ctl_entry *entry)
{
	/* Pairs with the release that makes the session live. */
	enum rnbdt_state state = smp_load_acquire(&s->state);
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	bool noted = false;

	if (state != RNBDT_LIVE)
		return state < RNBDT_LIVE ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
	if (entry->type == RNBD_CTL_DETACH)
		perr = rnbdt_note_detach(s, entry, &noted);
	if (!perr && !noted)
		perr = rnbdt_take_slot(s, entry);
	if (!perr)
		queue_work(rnbdt_ctl_wq, &s->ctl.ctl_work);
	return perr;
}
