// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choice of the session of a disk: it joins an existing session or creates one.
 *
 * Operation: By default, all disks with the same target address, port and host id share a
 * session. The option new_session gives a disk a session that no other disk uses. The first
 * attach creates the session and connects it, and other attaches wait until it is connected.
 * The last disk that leaves the session closes it.
 *
 * Ownership: sess->users counts each disk that uses the session or waits for its connection.
 * Each of these disks also holds a reference.
 *
 * Concurrency: rnbdc_disks_lock protects the list of sessions and the numbers of users. A
 * session is on the list from its creation by an attach until a task closes the session.
 *
 * Errors: If an explicit option of the attach contradicts the session, the attach fails and
 * the message names the option. An attach with a secret fails if the session is not
 * authenticated. If the attach that creates a session fails to connect it, each waiting
 * attach begins again: it joins another session or creates one.
 */

#include <linux/err.h>
#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rnbd/wire.h>

#include "../core/inject.h"
#include "abort.h"
#include "auth.h"
#include "bounce.h"
#include "errmsg.h"
#include "inject.h"
#include "lease.h"
#include "option_table.h"
#include "options.h"
#include "recover.h"
#include "release.h"
#include "session.h"
#include "session_get.h"
#include "stall.h"
#include "state.h"

/* Jiffies between two checks for a request to abort. */
#define RNBDC_ABORT_PERIOD	(HZ / 10)
/* Milliseconds that an attach waits for the recovery of a session that is lost */
#define RNBDC_JOIN_MS		10000
/* Milliseconds that the last user of a session waits for DETACHED */
#define RNBDC_LEAVE_MS		2000

/* Sessions that attaches have created and that are not closed; protected by rnbdc_disks_lock */
static LIST_HEAD(rnbdc_sessions);
/* Serial number of the session that was added to the list last; protected by rnbdc_disks_lock */
static u32 rnbdc_last_serial;

/**
 * rnbdc_session_alloc - allocate a session that is not connected and has no disk
 * @opt: options, which are copied
 * @errmsg: message for the user, set on all errors except -ENOMEM
 *
 * Context: process context, may sleep; can load a module for the secret.
 * Return: the session with a reference for the caller, or an ERR_PTR: -ENOMEM or
 * the error of the crypto API.
 */
struct rnbdc_session *rnbdc_session_alloc(const struct rnbdc_options *opt,
					  struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess = kzalloc(sizeof(*sess), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!sess)
		return ERR_PTR(-ENOMEM);
	sess->opt = opt->sess;
	sess->max_queues = min(rnbdc_requested_queues(sess), RNBD_CONNS_MAX);
	sess->max_segments = clamp(opt->sess.max_io >> RNBD_UNIT_SHIFT, RNBDC_SEGMENTS_MIN,
				   RNBDC_SEGMENTS_MAX);
	if (opt->sess.copy)
		sess->max_segments = max(sess->max_segments,
					 rnbdc_bounce_segments(opt->sess.max_io));
	sess->queues = kvcalloc(sess->max_queues, sizeof(*sess->queues), GFP_KERNEL);
	sess->tables = mempool_create_kmalloc_pool(RNBDC_TABLES_MIN, sess->max_segments *
						   sizeof(struct ib_sge));
	if (!sess->queues || !sess->tables)
		goto free;
	if (opt->secret) {
		ret = rnbdc_auth_set_secret(sess, opt->secret, errmsg);
		if (ret)
			goto free;
	}
	kref_init(&sess->ref);
	INIT_LIST_HEAD(&sess->disks);
	INIT_LIST_HEAD(&sess->recovery.turns);
	INIT_LIST_HEAD(&sess->entry);
	ida_init(&sess->indexes);
	xa_init_flags(&sess->detaching, XA_FLAGS_LOCK_IRQ);
	spin_lock_init(&sess->lock);
	mutex_init(&sess->conn_lock);
	mutex_init(&sess->recovery.lock);
	init_waitqueue_head(&sess->wait);
	rnbdc_recover_init(sess);
	rnbdc_stall_init(sess);
	rnbdc_lease_init(sess);
	sess->early_release = opt->sess.early_release;
	sess->state = RNBDC_SESS_NEW;
	sess->login.reply_ms = RNBDC_LOGIN_MS;
	generate_random_uuid(sess->id);
	if (rnbd_inject(&rnbdc_inject_fixed_session, NULL))
		memset(sess->id, 0x11, sizeof(sess->id));
	return sess;

free:
	mempool_destroy(sess->tables);
	kvfree(sess->queues);
	kfree(sess);
	return ERR_PTR(ret);
}

