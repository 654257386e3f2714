// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries: attach and detach an export.
 *
 * Operation: rnbdc_export_attach() sends an ATTACH with a new handle for the export of a
 * disk, on queue 0 of a live session, and waits for the reply. Other disks can attach
 * concurrently (asked.c). offer.c compares the reply with the properties of the disk.
 *
 * Ownership: the thread that waits for the reply reads disk->offer only after the completion
 * handler of queue 0 has set disk->answered.
 *
 * Concurrency: disk->ctl_lock serialises requests to attach and to detach a disk; it is
 * taken before recovery.lock. Frames of queue 0 are handled one at a time. The lock of the
 * session protects the list of disks, their offers and the unanswered requests.
 *
 * Errors: each failed attach sets one error message for the user. A reply that arrives after its
 * task has stopped waiting is ignored. A reply without an unanswered request is a protocol
 * error.
 */

#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "../core/attach.h"
#include "../core/ctl.h"
#include "../core/names.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "asked.h"
#include "attach_ctl.h"
#include "attach_event.h"
#include "client.h"
#include "disk.h"
#include "errmsg.h"
#include "login.h"
#include "queue.h"
#include "session.h"
#include "state.h"
#include "submit.h"

/* Milliseconds to wait for the reply to ATTACH, for which the target needs no storage. */
#define RNBDC_ATTACH_MS		10000
/* Milliseconds to wait for DETACHED, and for the reply to an ATTACH that gives up an ownership. */
#define RNBDC_RELEASE_MS	2000
/* Milliseconds until a retry for lack of a credit or of a free element of rnbdc_ctl.asked. */
#define RNBDC_ATTACH_RETRY_MS	10

