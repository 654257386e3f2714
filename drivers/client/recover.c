// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: what happens when a connection is lost, until there is another.
 *
 * Operation
 *
 * recover_work takes the old connection down: no request enters the queues,
 * all queue pairs of the session are drained, and only then the requests in
 * flight go back to the block layer, to be sent again (or to fail). Then it
 * tries to connect, again and again with growing pauses, each time with a
 * higher epoch: the target answers such a login only when nothing of the old
 * epoch is left in its storage, so what is sent again cannot be overtaken by
 * what was sent before.
 *
 * While there is no connection, I/O waits. It fails instead if the policy of
 * the disk is to fail, or once fast_io_fail seconds have passed, or when
 * loss_timeout has passed, after which nobody tries to connect any more.
 *
 * An export that came back with another incarnation may have lost what was
 * acknowledged but not flushed. If there is such data the disk fails as a
 * whole: a failed flush would tell only one of several users.
 *
 * A disk that is deactivated fails at once and for good: the connection is taken down
 * as after a loss, by whoever deactivates it, and there is no other one.
 *
 * Ownership: the connection belongs to recover_work from the loss until
 * rnbd_go_live(), before and after that to attach and detach. recover_lock is
 * for the moment at which attach hands it over, and for rnbd_recover_deactivate(),
 * which takes it from either. It is called by a file of the disk only: that is gone
 * before whoever detaches ends the connection.
 *
 * Concurrency: RNBD_SESS_QUIESCED makes sure that the disk's queues are
 * quiesced once and started once, whoever comes first; RNBD_SESS_FAIL_IO is
 * set and cleared under sess->lock with the state. fail_io_work is not pending
 * or running while a connection is taken down or goes live.
 *
 * Errors: each failed attempt leaves its text in sess->last_error. Work here
 * must not wait for I/O: it may be this disk's.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "client.h"

/* Milliseconds before the second attempt, and at most. */
#define RNBD_PAUSE_MIN_MS	100
#define RNBD_PAUSE_MAX_MS	1000
/* At most, while another disk is found in the place of ours. */
#define RNBD_PAUSE_OTHER_MS	10000

static void rnbd_quiesce(struct rnbd_session *sess)
{
	if (!test_and_set_bit(RNBD_SESS_QUIESCED, &sess->flags))
		blk_mq_quiesce_queue(sess->disk->queue);
}

static void rnbd_unquiesce(struct rnbd_session *sess)
{
	struct request_queue *queue = sess->disk->queue;

	if (test_and_clear_bit(RNBD_SESS_QUIESCED, &sess->flags))
		blk_mq_unquiesce_queue(queue);
	blk_mq_start_stopped_hw_queues(queue, true);
	blk_mq_kick_requeue_list(queue);
}