/* Test whether a session is lost and has no disk for which recovery would connect it. */
static bool rnbdc_session_ended(struct rnbdc_session *sess)
{
	return READ_ONCE(sess->state) == RNBDC_SESS_LOST &&
	       (list_empty(&sess->disks) || rnbdc_session_ending(sess));
}

static struct rnbdc_session *rnbdc_session_find(const struct rnbdc_session_options *opt)
{
	struct rnbdc_session *sess;

	lockdep_assert_held(&rnbdc_disks_lock);

	list_for_each_entry(sess, &rnbdc_sessions, entry)
		if (!sess->opt.new_session && !rnbdc_session_ended(sess) &&
		    !memcmp(&sess->opt.dst, &opt->dst, sizeof(opt->dst)) &&
		    !memcmp(sess->opt.host_id, opt->host_id, UUID_SIZE))
			return sess;
	return NULL;
}

/* Test whether the session is connected, or will not be connected (again). */
static bool rnbdc_session_settled(struct rnbdc_session *sess)
{
	enum rnbdc_session_state state = READ_ONCE(sess->state);

	return state == RNBDC_SESS_LIVE || state == RNBDC_SESS_CLOSED ||
	       rnbdc_session_ended(sess);
}

/* Wait until another attach, or recovery, has connected the session. */
static int rnbdc_session_wait(struct rnbdc_session *sess, struct rnbdc_abort *abort,
			      struct rnbdc_errmsg *errmsg)
{
	/* A first connection can take long. Wait less after a loss, which is possibly permanent. */
	u32 ms = READ_ONCE(sess->state) == RNBDC_SESS_LOST ? RNBDC_JOIN_MS : RNBDC_LOGIN_MS;
	unsigned long until = jiffies + msecs_to_jiffies(ms);

	/* Poll, because a request to abort does not wake sess->wait. */
	while (!wait_event_timeout(sess->wait,
				   rnbdc_session_settled(sess) || rnbdc_abort_requested(abort),
				   RNBDC_ABORT_PERIOD) &&
	       time_before(jiffies, until))
		;
	if (rnbdc_abort_requested(abort)) {
		rnbdc_errmsg_set(errmsg, "interrupted");
		return -EINTR;
	}
	if (!rnbdc_session_settled(sess)) {
		rnbdc_errmsg_set(errmsg,
				 "the session with this target has no connection; see: rnbd list");
		return -ETIMEDOUT;
	}
	return READ_ONCE(sess->state) == RNBDC_SESS_LIVE ? 0 : -EAGAIN;
}

/* Refuse an attach with a secret to an unauthenticated session; the secret is not compared. */
static int rnbdc_session_check_auth(const struct rnbdc_session *sess,
				    const struct rnbdc_options *opt, struct rnbdc_errmsg *errmsg)
{
	if (!opt->secret || READ_ONCE(sess->auth.authenticated))
		return 0;
	rnbdc_errmsg_set(errmsg,
			 "the session is not authenticated; omit the secret, or use --new-session");
	return -EINVAL;
}

/*
 * Wait until the target has ended all attachments, at most RNBDC_LEAVE_MS. If the connection
 * ended earlier, the target would treat that as a loss and keep the memory of the session for a
 * reconnect.
 */