/* Send one entry on the connection of @epoch. Returns -EAGAIN without a credit or send slot. */
static int rnbdc_ctl_post(struct rnbdc_queue *q, u32 epoch, const struct rnbd_ctl_entry *entry)
{
	struct rnbd_ring *ring = &q->ring;
	unsigned long flags;
	int ret = -ENOTCONN;

	spin_lock_irqsave(&ring->lock, flags);
	if (ring->live && ring->attr.attempt == epoch) {
		if (ring->open)
			rnbdc_send_frame(q);
		ret = rnbd_ring_post_ctl(ring, entry);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}

static int rnbdc_ending_error(const struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	if (test_bit(RNBDC_DISK_ABORTED, &disk->flags)) {
		rnbdc_errmsg_set(errmsg, "interrupted");
		return -EINTR;
	}
	rnbdc_errmsg_set(errmsg, "the disk was detached or deactivated concurrently");
	return -ECANCELED;
}

/* An ATTACH: a request to attach an export or, with @disown, to give up its ownership. */
struct rnbdc_ask {
	struct rnbdc_disk *disk;
	bool disown;
	u32 epoch;
	u32 ms;
	unsigned long until;
	bool sent;
	struct rnbd_attach_info info;
	struct rnbd_ctl_attach wire;
	struct rnbd_ctl_entry entry;
};

/* Test for a request to attach that is no longer needed because its disk is ending. */
static bool rnbdc_ask_ending(const struct rnbdc_ask *ask)
{
	return !ask->disown && rnbdc_disk_ending(ask->disk);
}

/* Test whether the wait is over: the reply has come or the connection has ended. */
static bool rnbdc_ask_over(const struct rnbdc_ask *ask)
{
	const struct rnbdc_session *sess = ask->disk->sess;

	/* pairs with the release in rnbdc_answer() */
	return smp_load_acquire(&ask->disk->answered) ||
	       READ_ONCE(sess->epoch) != ask->epoch ||
	       READ_ONCE(sess->state) != RNBDC_SESS_LIVE;
}

/*
 * Send the request and wait for the reply. Once the request is sent, wait even if the disk is
 * ending: a detach must name the handle that the target has possibly granted.
 */
static int rnbdc_ask_target(struct rnbdc_ask *ask, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk = ask->disk;
	struct rnbdc_session *sess = disk->sess;
	int ret;

	while ((ret = rnbdc_ctl_post(sess->queues[0], ask->epoch, &ask->entry)) == -EAGAIN &&
	       !rnbdc_ask_over(ask) && !rnbdc_ask_ending(ask) &&
	       time_before(jiffies, ask->until))
		wait_event_idle_timeout(sess->wait, rnbdc_ask_over(ask),
					msecs_to_jiffies(RNBDC_ATTACH_RETRY_MS) + 1);
	ask->sent = !ret;
	if (ask->sent)
		wait_event_idle_timeout(sess->wait, rnbdc_ask_over(ask),
					max_t(long, ask->until - jiffies, 1));
	/* pairs with the release in rnbdc_answer() */
	if (smp_load_acquire(&disk->answered))
		return 0;
	if (READ_ONCE(sess->epoch) != ask->epoch ||
	    READ_ONCE(sess->state) != RNBDC_SESS_LIVE || ret == -ENOTCONN) {
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		return -ECONNRESET;
	}
	if (ret && rnbdc_ask_ending(ask))
		return rnbdc_ending_error(disk, errmsg);
	rnbdc_errmsg_set(errmsg, "the target does not answer the request to attach");
	return -ETIMEDOUT;
}

/* Record a request under a new handle. Returns -EAGAIN if too many requests are unanswered. */
static int rnbdc_ask_try(struct rnbdc_ask *ask, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk = ask->disk;
	struct rnbdc_session *sess = disk->sess;
	struct rnbd_handle *handle = &ask->info.handle;
	int ret = 0;

	spin_lock_irq(&sess->lock);
	if (rnbdc_ask_ending(ask)) {
		ret = rnbdc_ending_error(disk, errmsg);
		goto unlock;
	}
	if (sess->state != RNBDC_SESS_LIVE) {
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		ret = -ECONNRESET;
		goto unlock;
	}
	handle->index = disk->handle.index;
	handle->generation = sess->ctl.generation + 1;
	ask->entry.id = rnbdc_asked_add(&sess->ctl, handle, disk);
	if (!ask->entry.id) {
		ret = -EAGAIN;
		goto unlock;
	}
	sess->ctl.generation++;
	if (!ask->disown) {
		ask->info.fence_generation = disk->fence_generation;
		ask->info.owner_generation = disk->owner_generation;
	}
	disk->offer = (struct rnbd_attach_grant) { .handle = *handle };
	disk->answered = false;
	ask->epoch = sess->epoch;
unlock:
	spin_unlock_irq(&sess->lock);
	return ret;
}

/* Record a request under a new handle. Wait first while too many requests are unanswered. */
static int rnbdc_ask_begin(struct rnbdc_ask *ask, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess = ask->disk->sess;
	int ret;

	while ((ret = rnbdc_ask_try(ask, errmsg)) == -EAGAIN && time_before(jiffies, ask->until))
		wait_event_idle_timeout(sess->wait,
					READ_ONCE(sess->ctl.nr_asked) < RNBD_CTL_OPEN_MAX ||
					READ_ONCE(sess->state) != RNBDC_SESS_LIVE,
					msecs_to_jiffies(RNBDC_ATTACH_RETRY_MS) + 1);
	if (ret == -EAGAIN) {
		rnbdc_errmsg_set(errmsg, "the target does not answer requests to attach");
		ret = -ETIMEDOUT;
	}
	return ret;
}

/* End the wait for the reply. Returns the result of the request. */
static int rnbdc_ask_end(struct rnbdc_ask *ask, int ret, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk = ask->disk;
	struct rnbdc_session *sess = disk->sess;
	struct rnbdc_asked *asked;

	spin_lock_irq(&sess->lock);
	asked = rnbdc_asked_find(&sess->ctl, ask->entry.id);
	if (asked && ask->sent)
		asked->disk = NULL;
	else if (asked)
		rnbdc_asked_remove(&sess->ctl, asked);
	/* The reply arrived after the time-out, but before the lock was taken: it is valid. */
	if (ret == -ETIMEDOUT && disk->answered)
		ret = 0;
	/* The target can still grant the request later: a detach must name this handle. */
	if (ret == -ETIMEDOUT && asked && ask->sent && !ask->disown &&
	    sess->state == RNBDC_SESS_LIVE && sess->epoch == ask->epoch) {
		disk->granted = ask->info.handle;
		disk->guessed = true;
	}
	if (!ret && disk->answer) {
		rnbdc_errmsg_set(errmsg, "%s", rnbd_status_text(disk->answer));
		ret = rnbdc_status_error(disk->answer);
	}
	spin_unlock_irq(&sess->lock);
	return ret;
}

/* Send a request and wait for its result. Takes disk->ctl_lock. */
static int rnbdc_ask(struct rnbdc_ask *ask, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk = ask->disk;
	int ret;

	ask->entry = (struct rnbd_ctl_entry) {
		.type = RNBD_CTL_ATTACH,
		.mandatory = true,
		.bytes = sizeof(ask->wire),
	};
	strscpy(ask->info.export, disk->opt.export);
	mutex_lock(&disk->ctl_lock);
	ask->until = jiffies + msecs_to_jiffies(ask->ms);
	ret = rnbdc_ask_begin(ask, errmsg);
	if (!ret) {
		/* Restart the time limit: it does not include the wait for earlier requests. */
		ask->until = jiffies + msecs_to_jiffies(ask->ms);
		rnbd_encode_attach(&ask->wire, &ask->info);
		ask->entry.body = &ask->wire;
		ret = rnbdc_ask_target(ask, errmsg);
		ret = rnbdc_ask_end(ask, ret, errmsg);
	}
	mutex_unlock(&disk->ctl_lock);
	return ret;
}

/**
 * rnbdc_export_attach - attach the export of a disk
 * @disk: disk of a session
 * @errmsg: message for the user, set on error
 *
 * Other disks can attach concurrently: each task waits only for its own reply.
 *
 * Context: process context, may sleep; ends early when the connection is lost. Takes
 * disk->ctl_lock.
 * Return: 0 with disk->offer valid, or a negative errno: that of rnbdc_status_error() if the
 * target refuses the attach.
 */
int rnbdc_export_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_ask ask = {
		.disk = disk,
		.ms = RNBDC_ATTACH_MS,
		.info.flags = disk->opt.readonly ? RNBD_ATTACH_READONLY : 0,
	};

	return rnbdc_ask(&ask, errmsg);
}

