// SPDX-License-Identifier: GPL-2.0-only
/*
 * Binding of a login to an export, and the other sessions of its host.
 *
 * Operation
 *
 * A login with another boot id closes the sessions that the host had before its
 * client module restarted. A login is answered with RNBD_ST_BUSY while such
 * a session, or one that closes for another reason, is left on the same export:
 * old writes must not reach the storage after new ones.
 *
 * A host has one session per export. While it is live, a login of another session is
 * answered with RNBD_ST_ATTACHED: there is no order between requests of two sessions,
 * so a write of a lost connection of one could follow newer writes of the other.
 *
 * Ownership: a bound attachment keeps its export, see attached.c.
 *
 * Concurrency: all is under rnbdt_lock, together with the check of the fence. A
 * session of the host that is bound but not live yet makes other logins wait
 * (RNBD_ST_BUSY), so that two of them cannot become live.
 *
 * Errors: a login that is refused here is not bound.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "../core/inject.h"
#include "attached.h"
#include "bind.h"
#include "export.h"
#include "fence.h"
#include "graph.h"
#include "half_open.h"
#include "inject.h"
#include "limits.h"
#include "session.h"
#include "state.h"
#include "target.h"

static void rnbdt_close_stale(struct rnbdt_session *old,
			      const struct rnbdt_session *s)
{
	if (old->state == RNBDT_LIVE &&
	    !rnbdt_same_address(&old->peer, &s->peer))
		pr_warn_ratelimited("host %pUb now comes from %pISc, not from %pISc: if these are two machines, give one of them another host id\n",
				    &s->host_id, &s->peer, &old->peer);
	rnbdt_session_close(old, "the client has been started anew");
}

/*
 * Close the sessions that the host had before its client module restarted, and look
 * for sessions of the host that forbid another one for @export.
 */
static u16 rnbdt_check_others(const struct rnbdt_session *s,
			      const struct rnbdt_export *export)
{
	struct rnbdt_session *old;
	u16 status = RNBD_ST_OK;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry(old, &s->host->sessions, host_entry) {
		/* pairs with the release in rnbdt_session_set_state() */
		enum rnbdt_state state = smp_load_acquire(&old->state);
		bool restarted;

		if (old == s)
			continue;
		if (state == RNBDT_LOGIN && old->att.export == export) {
			status = RNBD_ST_BUSY;
			continue;
		}
		/* Sessions that were never live have sent no requests. */
		if (state < RNBDT_LIVE || !old->live_at)
			continue;
		restarted = memcmp(old->login.info.boot_id, s->login.info.boot_id,
				   sizeof(s->login.info.boot_id));
		if (restarted)
			rnbdt_close_stale(old, s);
		if (old->att.export != export)
			continue;
		if (!restarted && state == RNBDT_LIVE)
			return RNBD_ST_ATTACHED;
		if (restarted || !rnbd_inject(&rnbdt_inject_no_drain, NULL))
			status = RNBD_ST_BUSY;
	}
	return status;
}

/**
 * rnbdt_bind - bind a session to the export that its login names
 * @s: session whose client is authenticated
 *
 * Context: login work; takes rnbdt_lock, may sleep.
 * Return: RNBD_ST_OK, after which the attachment of the session is bound
 * to the export, or the reason for which the login is refused.
 */
u16 rnbdt_bind(struct rnbdt_session *s)
{
	struct rnbdt_export *export;
	u16 status;

	mutex_lock(&rnbdt_lock);
	status = rnbdt_fence_check(s);
	export = rnbdt_port_find_export(s->port, s->host, s->login.info.export);
	if (!status && !export)
		status = RNBD_ST_NO_EXPORT;
	if (!status)
		status = rnbdt_check_others(s, export);
	if (!status)
		status = rnbdt_limits_login(s);
	if (!status) {
		s->att.fence_generation = s->host->fence.generation;
		rnbdt_attached_add(&s->att, export);
		/* The grant then carries the present capacity. */
		rnbdt_export_update_capacity(export);
		rnbdt_fence_admit(s);
	}
	mutex_unlock(&rnbdt_lock);
	return status;
}
