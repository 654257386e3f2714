// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: states, attach and detach.
 *
 * Operation: attaching makes a session, connects it and creates its disk. A
 * connection that is lost is replaced by recover.c while the disk stays. Both
 * end here: rnbd_session_set_state() is the one place where a state changes.
 *
 * Ownership: the module's list holds a reference until the session is
 * detached, lookups hold one for their time; memory and disk go with the last.
 * RDMA resources belong to the connection and are freed as soon as it ends, so
 * that a device can be removed while a disk without it is still open.
 *
 * Concurrency: sess->lock protects state, reasons and the queueing of
 * recover_work, so that whoever has seen a state that needs no recovery and
 * cancels the work finds it gone for good. A state may change in an interrupt;
 * event_work tells people and listeners, in order.
 *
 * Errors: attach undoes everything and says why in struct rnbd_why.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "../core/mac.h"
#include "client.h"
#include "trace.h"

/* A connection that dies younger may have died of lost packets, see lossy. */
#define RNBD_SHORT_LIFE		(10 * HZ)
#define RNBD_LONG_LIFE		(60 * HZ)

static const char * const rnbd_state_names[] = {
	[RNBD_CONNECTING]	= "connecting",
	[RNBD_LIVE]		= "live",
	[RNBD_RECONNECTING]	= "reconnecting",
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

static void rnbd_session_release(struct kref *ref)
{
	struct rnbd_session *sess = container_of(ref, struct rnbd_session, ref);
	u32 i;

	rnbd_disk_free(sess);
	for (i = 0; i < RNBD_QUEUES_MAX && sess->queues[i]; i++) {
		rnbd_bounce_free(sess->queues[i]);
		kfree(sess->queues[i]);
	}
	rnbd_mac_free(sess->key);
	kfree(sess);
}

/* States that may follow a state. */
static const u8 rnbd_state_next[] = {
	[RNBD_CONNECTING]	= BIT(RNBD_LIVE) | BIT(RNBD_CLOSING),
	[RNBD_LIVE]		= BIT(RNBD_RECONNECTING) | BIT(RNBD_FAILED) |
				  BIT(RNBD_CLOSING),
	[RNBD_RECONNECTING]	= BIT(RNBD_LIVE) | BIT(RNBD_FAILED) |
				  BIT(RNBD_CLOSING),
	[RNBD_FAILED]		= BIT(RNBD_CLOSING),
	[RNBD_CLOSING]		= 0,
};

/**
 * rnbd_session_tell_more - there is something for event_work to tell
 * @sess: session
 *
 * Context: any.
 */
void rnbd_session_tell_more(struct rnbd_session *sess)
{
	kref_get(&sess->ref);
	if (!queue_work(rnbd_event_wq, &sess->event_work))
		kref_put(&sess->ref, rnbd_session_release);
}

/* Note what event_work will tell. A session outlives the notes about it. */
static void rnbd_session_note(struct rnbd_session *sess, enum rnbd_state from)
{
	struct rnbd_change *change = &sess->changes[sess->nr_changes % RNBD_CHANGES];

	lockdep_assert_held(&sess->lock);

	/* Before there is a disk nobody knows of the session. */
	if (!sess->disk)
		return;
	*change = (struct rnbd_change) {
		.from = from,
		.to = sess->state,
		.epoch = sess->epoch,
		.attempt = sess->attempt,
		.reason = sess->reason,
		.when_ns = sess->state_ns,
	};
	sess->nr_changes++;
	rnbd_session_tell_more(sess);
}

/* The one place where a state changes. */
static bool rnbd_session_set_state(struct rnbd_session *sess, enum rnbd_state state)
{
	enum rnbd_state old = sess->state;

	lockdep_assert_held(&sess->lock);

	if (!(rnbd_state_next[old] & BIT(state)))
		return false;
	/* A connection that broke while it was made does not become live. */
	if (state == RNBD_LIVE &&
	    (sess->broken || test_bit(RNBD_SESS_DEACTIVATED, &sess->flags)))
		return false;
	WRITE_ONCE(sess->state, state);
	sess->state_ns = ktime_get_ns();
	switch (state) {
	case RNBD_LIVE:
		clear_bit(RNBD_SESS_FAIL_IO, &sess->flags);
		sess->live_at = jiffies;
		if (old == RNBD_RECONNECTING)
			sess->reconnects++;
		break;
	case RNBD_RECONNECTING:
		sess->reason = sess->broken_why;
		sess->lost++;
		sess->lost_at = jiffies;
		if (time_before(jiffies, sess->live_at + RNBD_SHORT_LIFE))
			sess->lossy = true;
		else if (time_after(jiffies, sess->live_at + RNBD_LONG_LIFE))
			sess->lossy = false;
		sess->attempt = 0;
		break;
	case RNBD_FAILED:
		if (old == RNBD_LIVE) {
			sess->reason = RNBD_DEACTIVATED_WHY;
			sess->attempt = 0;
		}
		fallthrough;
	case RNBD_CLOSING:
		set_bit(RNBD_SESS_FAIL_IO, &sess->flags);
		break;
	default:
		break;
	}
	trace_rnbd_state(sess, old, state);
	rnbd_session_note(sess, old);
	return true;
}

/* A disk that comes or goes has uevents of its own. */
static bool rnbd_session_has_events(const struct rnbd_session *sess)
{
	return test_bit(RNBD_SESS_ATTACHED, &sess->flags) &&
	       !test_bit(RNBD_SESS_DETACH, &sess->flags);
}

static void rnbd_session_tell(struct rnbd_session *sess,
			      const struct rnbd_change *change)
{
	const char *name = rnbd_session_name(sess);
	char error[RNBD_WHY_SIZE];

	switch (change->to) {
	case RNBD_RECONNECTING:
		pr_warn("%s (%s at %s): connection lost: %s\n", name,
			sess->opt.export, sess->opt.addr, change->reason);
		break;
	case RNBD_FAILED:
		rnbd_session_last_error(sess, error);
		pr_err("%s (%s at %s): given up, all I/O fails: %s\n", name,
		       sess->opt.export, sess->opt.addr, error);
		break;
	case RNBD_LIVE:
		if (change->from == RNBD_RECONNECTING)
			pr_info("%s (%s at %s): connected again, attempt %u, epoch %u\n",
				name, sess->opt.export, sess->opt.addr,
				change->attempt, change->epoch);
		break;
	default:
		break;
	}
	rnbd_netlink_event(sess, change);
	if (rnbd_session_has_events(sess))
		rnbd_parent_event(sess, change->to);
}

/* Returns whether there is one; @lost: others before it have been overwritten. */
static bool rnbd_session_next_change(struct rnbd_session *sess,
				     struct rnbd_change *change, bool *lost)
{
	unsigned long flags;
	u32 waiting;

	spin_lock_irqsave(&sess->lock, flags);
	waiting = sess->nr_changes - sess->nr_told;
	*lost = waiting > RNBD_CHANGES;
	if (*lost)
		sess->nr_told = sess->nr_changes - RNBD_CHANGES;
	if (waiting)
		*change = sess->changes[sess->nr_told++ % RNBD_CHANGES];
	spin_unlock_irqrestore(&sess->lock, flags);
	return waiting;
}

static void rnbd_event_work(struct work_struct *work)
{
	struct rnbd_session *sess = container_of(work, struct rnbd_session,
						 event_work);
	struct rnbd_change change;
	bool lost;

	while (rnbd_session_next_change(sess, &change, &lost)) {
		if (lost)
			rnbd_netlink_event_lost();
		rnbd_session_tell(sess, &change);
	}
	if (rnbd_session_has_events(sess) &&
	    test_and_clear_bit(RNBD_SESS_RESIZED, &sess->flags))
		rnbd_disk_resized(sess);
	rnbd_session_put(sess);
}

/**
 * rnbd_session_set_error - remember why an attempt to connect failed
 * @sess: session
 * @text: why
 *
 * Context: any.
 */
void rnbd_session_set_error(struct rnbd_session *sess, const char *text)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	strscpy(sess->last_error, text);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbd_session_last_error - why the last attempt to connect failed
 * @sess: session
 * @text: where to, RNBD_WHY_SIZE bytes; empty if none did
 *
 * Context: any.
 */
void rnbd_session_last_error(struct rnbd_session *sess, char *text)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	memcpy(text, sess->last_error, RNBD_WHY_SIZE);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbd_session_advance - change the state and tell everybody
 * @sess: session
 * @state: new state
 *
 * Context: any.
 * Return: false if that change is not possible, and nothing was done.
 */
bool rnbd_session_advance(struct rnbd_session *sess, enum rnbd_state state)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&sess->lock, flags);
	ok = rnbd_session_set_state(sess, state);
	spin_unlock_irqrestore(&sess->lock, flags);
	return ok;
}