/**
 * rnbdc_renew_index - choose a new handle index for a disk whose attachment was ended
 * @disk: disk that will attach again; unchanged if it still has its index
 * @errmsg: message for the user, set on error
 *
 * Context: process context; recovery.lock held.
 * Return: 0, or -ENOSPC if all indexes of the session are in use.
 */
int rnbdc_renew_index(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	int index;

	lockdep_assert_held(&disk->sess->recovery.lock);

	if (!disk->detached)
		return 0;
	index = ida_alloc_max(&disk->sess->indexes, RNBD_ATTACH_MAX - 1, GFP_NOIO);
	if (index < 0) {
		rnbdc_errmsg_set(errmsg, "the session has the maximum number of attachments");
		return -ENOSPC;
	}
	spin_lock_irq(&disk->sess->lock);
	disk->handle.index = index;
	disk->offer.handle.generation = 0;
	disk->granted.generation = 0;
	spin_unlock_irq(&disk->sess->lock);
	disk->detached = false;
	return 0;
}

/* Free the index of an attachment that has ended, so that another disk can use the index. */
static void rnbdc_detached(struct rnbdc_session *sess, u32 index)
{
	if (xa_erase_irq(&sess->detaching, index))
		ida_free(&sess->indexes, index);
	wake_up(&sess->wait);
}