/* From now on I/O fails until there is a connection, if there may be one. */
static void rnbd_fail_io(struct rnbd_session *sess)
{
	unsigned long flags;
	bool fail;

	spin_lock_irqsave(&sess->lock, flags);
	fail = sess->state != RNBD_LIVE || test_bit(RNBD_SESS_DEACTIVATED, &sess->flags);
	if (fail)
		set_bit(RNBD_SESS_FAIL_IO, &sess->flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	if (fail)
		rnbd_unquiesce(sess);
}

static void rnbd_fail_io_work(struct work_struct *work)
{
	struct rnbd_session *sess = container_of(to_delayed_work(work),
						 struct rnbd_session, fail_io_work);

	pr_warn("%s: no connection for %u seconds, I/O fails\n",
		rnbd_session_name(sess), sess->opt.fast_io_fail);
	rnbd_fail_io(sess);
}

static void rnbd_keepalive_work(struct work_struct *work)
{
	struct rnbd_session *sess = container_of(to_delayed_work(work),
						 struct rnbd_session, keepalive_work);
	u32 victim;

	if (READ_ONCE(sess->state) != RNBD_LIVE)
		return;
	if (rnbd_inject(&rnbd_inject_kill_queue, &victim))
		rnbd_queue_kill(sess->queues[victim % sess->nr_queues]);
	rnbd_keepalive(sess, sess->nr_queues, sess->grant.keepalive_ms);
	queue_delayed_work(rnbd_timer_wq, &sess->keepalive_work,
			   msecs_to_jiffies(sess->grant.keepalive_ms) / 2);
}

static bool rnbd_restarted(const struct rnbd_session *sess)
{
	return memcmp(sess->grant.incarnation, sess->offer.incarnation,
		      sizeof(sess->grant.incarnation));
}

/* Does the client know of writes that a crash of the target may have lost? */
static bool rnbd_unflushed(const struct rnbd_session *sess)
{
	u32 i;

	for (i = 0; i < sess->nr_queues; i++)
		if (sess->queues[i]->last_write_ns > READ_ONCE(sess->flushed_ns))
			return true;
	return false;
}

/**
 * rnbd_check_offer - is what a new connection offers still our disk
 * @sess: session with a disk
 * @why: filled on error
 *
 * Return: 0, -EMEDIUMTYPE if it is not, -EUCLEAN if data may have been lost.
 */
int rnbd_check_offer(struct rnbd_session *sess, struct rnbd_why *why)
{
	const struct rnbd_grant *old = &sess->grant, *new = &sess->offer;

	if (memcmp(old->export_uuid, new->export_uuid, sizeof(old->export_uuid))) {
		rnbd_why(why, "another export has this name now");
		return -EMEDIUMTYPE;
	}
	if (old->logical_block != new->logical_block || old->flags != new->flags) {
		rnbd_why(why, "the export has other properties now; detach it and attach it again");
		return -EMEDIUMTYPE;
	}
	if (new->queue_depth < old->queue_depth || new->max_io < old->max_io ||
	    new->max_discard < old->max_discard ||
	    new->max_write_zeroes < old->max_write_zeroes ||
	    new->nr_queues < old->nr_queues) {
		rnbd_why(why, "the target grants less than before");
		return -EMEDIUMTYPE;
	}
	if (rnbd_restarted(sess) && rnbd_unflushed(sess)) {
		rnbd_why(why, "the target restarted and may have lost acknowledged writes");
		return -EUCLEAN;
	}
	return 0;
}

/* The disk's queues are quiesced: let I/O fail, or wait for the time to do so. */
static void rnbd_wait_or_fail(struct rnbd_session *sess)
{
	unsigned long limit = sess->opt.fast_io_fail * HZ;
	unsigned long waited = jiffies - sess->lost_at;

	if (test_bit(RNBD_SESS_FAIL_IO, &sess->flags) ||
	    !test_bit(RNBD_SESS_ATTACHED, &sess->flags))
		rnbd_unquiesce(sess);
	else if (limit)
		queue_delayed_work(rnbd_timer_wq, &sess->fail_io_work,
				   limit - min(limit, waited));
}

/*
 * Make the disk as large as the target says. Users hear of it from event_work: to
 * tell them may take memory, and that may wait for this disk.
 */
static void rnbd_take_size(struct rnbd_session *sess)
{
	u64 capacity = READ_ONCE(sess->capacity);

	lockdep_assert_held(&sess->recover_lock);

	/* Requests are held against it; it must not come after the disk's. */
	WRITE_ONCE(sess->grant.capacity, capacity);
	if (test_bit(RNBD_SESS_DETACH, &sess->flags) ||
	    get_capacity(sess->disk) == capacity >> SECTOR_SHIFT)
		return;
	set_capacity(sess->disk, capacity >> SECTOR_SHIFT);
	set_bit(RNBD_SESS_RESIZED, &sess->flags);
	rnbd_session_tell_more(sess);
}

static void rnbd_resize_work(struct work_struct *work)
{
	struct rnbd_session *sess = container_of(to_delayed_work(work),
						 struct rnbd_session, resize_work);

	WRITE_ONCE(sess->resized_at, jiffies);
	mutex_lock(&sess->recover_lock);
	/* Otherwise rnbd_go_live() does it. */
	if (READ_ONCE(sess->state) == RNBD_LIVE)
		rnbd_take_size(sess);
	mutex_unlock(&sess->recover_lock);
}

/*
 * Let I/O flow over a new connection. After an error it has to be ended.
 * Called under recover_lock, so that a loss which follows at once is taken care
 * of when all this is done.
 */
static int rnbd_go_live(struct rnbd_session *sess, struct rnbd_why *why)
{
	bool restarted = rnbd_restarted(sess);
	u32 i;

	lockdep_assert_held(&sess->recover_lock);

	/*
	 * Requests may be coming in, to fail. None may be under way while the
	 * queues change, nor if they have to be taken apart again.
	 */
	cancel_delayed_work_sync(&sess->fail_io_work);
	rnbd_quiesce(sess);
	sess->grant = sess->offer;
	rnbd_take_size(sess);
	for (i = 0; i < sess->nr_queues; i++)
		rnbd_queue_ready(sess->queues[i], true);
	/* Whoever sees it live sees that, too. */
	sess->restarts += restarted;
	if (!rnbd_session_advance(sess, RNBD_LIVE)) {
		sess->restarts -= restarted;
		rnbd_why(why, "%s", sess->broken_why ?: "connection lost");
		for (i = 0; i < sess->nr_queues; i++)
			rnbd_queue_ready(sess->queues[i], false);
		rnbd_wait_or_fail(sess);
		return -ECONNRESET;
	}
	queue_delayed_work(rnbd_timer_wq, &sess->keepalive_work,
			   msecs_to_jiffies(sess->grant.keepalive_ms) / 2);
	rnbd_unquiesce(sess);
	return 0;
}

/* The device lets go of everything; requests go back to the block layer. */
static void rnbd_take_down(struct rnbd_session *sess)
{
	bool replay = test_bit(RNBD_SESS_ATTACHED, &sess->flags) &&
		      !rnbd_session_ends(sess) &&
		      !sess->opt.fail_policy;
	u32 i;

	/* Nobody is inside queue_rq after this, and nobody gets in. */
	cancel_delayed_work_sync(&sess->fail_io_work);
	rnbd_quiesce(sess);
	for (i = 0; i < sess->nr_queues; i++)
		rnbd_queue_ready(sess->queues[i], false);
	cancel_delayed_work_sync(&sess->keepalive_work);
	rnbd_disconnect(sess);
	/* The device holds no page any more: requests may be sent again. */
	rnbd_disk_cancel_requests(sess, replay);
	/* What waits looks at no connection, and its end may take the device long. */
	if (!replay)
		rnbd_fail_io(sess);
	rnbd_release_connection(sess);
	if (replay)
		rnbd_wait_or_fail(sess);
}

static unsigned long rnbd_pause(const struct rnbd_session *sess, int error)
{
	/* What is being closed takes a moment; a ration of logins takes longer. */
	u32 step = error == -EBUSY ? sess->attempt / 10 : sess->attempt;
	/* A whole login each time, to find that it is not our disk. */
	u32 most = error == -EMEDIUMTYPE ? RNBD_PAUSE_OTHER_MS : RNBD_PAUSE_MAX_MS;
	u32 ms = min_t(u32, RNBD_PAUSE_MIN_MS << min(step, 10u), most);

	/* Clients that lost the same target must not come back in step. */
	ms = ms * 3 / 4 + get_random_u32_below(ms / 2 + 1);
	return msecs_to_jiffies(ms);
}

static int rnbd_attempt(struct rnbd_session *sess, struct rnbd_why *why)
{
	int ret;

	sess->attempt++;
	ret = rnbd_connect(sess, why);
	if (!ret)
		ret = rnbd_go_live(sess, why);
	if (ret) {
		rnbd_disconnect(sess);
		rnbd_release_connection(sess);
	}
	return ret;
}

static bool rnbd_may_try(struct rnbd_session *sess)
{
	if (rnbd_session_ends(sess))
		return false;
	if (sess->opt.loss_timeout &&
	    time_after(jiffies, sess->lost_at + sess->opt.loss_timeout * HZ))
		return false;
	return true;
}

static void rnbd_recover(struct rnbd_session *sess)
{
	struct rnbd_why why = { };
	int ret;

	/* The first time, for this loss. */
	if (!sess->attempt && sess->dev) {
		rnbd_session_set_error(sess, sess->reason);
		rnbd_take_down(sess);
	}
	if (!rnbd_may_try(sess)) {
		ret = -ETIMEDOUT;
	} else {
		ret = rnbd_attempt(sess, &why);
		if (!ret)
			return;
		if (!why.text[0])
			rnbd_why(&why, "no memory");
		rnbd_session_set_error(sess, why.text);
		pr_debug("%s: attempt %u: %s\n", rnbd_session_name(sess),
			 sess->attempt, why.text);
	}

	/* Others go on without a host that is fenced: its requests must not come later. */
	if (!rnbd_may_try(sess) || ret == -EUCLEAN || ret == -EKEYREVOKED) {
		/* Whoever deactivates the disk waits for the lock, and does this. */
		if (test_bit(RNBD_SESS_DEACTIVATED, &sess->flags))
			return;
		if (ret == -EKEYREVOKED)
			set_bit(RNBD_SESS_REVOKED, &sess->flags);
		if (rnbd_session_advance(sess, RNBD_FAILED))
			rnbd_unquiesce(sess);
		return;
	}
	sess->next_try = jiffies + rnbd_pause(sess, ret);
	queue_delayed_work(rnbd_wq, &sess->recover_work, sess->next_try - jiffies);
}

static void rnbd_recover_work(struct work_struct *work)
{
	struct rnbd_session *sess = container_of(to_delayed_work(work),
						 struct rnbd_session, recover_work);
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&sess->recover_lock);
	if (READ_ONCE(sess->state) == RNBD_RECONNECTING)
		rnbd_recover(sess);
	mutex_unlock(&sess->recover_lock);
	memalloc_noio_restore(noio);
}

