// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: attach, detach, states, and the end of a connection.
 *
 * Operation: attaching makes a session, connects it and creates its disk. When
 * the connection fails, down_work drains and frees everything that belongs to
 * the RDMA device and then fails the requests in flight; the disk stays, and
 * fails its I/O, until it is detached.
 *
 * Ownership: the module's list holds a reference until the session is
 * detached, lookups hold one for their time; the memory goes with the last.
 * RDMA resources belong to the connection and are freed as soon as it ends, so
 * that a device can be removed while a dead disk is still open.
 *
 * Concurrency: states change under sess->lock in rnbd_session_set_state().
 * The RNBD_SESS_DOWN bit makes sure that a connection is ended once; whoever
 * waits for the end flushes down_work.
 *
 * Errors: attach undoes everything and says why in struct rnbd_why.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/module.h>
#include <linux/slab.h>

#include "client.h"
#include "trace.h"

static const char * const rnbd_state_names[] = {
	[RNBD_CONNECTING]	= "connecting",
	[RNBD_LIVE]		= "live",
	[RNBD_FAILED]		= "failed",
	[RNBD_CLOSING]		= "closing",
};

/**
 * rnbd_state_text - name of a state, as sysfs and netlink show it
 * @state: state
 */
const char *rnbd_state_text(enum rnbd_state state)
{
	return rnbd_state_names[state];
}

/**
 * rnbd_session_name - name of the session's disk for messages
 * @sess: session
 */
const char *rnbd_session_name(const struct rnbd_session *sess)
{
	return sess->disk ? sess->disk->disk_name : "new disk";
}

/**
 * rnbd_why - set the text for the person who asked
 * @why: where to
 * @fmt: format
 *
 * A text once set is kept: the place nearest to the fault knows best.
 */
void rnbd_why(struct rnbd_why *why, const char *fmt, ...)
{
	va_list args;

	if (why->text[0])
		return;
	va_start(args, fmt);
	vscnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
}

static bool rnbd_state_may_change(enum rnbd_state from, enum rnbd_state to)
{
	switch (to) {
	case RNBD_LIVE:
		return from == RNBD_CONNECTING;
	case RNBD_FAILED:
		return from == RNBD_CONNECTING || from == RNBD_LIVE;
	case RNBD_CLOSING:
		return from != RNBD_CLOSING;
	default:
		return false;
	}
}

/**
 * rnbd_session_set_state - the one place where a state changes
 * @sess: session
 * @state: new state
 *
 * Context: any, without sess->lock.
 * Return: false if that change is not possible, and nothing was done.
 */
bool rnbd_session_set_state(struct rnbd_session *sess, enum rnbd_state state)
{
	enum rnbd_state old;
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&sess->lock, flags);
	old = sess->state;
	ok = rnbd_state_may_change(old, state);
	if (ok)
		WRITE_ONCE(sess->state, state);
	spin_unlock_irqrestore(&sess->lock, flags);

	if (ok) {
		trace_rnbd_state(sess, old, state);
		if (state == RNBD_FAILED)
			pr_err("%s (%s at %s): %s -> %s: %s\n",
			       rnbd_session_name(sess), sess->opt.export,
			       sess->opt.addr, rnbd_state_text(old),
			       rnbd_state_text(state), sess->reason);
		else
			pr_debug("%s (%s at %s): %s -> %s\n",
				 rnbd_session_name(sess), sess->opt.export,
				 sess->opt.addr, rnbd_state_text(old),
				 rnbd_state_text(state));
	}
	return ok;
}

/**
 * rnbd_session_fail - the connection is of no more use
 * @sess: session
 * @reason: constant text
 *
 * While the session is still connecting, the thread that attaches notices by
 * itself and cleans up.
 *
 * Context: any.
 */