/* An attachment that is being ended. */
struct rnbdc_detach {
	struct rnbd_handle handle;
	u32 epoch;
	bool guessed;
};

/* Prepare a DETACH. Returns false if none is to be sent; the index of the disk is then free. */
static bool rnbdc_begin_detach(struct rnbdc_disk *disk, struct rnbdc_detach *detach)
{
	struct rnbd_handle *handle = &detach->handle;
	struct rnbdc_session *sess = disk->sess;
	bool tell;

	lockdep_assert_held(&sess->recovery.lock);

	spin_lock_irq(&sess->lock);
	detach->epoch = sess->epoch;
	detach->guessed = disk->guessed;
	*handle = disk->granted;
	tell = sess->state == RNBDC_SESS_LIVE && handle->generation;
	spin_unlock_irq(&sess->lock);
	if (tell && !xa_err(xa_store_irq(&sess->detaching, handle->index,
					 xa_mk_value(handle->generation), GFP_KERNEL)))
		return true;
	if (tell)
		rnbdc_session_fail(sess, "no memory for a request to detach");
	ida_free(&sess->indexes, disk->handle.index);
	return false;
}

/* Send a DETACH. Returns -EAGAIN without a credit or a free element of rnbdc_ctl.asked. */
static int rnbdc_send_detach(struct rnbdc_session *sess, const struct rnbdc_detach *detach,
			     struct rnbd_ctl_entry *entry)
{
	int ret = 0;

	/*
	 * The target counts a DETACH as an unanswered request only if the target does not have the
	 * attachment. This is possible only while the client has no reply to the ATTACH.
	 */
	spin_lock_irq(&sess->lock);
	if (sess->state == RNBDC_SESS_LIVE && sess->epoch == detach->epoch && !entry->id &&
	    (detach->guessed || rnbdc_asked_names(&sess->ctl, &detach->handle))) {
		entry->id = rnbdc_asked_add(&sess->ctl, &detach->handle, NULL);
		if (!entry->id)
			ret = -EAGAIN;
	}
	spin_unlock_irq(&sess->lock);
	return ret ?: rnbdc_ctl_post(sess->queues[0], detach->epoch, entry);
}

/**
 * rnbdc_export_detach - end the attachment of a disk
 * @disk: disk that has failed or has no requests, or whose offer the client did not accept
 * @keep_owner: the disk will attach again, so this host remains the owner of the export
 *
 * The target does not execute requests that it has not submitted to its storage yet. If a
 * DETACH is sent, the index of the handle stays in use until the target sends DETACHED or the
 * connection is lost. A second call for the same attachment does nothing.
 *
 * Context: process context, may sleep until a credit is available; takes disk->ctl_lock and
 * recovery.lock.
 */
void rnbdc_export_detach(struct rnbdc_disk *disk, bool keep_owner)
{
	unsigned long until = jiffies + msecs_to_jiffies(RNBDC_ATTACH_MS);
	struct rnbdc_session *sess = disk->sess;
	struct rnbd_ctl_handle wire;
	struct rnbd_ctl_entry entry = {
		.type = RNBD_CTL_DETACH,
		.mandatory = true,
		.body = &wire,
		.bytes = sizeof(wire),
	};
	unsigned int noio = memalloc_noio_save();
	struct rnbd_handle_info info = {
		.flags = keep_owner ? RNBD_DETACH_KEEP_OWNER : 0,
	};
	struct rnbdc_detach detach;
	bool tell = false;

	/* Taking ctl_lock also waits for a request to attach that is in flight. */
	mutex_lock(&disk->ctl_lock);
	mutex_lock(&sess->recovery.lock);
	if (!disk->detached)
		tell = rnbdc_begin_detach(disk, &detach);
	disk->detached = true;
	mutex_unlock(&sess->recovery.lock);
	if (!tell)
		goto out;

	info.handle = detach.handle;
	rnbd_encode_handle(&wire, &info);
	while (rnbdc_send_detach(sess, &detach, &entry) == -EAGAIN) {
		if (time_after(jiffies, until)) {
			rnbdc_session_fail(sess, "a request to detach could not be sent in time");
			break;
		}
		wait_event_idle_timeout(sess->wait, READ_ONCE(sess->state) != RNBDC_SESS_LIVE,
					msecs_to_jiffies(RNBDC_ATTACH_RETRY_MS) + 1);
	}
out:
	mutex_unlock(&disk->ctl_lock);
	memalloc_noio_restore(noio);
}