/**
 * rnbd_recover_start - let I/O flow over the first connection
 * @sess: session that is connected and has a disk
 * @why: filled on error
 *
 * From here on a loss is recovered from, even before this returns.
 *
 * Context: process context.
 * Return: 0 or an error.
 */
int rnbd_recover_start(struct rnbd_session *sess, struct rnbd_why *why)
{
	int ret;

	mutex_lock(&sess->recover_lock);
	ret = rnbd_go_live(sess, why);
	mutex_unlock(&sess->recover_lock);
	return ret;
}

/**
 * rnbd_recover_init - prepare a session
 * @sess: session
 */
void rnbd_recover_init(struct rnbd_session *sess)
{
	INIT_DELAYED_WORK(&sess->recover_work, rnbd_recover_work);
	INIT_DELAYED_WORK(&sess->fail_io_work, rnbd_fail_io_work);
	INIT_DELAYED_WORK(&sess->keepalive_work, rnbd_keepalive_work);
	INIT_DELAYED_WORK(&sess->resize_work, rnbd_resize_work);
	sess->resized_at = jiffies - RNBD_RESIZE_PAUSE;
}

/**
 * rnbd_recover_abort - do not wait for a connection any more
 * @sess: session with RNBD_SESS_DETACH set
 *
 * A live session stays so, to end its requests well. On return the size of the
 * disk does not change any more, and no event about the disk is on its way.
 *
 * Context: process context, may sleep.
 */
