// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which attachments may exist: binding to an export, and the others of the host.
 *
 * Operation
 *
 * A login with another boot id closes the sessions that the host had before its client
 * module restarted. A request to attach is answered with RNBD_ST_BUSY while another
 * attachment of the host that closes is left on the same export: old writes must not
 * reach the storage after new ones. A refusal waits for the older attachments of the
 * client as well, because the client may fail its writes after that, and a failed write
 * must not be executed later.
 *
 * An exclusive export has one owner at a time (owner.c). A host that becomes the owner waits
 * for the attachments of the hosts that owned the export before.
 *
 * A host has one attachment per export. While it is open, a request for another one is
 * answered with RNBD_ST_ATTACHED: there is no order between requests of two
 * attachments, so a write of a lost connection of one could follow newer writes of the
 * other.
 *
 * Ownership: a bound attachment keeps its export, see attached.c.
 *
 * Concurrency: the host is locked, together with the check of the fence. The configuration and
 * the owner of an exclusive export stay as they are until the host is unlocked. So hosts that
 * do not own such an export get no attachment while the one that owns it is checked.
 *
 * Errors: an attachment that is refused here is not bound.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include "../core/inject.h"
#include "attached.h"
#include "backend.h"
#include "bind.h"
#include "export.h"
#include "fence.h"
#include "graph.h"
#include "half_open.h"
#include "inject.h"
#include "lookup.h"
#include "owner.h"
#include "reach.h"
#include "session.h"
#include "state.h"
#include "target.h"

static bool rnbdt_restarted(const struct rnbdt_session *old, const struct rnbdt_session *s)
{
	return memcmp(old->login.info.boot_id, s->login.info.boot_id,
		      sizeof(s->login.info.boot_id));
}

/* Close the sessions of the host that have another boot id than @s. */
static void rnbdt_close_other_boots(const struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	struct rnbdt_session *old;

	host->mixed_boots = false;
	list_for_each_entry(old, &host->sessions, host_entry) {
		/* pairs with the release in rnbdt_session_set_state() */
		enum rnbdt_state state = smp_load_acquire(&old->state);

		if (old == s || state >= RNBDT_CLOSING || !old->account.counted ||
		    !rnbdt_restarted(old, s))
			continue;
		/* Sessions that were never live have sent no requests. */
		if (state < RNBDT_LIVE) {
			host->mixed_boots = true;
			continue;
		}
		if (!rnbdt_same_address(&old->peer, &s->peer))
			pr_warn_ratelimited("host %pUb now comes from %pISc, not from %pISc: if these are two machines, give one of them another host id\n",
					    &s->host_id, &s->peer, &old->peer);
		rnbdt_session_close(old, "the client has been started anew");
	}
}

/**
 * rnbdt_close_restarted - close what the host had before its client module restarted
 * @s: session whose client is authenticated and not fenced
 *
 * A host may have many sessions: look at them only if one may have another boot id.
 *
 * Context: host of @s locked.
 */
void rnbdt_close_restarted(const struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	uuid_t boot_id;

	rnbdt_assert_host(host);

	import_uuid(&boot_id, s->login.info.boot_id);
	if (host->mixed_boots || !uuid_equal(&host->boot_id, &boot_id))
		rnbdt_close_other_boots(s);
	host->boot_id = boot_id;
}

/* Look for attachments that forbid another one for @export. */
static u16 rnbdt_check_others(const struct rnbdt_session *s, struct rnbdt_export *export)
{
	const char *name = rnbdt_export_name(export);
	struct rnbdt_attach *other = NULL;
	u16 status = RNBD_ST_OK;
	u32 nr = 0;

	rnbdt_assert_host(s->host);

	rcu_read_lock();
	while ((other = rnbdt_attached_next(s->host, name, other))) {
		const struct rnbdt_session *old = other->session;

		/* An export of the same name may have been removed. */
		if (other->export != export)
			continue;
		nr++;
		if (other->state == RNBDT_ATTACH_OPEN && READ_ONCE(old->state) == RNBDT_LIVE) {
			status = RNBD_ST_ATTACHED;
			break;
		}
		if (rnbdt_restarted(old, s) || !rnbd_inject(&rnbdt_inject_no_drain, NULL))
			status = RNBD_ST_BUSY;
	}
	rcu_read_unlock();
	if (status == RNBD_ST_ATTACHED)
		return status;
	/* Writes of an earlier owner must not follow those of this one. */
	return export->exclusive && READ_ONCE(export->nr_attached) > nr ? RNBD_ST_BUSY : status;
}