/* Test whether the session still awaits DETACHED for @handle. */
static bool rnbdc_is_detaching(struct rnbdc_session *sess, const struct rnbd_handle *handle)
{
	return READ_ONCE(sess->state) == RNBDC_SESS_LIVE && handle->generation &&
	       xa_load(&sess->detaching, handle->index) == xa_mk_value(handle->generation);
}

/*
 * Notify the target that the host gives up the ownership of an export. A DETACH gives the
 * ownership up only if the disk is attached.
 */
static void rnbdc_export_disown(struct rnbdc_disk *disk, u32 generation)
{
	struct rnbdc_ask ask = {
		.disk = disk,
		.disown = true,
		.ms = RNBDC_RELEASE_MS,
		.info.flags = RNBD_ATTACH_DISOWN,
		.info.fence_generation = disk->fence_generation ?: disk->offer.fence_generation,
		.info.owner_generation = generation,
	};
	struct rnbdc_errmsg errmsg = { };

	if (disk->disowned)
		return;
	/* Ignore the result: the target confirms the request by a reply that refuses to attach. */
	rnbdc_ask(&ask, &errmsg);
	disk->disowned = disk->answered;
}

/**
 * rnbdc_export_release - end the attachment and the ownership of an exclusive export
 * @disk: as for rnbdc_export_detach(), and in state RNBDC_FAILED or RNBDC_CLOSING
 *
 * The end of a connection does not end the ownership of an exclusive export, so the client
 * gives the ownership up before the connection ends. The disk need not be attached: a host
 * keeps its ownership while the target answers BUSY or the disk rejects the offer. The
 * function does nothing if the host is known not to own the export.
 *
 * Context: process context, may sleep; waits at most RNBDC_RELEASE_MS for DETACHED, which
 * depends on the target's storage, and then for the reply to the request that gives the
 * ownership up; takes disk->ctl_lock and recovery.lock.
 */
void rnbdc_export_release(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	/* After a failed attach the ownership is known only from the offer, if at all. */
	u32 generation = disk->owner_generation ?: disk->offer.owner_generation;

	/* Without an answer the target can still grant the request, and with it the ownership. */
	if (!generation && disk->answered)
		return;
	rnbdc_export_detach(disk, false);
	/* disk->granted is stable: a failed or closing disk does not attach again. */
	wait_event_idle_timeout(sess->wait, !rnbdc_is_detaching(sess, &disk->granted),
				msecs_to_jiffies(RNBDC_RELEASE_MS));
	if (generation && READ_ONCE(sess->state) == RNBDC_SESS_LIVE)
		rnbdc_export_disown(disk, generation);
}

/**
 * rnbdc_forget_detached - free the indexes that await DETACHED, and all unanswered requests
 * @sess: session whose connection is lost; the loss has ended all its attachments
 *
 * Context: process context; recovery.lock held.
 */
void rnbdc_forget_detached(struct rnbdc_session *sess)
{
	unsigned long index;
	void *value;

	xa_for_each(&sess->detaching, index, value)
		rnbdc_detached(sess, index);
	spin_lock_irq(&sess->lock);
	rnbdc_asked_clear(&sess->ctl);
	spin_unlock_irq(&sess->lock);
}