void rnbd_recover_abort(struct rnbd_session *sess)
{
	unsigned long flags;

	wake_up(&sess->wait);
	spin_lock_irqsave(&sess->lock, flags);
	if (sess->state == RNBD_RECONNECTING)
		mod_delayed_work(rnbd_wq, &sess->recover_work, 0);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* Work that begins after this sees that the session is being detached. */
	cancel_delayed_work_sync(&sess->resize_work);
	/* Whoever lets I/O flow has seen it, too, or has ended. */
	mutex_lock(&sess->recover_lock);
	mutex_unlock(&sess->recover_lock);
	flush_work(&sess->event_work);
}

/**
 * rnbd_recover_deactivate - let all I/O fail, for good
 * @sess: session whose disk is there as long as this takes
 *
 * On return nothing of the session is left with the device, requests that were in
 * flight have ended with BLK_STS_IOERR, as after a loss, and those that waited or
 * come do so at once, until the disk is detached. What the target has received
 * it may still do.
 *
 * Context: process context, may sleep, not for the target.
 */
void rnbd_recover_deactivate(struct rnbd_session *sess)
{
	unsigned int noio = memalloc_noio_save();
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	set_bit(RNBD_SESS_DEACTIVATED, &sess->flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* An attempt to connect that is under way ends. */
	wake_up(&sess->wait);

	mutex_lock(&sess->recover_lock);
	if (READ_ONCE(sess->state) != RNBD_FAILED) {
		cancel_delayed_work_sync(&sess->fail_io_work);
		if (sess->dev)
			rnbd_take_down(sess);
		rnbd_session_set_error(sess, RNBD_DEACTIVATED_WHY);
		if (rnbd_session_advance(sess, RNBD_FAILED))
			rnbd_unquiesce(sess);
	}
	mutex_unlock(&sess->recover_lock);
	memalloc_noio_restore(noio);
}

/**
 * rnbd_recover_end - end the connection and everything that would make another
 * @sess: session in state RNBD_CLOSING
 *
 * Context: process context, may sleep.
 */
void rnbd_recover_end(struct rnbd_session *sess)
{
	/* Nobody queues it in this state, but for itself, which cancel stops. */
	cancel_delayed_work_sync(&sess->recover_work);
	cancel_delayed_work_sync(&sess->fail_io_work);
	cancel_delayed_work_sync(&sess->keepalive_work);
	rnbd_disconnect(sess);
	/* No frame comes any more. */
	cancel_delayed_work_sync(&sess->resize_work);
	rnbd_release_connection(sess);
}