/**
 * rnbd_session_fail - the connection is of no more use
 * @sess: session
 * @reason: constant text
 *
 * A live session begins to recover. While a connection is being made, the
 * thread that makes it notices and cleans up.
 *
 * Context: any.
 */
void rnbd_session_fail(struct rnbd_session *sess, const char *reason)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	if (!sess->broken)
		sess->broken_why = reason;
	sess->broken = true;
	/* Whoever deactivates the disk is at it, and does all there is to do. */
	if (sess->state == RNBD_LIVE &&
	    !test_bit(RNBD_SESS_DEACTIVATED, &sess->flags) &&
	    rnbd_session_set_state(sess, RNBD_RECONNECTING))
		mod_delayed_work(rnbd_wq, &sess->recover_work, 0);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbd_session_ends - is nobody to connect any more
 * @sess: session
 *
 * Context: any.
 */
bool rnbd_session_ends(const struct rnbd_session *sess)
{
	return test_bit(RNBD_SESS_DETACH, &sess->flags) ||
	       test_bit(RNBD_SESS_DEACTIVATED, &sess->flags);
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

static void rnbd_why_no_key(struct rnbd_why *why, long error)
{
	if (error == -ENOENT)
		rnbd_why(why, "the kernel has no hmac(sha256); try: modprobe -a hmac sha256");
	else if (error != -ENOMEM)
		rnbd_why(why, "the kernel cannot make an hmac(sha256) (%ld)", error);
}

/**
 * rnbd_session_alloc - make a session that is not connected
 * @opt: what was asked for; copied
 * @why: filled on error, unless that is -ENOMEM
 *
 * Context: process context, may load a module for the secret.
 * Return: the session with a reference for the caller, or an ERR_PTR: -ENOMEM or
 * what the crypto API says.
 */
struct rnbd_session *rnbd_session_alloc(const struct rnbd_options *opt,
					struct rnbd_why *why)
{
	struct rnbd_session *sess = kzalloc(sizeof(*sess), GFP_KERNEL);

	if (!sess)
		return ERR_PTR(-ENOMEM);
	if (opt->secret) {
		struct crypto_shash *key = rnbd_mac_alloc(opt->secret);

		if (IS_ERR(key)) {
			rnbd_why_no_key(why, PTR_ERR(key));
			kfree(sess);
			return ERR_CAST(key);
		}
		sess->key = key;
	}
	kref_init(&sess->ref);
	INIT_LIST_HEAD(&sess->list);
	INIT_LIST_HEAD(&sess->named);
	spin_lock_init(&sess->lock);
	mutex_init(&sess->conn_lock);
	mutex_init(&sess->recover_lock);
	INIT_WORK(&sess->event_work, rnbd_event_work);
	init_waitqueue_head(&sess->wait);
	rnbd_recover_init(sess);
	sess->opt = *opt;
	/* It is the caller's, and the key knows it. */
	sess->opt.secret = NULL;
	sess->early_release = opt->early_release;
	sess->state = RNBD_CONNECTING;
	sess->state_ns = ktime_get_ns();
	sess->index = -1;
	generate_random_uuid(sess->id);
	if (rnbd_inject(&rnbd_inject_fixed_session, NULL))
		memset(sess->id, 0x11, sizeof(sess->id));
	return sess;
}

/* Of two disks with the same name nobody could say which one is meant. */
static int rnbd_session_take_name(struct rnbd_session *sess, struct rnbd_why *why)
{
	struct rnbd_session *other;
	int ret = 0;

	if (!sess->opt.name[0])
		return 0;
	mutex_lock(&rnbd_sessions_lock);
	list_for_each_entry(other, &rnbd_sessions_named, named) {
		if (strcmp(other->opt.name, sess->opt.name))
			continue;
		/* Only a session on the list is sure to have a disk. */
		if (list_empty(&other->list))
			rnbd_why(why, "the name %s is taken by an attach or detach under way",
				 sess->opt.name);
		else
			rnbd_why(why, "the name %s is taken by %s; choose another",
				 sess->opt.name, other->disk->disk_name);
		ret = -EEXIST;
		break;
	}
	if (!ret)
		list_add_tail(&sess->named, &rnbd_sessions_named);
	mutex_unlock(&rnbd_sessions_lock);
	return ret;
}

static void rnbd_session_drop_name(struct rnbd_session *sess)
{
	mutex_lock(&rnbd_sessions_lock);
	list_del_init(&sess->named);
	mutex_unlock(&rnbd_sessions_lock);
}

/**
 * rnbd_session_attach - connect to an export and create its disk
 * @opt: what to attach
 * @why: filled on error
 *
 * Context: process context, may sleep for as long as the network takes; ends
 * early on a signal that kills.
 * Return: the session with a reference for the caller, or an ERR_PTR after
 * which nothing is left behind: -EBUSY if the target has not ended yet what
 * this host had there before it was started anew, -EEXIST if another disk has
 * the name.
 */
struct rnbd_session *rnbd_session_attach(const struct rnbd_options *opt,
					 struct rnbd_why *why)
{
	struct rnbd_session *sess;
	int ret;

	sess = rnbd_session_alloc(opt, why);
	if (IS_ERR(sess))
		return sess;

	ret = rnbd_session_take_name(sess, why);
	if (ret)
		goto put;
	ret = rnbd_connect(sess, why);
	if (ret)
		goto fail;
	ret = rnbd_disk_create(sess, why);
	if (ret)
		goto fail;
	ret = rnbd_recover_start(sess, why);
	if (ret)
		goto fail;
	ret = rnbd_disk_add(sess, why);
	if (ret)
		goto fail;
	/*
	 * Until here a loss lets I/O fail, so that nobody waits for a reader
	 * of the partition table; from here on the disk may be in use.
	 */
	set_bit(RNBD_SESS_ATTACHED, &sess->flags);
	/* It may have got another size while it was added. */
	rnbd_session_tell_more(sess);
	if (READ_ONCE(sess->state) != RNBD_LIVE) {
		/* Recovery may have begun, and broken_why is about its attempt. */
		rnbd_why(why, "%s", READ_ONCE(sess->reason));
		ret = -ECONNRESET;
		set_bit(RNBD_SESS_DETACH, &sess->flags);
		rnbd_recover_abort(sess);
		del_gendisk(sess->disk);
		goto fail;
	}

	pr_info("%s: attached %s at %s, %llu bytes, %u queues of %u, pool %u KiB\n",
		rnbd_session_name(sess), opt->export, opt->addr,
		sess->grant.capacity, sess->nr_queues, sess->grant.queue_depth,
		sess->grant.pool_units << (RNBD_UNIT_SHIFT - 10));

	kref_get(&sess->ref);
	mutex_lock(&rnbd_sessions_lock);
	list_add_tail(&sess->list, &rnbd_sessions);
	mutex_unlock(&rnbd_sessions_lock);
	return sess;

fail:
	/* Recovery that is at it must not go through all its time limits. */
	set_bit(RNBD_SESS_DETACH, &sess->flags);
	wake_up(&sess->wait);
	rnbd_session_advance(sess, RNBD_CLOSING);
	rnbd_recover_end(sess);
	/* Another disk may get this one's name; and the module may go. */
	flush_work(&sess->event_work);
	rnbd_disk_remove(sess);
	rnbd_session_drop_name(sess);
	/* Who is told that the target is busy comes again. */
	if (ret != -EINTR && ret != -EBUSY)
		pr_err("cannot attach %s at %s: %s\n", opt->export, opt->addr,
		       why->text[0] ? why->text : "no memory");
put:
	rnbd_session_put(sess);
	return ERR_PTR(ret);
}

/* Only one thread may detach; it keeps later openers out. */
static int rnbd_session_claim(struct rnbd_session *sess, bool force,
			      struct rnbd_why *why)
{
	int ret = 0;

	/* Who holds the mutex may wait for I/O that only the detach will end. */
	if (force)
		return test_and_set_bit(RNBD_SESS_DETACH, &sess->flags) ?
		       -EALREADY : 0;

	mutex_lock(&sess->disk->open_mutex);
	if (disk_openers(sess->disk)) {
		rnbd_why(why, "the disk is in use (close it, or detach with force)");
		ret = -EBUSY;
	} else if (test_and_set_bit(RNBD_SESS_DETACH, &sess->flags)) {
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
 * stands, otherwise with an error. A session that detaches does not reconnect.
 *
 * Context: process context, may sleep.
 * Return: 0, -EBUSY if it is open, -EALREADY if somebody else is at it.
 */
int rnbd_session_detach(struct rnbd_session *sess, bool force, struct rnbd_why *why)
{
	int ret;

	ret = rnbd_session_claim(sess, force, why);
	if (ret == -EALREADY)
		rnbd_why(why, "the disk is being detached already");
	if (ret)
		return ret;

	mutex_lock(&rnbd_sessions_lock);
	list_del_init(&sess->list);
	mutex_unlock(&rnbd_sessions_lock);

	pr_info("%s: detaching\n", rnbd_session_name(sess));
	/* I/O that waits for a connection would wait for ever. */
	rnbd_recover_abort(sess);
	del_gendisk(sess->disk);
	rnbd_session_advance(sess, RNBD_CLOSING);
	rnbd_recover_end(sess);
	/* Another disk may get this one's name; and the module may go. */
	flush_work(&sess->event_work);
	rnbd_disk_remove(sess);
	rnbd_session_drop_name(sess);
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
 * Open disks pin the module, so none is open here, and nothing can be attached
 * any more. A detach that is under way has told its events when its command is
 * answered, which unregistering the family waits for.
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