static enum rnbd_proto_err rnbdc_handle_detached(struct rnbdc_session *sess,
						 const struct rnbd_ctl_entry *entry)
{
	struct rnbd_handle_info info;
	struct rnbdc_asked *asked;
	enum rnbd_proto_err perr;
	unsigned long flags;
	void *value;

	perr = rnbd_decode_handle(entry, &info);
	if (perr)
		return perr;
	value = xa_load(&sess->detaching, info.handle.index);
	if (!value || xa_to_value(value) != info.handle.generation)
		return RNBD_PERR_HANDLE;
	/* The entry has an id only if the DETACH was recorded, see rnbdc_send_detach(). */
	spin_lock_irqsave(&sess->lock, flags);
	asked = rnbdc_asked_find(&sess->ctl, entry->id);
	if (asked && rnbd_handle_equal(&asked->handle, &info.handle) && !asked->disk)
		rnbdc_asked_remove(&sess->ctl, asked);
	spin_unlock_irqrestore(&sess->lock, flags);
	rnbdc_detached(sess, info.handle.index);
	return RNBD_PERR_NONE;
}

/* Store the reply to a request, for the task that waits for it. */
static enum rnbd_proto_err rnbdc_answer(struct rnbdc_session *sess, struct rnbdc_disk *disk,
					const struct rnbd_attach_grant *grant)
{
	lockdep_assert_held(&sess->lock);

	if (grant->status == RNBD_ST_OK && disk->fence_generation &&
	    (grant->fence_generation != disk->fence_generation ||
	     grant->owner_generation != disk->owner_generation))
		return RNBD_PERR_LIMITS;
	disk->offer = *grant;
	if (grant->status == RNBD_ST_OK) {
		disk->granted = grant->handle;
		disk->guessed = false;
	}
	sess->fence_generation = max(sess->fence_generation, grant->fence_generation);
	WRITE_ONCE(disk->resize.capacity, grant->geo.capacity);
	disk->answer = grant->status;
	/* pairs with the acquire in rnbdc_ask_over() */
	smp_store_release(&disk->answered, true);
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err rnbdc_handle_attach_reply(struct rnbdc_session *sess,
						     const struct rnbd_ctl_entry *entry)
{
	struct rnbd_attach_grant grant;
	struct rnbdc_asked *asked;
	enum rnbd_proto_err perr;
	unsigned long flags;

	perr = rnbd_decode_attach_reply(entry, &grant);
	if (perr)
		return perr;
	spin_lock_irqsave(&sess->lock, flags);
	asked = rnbdc_asked_find(&sess->ctl, entry->id);
	if (!asked || !rnbd_handle_equal(&grant.handle, &asked->handle))
		perr = RNBD_PERR_HANDLE;
	else if (asked->disk && sess->state == RNBDC_SESS_LIVE)
		perr = rnbdc_answer(sess, asked->disk, &grant);
	/* A reply that comes after a loss, or for which no task waits, is not stored. */
	if (!perr)
		rnbdc_asked_remove(&sess->ctl, asked);
	spin_unlock_irqrestore(&sess->lock, flags);
	wake_up(&sess->wait);
	return perr;
}

/**
 * rnbdc_handle_attach - handle an entry about an attachment
 * @q: queue 0
 * @entry: entry of type ATTACH_REPLY, DETACHED, CLOSED or CAPACITY
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_attach(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_session *sess = q->sess;

	if (sess->login.exports || sess->login.status != RNBD_ST_OK)
		return RNBD_PERR_TYPE;
	switch (entry->type) {
	case RNBD_CTL_ATTACH_REPLY:
		return rnbdc_handle_attach_reply(sess, entry);
	case RNBD_CTL_DETACHED:
		return rnbdc_handle_detached(sess, entry);
	case RNBD_CTL_CLOSED:
		return rnbdc_handle_closed(sess, entry);
	default:
		return rnbdc_handle_capacity(sess, entry);
	}
}