static void rnbdc_session_await_detached(struct rnbdc_session *sess)
{
	wait_event_idle_timeout(sess->wait, READ_ONCE(sess->state) != RNBDC_SESS_LIVE ||
				xa_empty(&sess->detaching), msecs_to_jiffies(RNBDC_LEAVE_MS));
}

/**
 * rnbdc_session_leave - end the use of a session by a disk
 * @sess: session that the caller has joined or created; the caller's disk is detached
 * @created: the caller has created the session; if it was never live, the function closes
 *	it even if other attaches wait for its connection
 *
 * The last user closes the session.
 *
 * Context: process context, may sleep; the last user waits up to RNBDC_LEAVE_MS for the
 * target.
 */
void rnbdc_session_leave(struct rnbdc_session *sess, bool created)
{
	bool close;

	mutex_lock(&rnbdc_disks_lock);
	sess->users--;
	/* Only the task that takes the session off the list closes it. */
	close = !list_empty(&sess->entry) &&
		(!sess->users || (created && READ_ONCE(sess->state) == RNBDC_SESS_NEW));
	if (close)
		list_del_init(&sess->entry);
	mutex_unlock(&rnbdc_disks_lock);
	if (!close)
		return;
	rnbdc_session_await_detached(sess);
	rnbdc_session_close(sess);
	wake_up_all(&sess->wait);
	rnbdc_recover_end(sess);
}

/*
 * Join an existing session. If there is none, or the attach requests a session of its own, add
 * @new to the list and return it; @new may be NULL.
 */
static struct rnbdc_session *rnbdc_session_take(struct rnbdc_session *new,
						const struct rnbdc_options *opt,
						struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess;

	mutex_lock(&rnbdc_disks_lock);
	sess = opt->sess.new_session ? NULL : rnbdc_session_find(&opt->sess);
	if (!sess) {
		sess = new;
		if (new) {
			new->serial = ++rnbdc_last_serial;
			list_add_tail(&new->entry, &rnbdc_sessions);
		}
	} else if (!rnbdc_options_agree(opt, &sess->opt, errmsg)) {
		sess = ERR_PTR(-EINVAL);
	} else {
		kref_get(&sess->ref);
	}
	if (!IS_ERR_OR_NULL(sess))
		sess->users++;
	mutex_unlock(&rnbdc_disks_lock);
	return sess;
}

/**
 * rnbdc_session_get - join the session with a target, or create one
 * @opt: options of the attach
 * @created: result: true if the session is new and the caller must connect it
 * @errmsg: message for the user, set on error
 *
 * The caller must later call rnbdc_session_leave() and drop the reference.
 *
 * Context: process context, may sleep until another attach or recovery has connected the
 * session; ends early when an abort is requested in opt->abort.
 * Return: the session with a reference, or an ERR_PTR: -EINVAL if an option or the secret
 * contradicts the session, -ETIMEDOUT if the session was not connected in time, -EINTR
 * after a request to abort, or an error of rnbdc_session_alloc().
 */
struct rnbdc_session *rnbdc_session_get(const struct rnbdc_options *opt, bool *created,
					struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *new, *sess;
	int ret;

	do {
		*created = false;
		sess = rnbdc_session_take(NULL, opt, errmsg);
		if (!sess) {
			new = rnbdc_session_alloc(opt, errmsg);
			if (IS_ERR(new))
				return new;
			sess = rnbdc_session_take(new, opt, errmsg);
			*created = sess == new;
			if (*created)
				return sess;
			rnbdc_session_put(new);
		}
		if (IS_ERR(sess))
			return sess;
		ret = rnbdc_session_wait(sess, opt->abort, errmsg) ?:
		      rnbdc_session_check_auth(sess, opt, errmsg);
		if (ret) {
			rnbdc_session_leave(sess, false);
			rnbdc_session_put(sess);
		}
	} while (ret == -EAGAIN);
	return ret ? ERR_PTR(ret) : sess;
}