/**
 * rnbdt_is_draining - check whether the storage has requests of a client
 * @s: session of the client
 * @name: only requests for the export of this name, or NULL
 *
 * All epochs of the session count.
 *
 * Context: host of @s locked.
 * Return: true if an attachment of the client is bound.
 */
bool rnbdt_is_draining(const struct rnbdt_session *s, const char *name)
{
	struct rnbdt_session *old = NULL;
	struct rnbdt_attach *att = NULL;
	bool draining = false;

	rnbdt_assert_host(s->host);

	rcu_read_lock();
	if (!name) {
		while (!draining && (old = rnbdt_lookup_next(&s->auth.req, old)))
			draining = old->nr_bound;
	} else {
		while (!draining && (att = rnbdt_attached_next(s->host, name, att)))
			draining = uuid_equal(&att->session->session_id, &s->session_id);
	}
	rcu_read_unlock();
	return draining;
}

/**
 * rnbdt_bind_check - find the export of a request to attach, and check that it may be used
 * @s: live session
 * @info: request
 * @export: result
 *
 * Context: host of @s locked.
 * Return: RNBD_ST_OK, or the reason for which the request is refused; RNBD_ST_BUSY while
 * the storage has requests of an older attachment.
 */
u16 rnbdt_bind_check(const struct rnbdt_session *s, const struct rnbd_attach_info *info,
		     struct rnbdt_export **export)
{
	u16 status = rnbdt_fence_check_attach(s, info->fence_generation);

	*export = rnbdt_port_find_export(s->port, s->host, info->export);
	if (!status && !*export)
		status = RNBD_ST_NO_EXPORT;
	if (!status)
		status = rnbdt_owner_check(*export, s, info);
	if (!status)
		return rnbdt_check_others(s, *export);
	return rnbdt_is_draining(s, info->export) ? RNBD_ST_BUSY : status;
}

/**
 * rnbdt_bind_is_config - test whether an attachment would change the configuration
 * @s: session of the attachment
 * @export: from rnbdt_bind_check()
 *
 * Context: host of @s locked.
 * Return: true if rnbdt_lock must be held for writing to bind it.
 */
bool rnbdt_bind_is_config(const struct rnbdt_session *s, const struct rnbdt_export *export)
{
	return rnbdt_owner_changes(export, s) || rnbdt_export_resized(export);
}

/**
 * rnbdt_bind - bind an attachment to an export
 * @att: new attachment
 * @export: from rnbdt_bind_check(), in the same section of the lock
 * @flags: RNBD_ATTACH_* of the request
 *
 * Context: host of the session locked; rnbdt_lock held for writing if rnbdt_bind_is_config().
 */
void rnbdt_bind(struct rnbdt_attach *att, struct rnbdt_export *export, u16 flags)
{
	struct rnbdt_host *host = att->session->host;
	const struct rnbd_geometry *geo;

	rnbdt_assert_host(host);

	att->fence_generation = host->fence.generation;
	rnbdt_attached_add(att, export);
	rnbdt_owner_take(att);
	geo = &att->backend->geo;
	att->readonly = att->backend->readonly || (flags & RNBD_ATTACH_READONLY) ||
			rnbdt_find_allow(export, host)->readonly;
	att->limits = (struct rnbd_export_limits) {
		.capacity = geo->capacity,
		.block_mask = geo->logical_block - 1,
		.max_io = att->session->granted.max_io,
		.max_discard = geo->max_discard,
		.max_write_zeroes = geo->max_write_zeroes,
	};
}