void rnbd_session_fail(struct rnbd_session *sess, const char *reason)
{
	unsigned long flags;
	bool first;

	/* Who finds RNBD_SESS_DOWN set and takes the lock may flush the work. */
	spin_lock_irqsave(&sess->lock, flags);
	if (!sess->reason)
		sess->reason = reason;
	first = sess->state != RNBD_CONNECTING &&
		!test_and_set_bit(RNBD_SESS_DOWN, &sess->flags);
	if (first)
		queue_work(rnbd_wq, &sess->down_work);
	spin_unlock_irqrestore(&sess->lock, flags);

	if (first)
		rnbd_session_set_state(sess, RNBD_FAILED);
}

static void rnbd_session_down_work(struct work_struct *work)
{
	struct rnbd_session *sess = container_of(work, struct rnbd_session, down_work);

	/* Nobody is inside queue_rq after this, and nobody gets in. */
	blk_mq_quiesce_queue(sess->disk->queue);
	rnbd_disconnect(sess);
	/* The device holds no page any more: now requests may be failed. */
	rnbd_disk_fail_requests(sess);
	rnbd_release_connection(sess);
	blk_mq_unquiesce_queue(sess->disk->queue);
	blk_mq_start_stopped_hw_queues(sess->disk->queue, true);
}

