// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules for binding an attachment to an export.
 *
 * Operation
 *
 * A login with another boot id closes the live sessions that the host had before its client
 * module restarted. An ATTACH is answered with RNBD_ST_BUSY while an older attachment of the host
 * to the same export, or the session of that attachment, is closing: old writes must not reach the
 * storage after new ones. Before the target refuses an ATTACH, it answers RNBD_ST_BUSY until older
 * attachments of the session to an export of that name have ended. After a refusal the client may
 * fail its writes, and a failed write must not be executed later.
 *
 * An exclusive export has one owner at a time (owner.c). An ATTACH of a new owner is answered
 * with RNBD_ST_BUSY until the attachments of the former owners have ended.
 *
 * A host has at most one open attachment per export: an ATTACH for a second one is answered with
 * RNBD_ST_ATTACHED. Requests of two attachments have no order, so a write that was sent on a lost
 * connection through one attachment could reach the storage after newer writes through the other.
 *
 * Ownership: a bound attachment keeps its export from being freed, see attached.c.
 *
 * Concurrency: the host stays locked from the check of the fence until the attachment is bound.
 * While a host is locked, neither the configuration nor the owner of an exclusive export can
 * change. So no other host can bind an attachment to the same exclusive export in that time.
 *
 * Errors: a refused attachment is not bound.
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

/* Close the live sessions of the host that have another boot id than @s. */
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
		/* Keep a session that was never live: it has sent no requests. */
		if (state < RNBDT_LIVE) {
			host->mixed_boots = true;
			continue;
		}
		if (!rnbdt_same_address(&old->peer, &s->peer))
			pr_warn_ratelimited("host %pUb now comes from %pISc, not from %pISc: if these are two machines, give one of them another host id\n",
					    &s->host_id, &s->peer, &old->peer);
		rnbdt_session_close(old, "the client has restarted");
	}
}

/**
 * rnbdt_close_restarted - close the live sessions from before a restart of the client module
 * @s: session that logs in; its client is authenticated and not fenced
 *
 * A host can have many sessions, so the function walks them only if one can have another boot id.
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

/* Check whether other attachments to @export forbid a new attachment of the host of @s. */
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

		/* Skip an attachment to a removed export that had the same name. */
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
	/* Attachments of former owners must end first: old writes must not follow new ones. */
	return export->exclusive && READ_ONCE(export->nr_attached) > nr ? RNBD_ST_BUSY : status;
}

/**
 * rnbdt_is_draining - check whether a session still has a bound attachment
 * @s: session of the client
 * @name: consider only exports of this name; NULL: all exports
 *
 * The attachments of all epochs of the session count.
 *
 * Context: host of @s locked.
 * Return: true if there is such an attachment; then the storage possibly has requests of the
 * client.
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
 * rnbdt_bind_check - find the export of an ATTACH, and check that the session may use it
 * @s: live session
 * @info: ATTACH
 * @export: result, valid if the return value is RNBD_ST_OK
 *
 * Context: host of @s locked.
 * Return: RNBD_ST_OK, RNBD_ST_BUSY while the storage possibly has requests of an older
 * attachment, or the reason of the refusal.
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
 * rnbdt_bind_is_config - test whether binding an attachment changes the configuration
 * @s: session of the attachment
 * @export: result of rnbdt_bind_check()
 *
 * Context: host of @s locked.
 * Return: true if rnbdt_lock must be held for writing to bind the attachment.
 */
bool rnbdt_bind_is_config(const struct rnbdt_session *s, const struct rnbdt_export *export)
{
	return rnbdt_owner_changes(export, s) || rnbdt_export_resized(export);
}

/**
 * rnbdt_bind - bind an attachment to an export
 * @att: new attachment
 * @export: result of rnbdt_bind_check(); the host has not been unlocked since
 * @flags: RNBD_ATTACH_* of the request
 *
 * Context: host of the session locked or rnbdt_lock held for writing; the latter is required if
 * rnbdt_bind_is_config() has returned true.
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