/* End the connection, or wait until whoever began that is through. */
static void rnbd_session_down(struct rnbd_session *sess)
{
	unsigned long flags;

	if (!test_and_set_bit(RNBD_SESS_DOWN, &sess->flags)) {
		rnbd_disconnect(sess);
		rnbd_release_connection(sess);
		return;
	}
	/* It is queued under the lock in which the bit was set. */
	spin_lock_irqsave(&sess->lock, flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	flush_work(&sess->down_work);
}

static void rnbd_session_release(struct kref *ref)
{
	struct rnbd_session *sess = container_of(ref, struct rnbd_session, ref);
	u32 i;

	rnbd_disk_free(sess);
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		kfree(sess->queues[i]);
	kfree(sess);
}

/**
 * rnbd_session_put - drop a reference
 * @sess: session; its disk stays as long as there are references
 *
 * Context: process context, may sleep.
 */
void rnbd_session_put(struct rnbd_session *sess)
{
	kref_put(&sess->ref, rnbd_session_release);
}

static struct rnbd_session *rnbd_session_alloc(const struct rnbd_options *opt)
{
	struct rnbd_session *sess = kzalloc(sizeof(*sess), GFP_KERNEL);

	if (!sess)
		return NULL;
	kref_init(&sess->ref);
	INIT_LIST_HEAD(&sess->list);
	spin_lock_init(&sess->lock);
	mutex_init(&sess->conn_lock);
	INIT_WORK(&sess->down_work, rnbd_session_down_work);
	sess->opt = *opt;
	sess->early_release = opt->early_release;
	sess->state = RNBD_CONNECTING;
	sess->epoch = 1;
	sess->index = -1;
	generate_random_uuid(sess->id);
	return sess;
}

/**
 * rnbd_session_attach - connect to an export and create its disk
 * @opt: what to attach
 * @why: filled on error
 *
 * Context: process context, may sleep for as long as the network takes; ends
 * early on a signal.
 * Return: the session with a reference for the caller, or an ERR_PTR after
 * which nothing is left behind.
 */
struct rnbd_session *rnbd_session_attach(const struct rnbd_options *opt,
					 struct rnbd_why *why)
{
	struct rnbd_session *sess;
	int ret;

	sess = rnbd_session_alloc(opt);
	if (!sess)
		return ERR_PTR(-ENOMEM);

	ret = rnbd_connect(sess, why);
	if (ret)
		goto down;
	ret = rnbd_disk_create(sess, why);
	if (ret)
		goto down;
	ret = rnbd_disk_add(sess, why);
	if (ret)
		goto remove_disk;

	pr_info("%s: attached %s at %s, %llu bytes, %u queues of %u, pool %u KiB\n",
		rnbd_session_name(sess), opt->export, opt->addr,
		sess->grant.capacity, sess->nr_queues, sess->grant.queue_depth,
		sess->grant.pool_units << (RNBD_UNIT_SHIFT - 10));

	kref_get(&sess->ref);
	mutex_lock(&rnbd_sessions_lock);
	list_add_tail(&sess->list, &rnbd_sessions);
	mutex_unlock(&rnbd_sessions_lock);
	return sess;

remove_disk:
	rnbd_session_down(sess);
	rnbd_disk_remove(sess);
	goto put;
down:
	rnbd_session_down(sess);
put:
	if (ret != -EINTR && ret != -ERESTARTSYS)
		pr_err("cannot attach %s at %s: %s\n", opt->export, opt->addr,
		       why->text[0] ? why->text : "no memory");
	rnbd_session_put(sess);
	return ERR_PTR(ret);
}

/* Only one thread may detach; it keeps later openers out. */
static int rnbd_session_claim(struct rnbd_session *sess, bool force,
			      struct rnbd_why *why)
{
	int ret = 0;

	mutex_lock(&sess->disk->open_mutex);
	if (!force && disk_openers(sess->disk)) {
		rnbd_why(why, "the disk is in use (close it, or detach with force)");
		ret = -EBUSY;
	} else if (test_and_set_bit(RNBD_SESS_DETACH, &sess->flags)) {
		rnbd_why(why, "the disk is being detached already");
		ret = -EALREADY;
	}
	mutex_unlock(&sess->disk->open_mutex);
	return ret;
}

/**
 * rnbd_session_detach - remove the disk and end the connection
 * @sess: session that the caller holds a reference on
 * @force: even if the disk is open
 * @why: filled on error
 *
 * Requests in flight are ended first: by the target while the connection
 * stands, otherwise with an error.
 *
 * Context: process context, may sleep.
 * Return: 0, -EBUSY if it is open, -EALREADY if somebody else is at it.
 */
int rnbd_session_detach(struct rnbd_session *sess, bool force, struct rnbd_why *why)
{
	int ret;

	ret = rnbd_session_claim(sess, force, why);
	if (ret)
		return ret;

	mutex_lock(&rnbd_sessions_lock);
	list_del_init(&sess->list);
	mutex_unlock(&rnbd_sessions_lock);

	pr_info("%s: detaching\n", rnbd_session_name(sess));
	/* The connection may still fail meanwhile: down_work then ends I/O. */
	del_gendisk(sess->disk);
	rnbd_session_set_state(sess, RNBD_CLOSING);
	rnbd_session_down(sess);
	rnbd_disk_remove(sess);
	/* the reference of the list */
	rnbd_session_put(sess);
	return 0;
}

/**
 * rnbd_session_find - look a session up by its disk
 * @disk: name without /dev/
 *
 * Return: session with a reference, or NULL.
 */
struct rnbd_session *rnbd_session_find(const char *disk)
{
	struct rnbd_session *sess, *found = NULL;

	mutex_lock(&rnbd_sessions_lock);
	list_for_each_entry(sess, &rnbd_sessions, list) {
		if (strcmp(sess->disk->disk_name, disk))
			continue;
		kref_get(&sess->ref);
		found = sess;
		break;
	}
	mutex_unlock(&rnbd_sessions_lock);
	return found;
}

/**
 * rnbd_sessions_detach_all - detach everything before the module goes
 *
 * Open disks pin the module, so none is open here, and no netlink command can
 * run any more.
 */
void rnbd_sessions_detach_all(void)
{
	struct rnbd_session *sess;
	struct rnbd_why why = {};

	for (;;) {
		mutex_lock(&rnbd_sessions_lock);
		sess = list_first_entry_or_null(&rnbd_sessions,
						struct rnbd_session, list);
		if (sess)
			kref_get(&sess->ref);
		mutex_unlock(&rnbd_sessions_lock);
		if (!sess)
			return;
		rnbd_session_detach(sess, true, &why);
		rnbd_session_put(sess);
	}
}
