// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries: attach an export, and events about attachments.
 *
 * Operation: rnbdc_export_attach() asks the target on queue 0 of a live session for the
 * export of a disk, under a new handle, and waits for the answer. rnbdc_check_attach()
 * compares it with what the disk was created with. The target reports when it has closed an
 * attachment, which makes the disk attach again, and when the capacity has changed.
 *
 * Ownership: disk->offer belongs to the completion handler of queue 0 until it has set
 * sess->ctl.done, then to the thread that waits.
 *
 * Concurrency: sess->ctl.lock lets one request at a time wait, and orders requests to attach
 * and to detach; it is taken before recovery.lock. Frames of queue 0 are
 * handled one at a time; the lock of the session protects the list of disks and offers.
 *
 * Errors: each failure sets one text for the user. An answer that nobody awaits, or an
 * event about a handle that the session has not used yet, is a protocol error.
 */

#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../core/attach.h"
#include "../core/ctl.h"
#include "../core/geometry.h"
#include "../core/names.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "attach_ctl.h"
#include "client.h"
#include "disk.h"
#include "errmsg.h"
#include "login.h"
#include "queue.h"
#include "session.h"
#include "state.h"
#include "submit.h"

/* Milliseconds for the answer, which does not wait for the storage. */
#define RNBDC_ATTACH_MS		10000
/* Milliseconds for the answer to DETACH, which waits for the storage. */
#define RNBDC_RELEASE_MS	2000
/* Milliseconds after which a frame is tried again that found no credit. */
#define RNBDC_ATTACH_RETRY_MS	10

/* Send a frame with one entry on a connection. Returns -EAGAIN without a credit. */
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
	rnbdc_errmsg_set(errmsg, "detached or deactivated meanwhile");
	return -ECANCELED;
}

/* Is there nothing to wait for on a connection any more? */
static bool rnbdc_ctl_over(struct rnbdc_session *sess, u32 epoch)
{
	/* pairs with the release in rnbdc_handle_attach_reply() */
	return smp_load_acquire(&sess->ctl.done) || READ_ONCE(sess->epoch) != epoch ||
	       READ_ONCE(sess->state) != RNBDC_SESS_LIVE;
}

/*
 * Ask the target for the export, and wait for the answer. A request that was sent is waited
 * for although the disk is ending: it must be known which handle the target has.
 */
static int rnbdc_ctl_ask(struct rnbdc_disk *disk, u32 epoch, const struct rnbd_ctl_entry *entry,
			 struct rnbdc_errmsg *errmsg)
{
	unsigned long until = jiffies + msecs_to_jiffies(RNBDC_ATTACH_MS);
	struct rnbdc_session *sess = disk->sess;
	int ret;

	while ((ret = rnbdc_ctl_post(sess->queues[0], epoch, entry)) == -EAGAIN &&
	       !rnbdc_ctl_over(sess, epoch) && !rnbdc_disk_ending(disk) &&
	       time_before(jiffies, until))
		wait_event_idle_timeout(sess->wait, rnbdc_ctl_over(sess, epoch),
					msecs_to_jiffies(RNBDC_ATTACH_RETRY_MS) + 1);
	if (!ret)
		wait_event_idle_timeout(sess->wait, rnbdc_ctl_over(sess, epoch),
					max_t(long, until - jiffies, 1));
	if (smp_load_acquire(&sess->ctl.done))
		return 0;
	if (READ_ONCE(sess->epoch) != epoch || READ_ONCE(sess->state) != RNBDC_SESS_LIVE ||
	    ret == -ENOTCONN) {
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		return -ECONNRESET;
	}
	if (ret && rnbdc_disk_ending(disk))
		return rnbdc_ending_error(disk, errmsg);
	rnbdc_errmsg_set(errmsg, "the target does not answer the request to attach");
	return -ETIMEDOUT;
}

/* Test for acknowledged writes that a crash of the target may have lost. */
static bool rnbdc_unflushed(const struct rnbdc_disk *disk)
{
	u32 i;

	for (i = 0; i < disk->tag_set.nr_hw_queues; i++)
		if (disk->hwqs[i].last_write_ns > READ_ONCE(disk->flushed_ns))
			return true;
	return false;
}

/**
 * rnbdc_restarted - test whether the offer is of another incarnation of the export
 * @disk: disk with a gendisk and an offer
 *
 * Context: any; recovery.lock held.
 * Return: true if the target restarted since the disk was attached last.
 */
bool rnbdc_restarted(const struct rnbdc_disk *disk)
{
	return memcmp(disk->incarnation, disk->offer.incarnation, sizeof(disk->incarnation));
}

/**
 * rnbdc_check_attach - compare an offer with what the disk was created with
 * @disk: disk with a gendisk and an offer, of which no request is in flight
 * @errmsg: filled on error
 *
 * Context: any; recovery.lock held.
 * Return: 0, -EMEDIUMTYPE if the offer does not suit the disk, or -EUCLEAN if acknowledged
 * writes may be lost.
 */
int rnbdc_check_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_geometry *old = &disk->geo, *new = &disk->offer.geo;

	if (memcmp(disk->export_uuid, disk->offer.export_uuid, sizeof(disk->export_uuid))) {
		rnbdc_errmsg_set(errmsg, "another export has this name now");
		return -EMEDIUMTYPE;
	}
	if (old->logical_block != new->logical_block || old->flags != new->flags) {
		rnbdc_errmsg_set(errmsg,
				 "the export has other properties now; detach it and attach it again");
		return -EMEDIUMTYPE;
	}
	if (new->max_discard < old->max_discard ||
	    new->max_write_zeroes < old->max_write_zeroes) {
		rnbdc_errmsg_set(errmsg, "the target grants less than before");
		return -EMEDIUMTYPE;
	}
	if (rnbdc_restarted(disk) && rnbdc_unflushed(disk)) {
		rnbdc_errmsg_set(errmsg,
				 "the target restarted and may have lost acknowledged writes");
		return -EUCLEAN;
	}
	return 0;
}

/* Choose a handle for a request to attach, whose answer the session awaits from then on. */
static int rnbdc_ctl_begin(struct rnbdc_disk *disk, struct rnbd_attach_info *info,
			   struct rnbd_ctl_entry *entry, u32 *epoch, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess = disk->sess;
	int ret = 0;

	spin_lock_irq(&sess->lock);
	if (rnbdc_disk_ending(disk)) {
		ret = rnbdc_ending_error(disk, errmsg);
	} else if (sess->state != RNBDC_SESS_LIVE) {
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		ret = -ECONNRESET;
	} else {
		info->handle.index = disk->handle.index;
		info->handle.generation = ++sess->ctl.generation;
		info->fence_generation = disk->fence_generation;
		info->owner_generation = disk->owner_generation;
		entry->id = ++sess->ctl.id;
		disk->offer = (struct rnbd_attach_grant) { .handle = info->handle };
		sess->ctl.done = false;
		sess->ctl.disk = disk;
		*epoch = sess->epoch;
	}
	spin_unlock_irq(&sess->lock);
	return ret;
}

/**
 * rnbdc_export_attach - attach the export of a disk
 * @disk: disk of a session
 * @errmsg: filled on error
 *
 * Context: process context, may sleep; ends early when the connection is lost.
 * Return: 0 with disk->offer valid, or a negative errno, for a refusal that of
 * rnbdc_status_error().
 */
int rnbdc_export_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess = disk->sess;
	struct rnbd_ctl_attach wire;
	struct rnbd_attach_info info = {
		.flags = disk->opt.readonly ? RNBD_ATTACH_READONLY : 0,
	};
	struct rnbd_ctl_entry entry = {
		.type = RNBD_CTL_ATTACH,
		.mandatory = true,
		.body = &wire,
		.bytes = sizeof(wire),
	};
	u32 epoch;
	int ret;

	strscpy(info.export, disk->opt.export);
	mutex_lock(&sess->ctl.lock);
	ret = rnbdc_ctl_begin(disk, &info, &entry, &epoch, errmsg);
	if (ret)
		goto unlock;
	rnbd_encode_attach(&wire, &info);
	ret = rnbdc_ctl_ask(disk, epoch, &entry, errmsg);

	spin_lock_irq(&sess->lock);
	sess->ctl.disk = NULL;
	/* The target may grant it yet: a detach has to name this handle. */
	if (ret == -ETIMEDOUT)
		disk->granted = info.handle;
	if (!ret && sess->ctl.status) {
		rnbdc_errmsg_set(errmsg, "%s", rnbd_status_text(sess->ctl.status));
		ret = rnbdc_status_error(sess->ctl.status);
	}
	spin_unlock_irq(&sess->lock);
unlock:
	mutex_unlock(&sess->ctl.lock);
	return ret;
}

/**
 * rnbdc_renew_index - choose another index for a disk whose attachment was ended
 * @disk: disk that is to be attached again; nothing happens if it has its index
 * @errmsg: filled on error
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
		rnbdc_errmsg_set(errmsg, "the session has no room for another attachment");
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

/* The end of an attachment is confirmed: its index may be used again. */
static void rnbdc_detached(struct rnbdc_session *sess, u32 index)
{
	if (xa_erase_irq(&sess->detaching, index))
		ida_free(&sess->indexes, index);
	wake_up(&sess->wait);
}

/* Begin the end of an attachment. False: the target has none, and the index is free. */
static bool rnbdc_begin_detach(struct rnbdc_disk *disk, struct rnbd_handle *handle, u32 *epoch)
{
	struct rnbdc_session *sess = disk->sess;
	bool tell;

	lockdep_assert_held(&sess->recovery.lock);

	spin_lock_irq(&sess->lock);
	*epoch = sess->epoch;
	*handle = disk->granted;
	tell = sess->state == RNBDC_SESS_LIVE && handle->generation;
	spin_unlock_irq(&sess->lock);
	if (tell && !xa_err(xa_store_irq(&sess->detaching, handle->index,
					 xa_mk_value(handle->generation), GFP_KERNEL)))
		return true;
	if (tell)
		rnbdc_session_fail(sess, "no memory for a detach");
	ida_free(&sess->indexes, disk->handle.index);
	return false;
}

/**
 * rnbdc_export_detach - end the attachment of a disk on a session that stays
 * @disk: disk that has failed, or without requests, or whose offer is refused
 * @keep_owner: the disk will be attached again, so this host still owns the export
 *
 * The target drops what its storage does not have yet. The index of the handle is in use
 * until the target confirms the end, or the connection is lost. A second call does nothing.
 *
 * Context: process context, may sleep until the target gives a credit; takes ctl.lock and
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
	bool tell = false;
	u32 epoch;

	/* A request to attach that is under way precedes it. */
	mutex_lock(&sess->ctl.lock);
	mutex_lock(&sess->recovery.lock);
	if (!disk->detached)
		tell = rnbdc_begin_detach(disk, &info.handle, &epoch);
	disk->detached = true;
	mutex_unlock(&sess->recovery.lock);
	if (!tell)
		goto out;

	rnbd_encode_handle(&wire, &info);
	while (rnbdc_ctl_post(sess->queues[0], epoch, &entry) == -EAGAIN) {
		if (time_after(jiffies, until)) {
			rnbdc_session_fail(sess, "the target gives no credit for a detach");
			break;
		}
		wait_event_idle_timeout(sess->wait, READ_ONCE(sess->state) != RNBDC_SESS_LIVE,
					msecs_to_jiffies(RNBDC_ATTACH_RETRY_MS) + 1);
	}
out:
	mutex_unlock(&sess->ctl.lock);
	memalloc_noio_restore(noio);
}

/* Does the session still await the end of the attachment that had @handle? */
static bool rnbdc_is_detaching(struct rnbdc_session *sess, const struct rnbd_handle *handle)
{
	return READ_ONCE(sess->state) == RNBDC_SESS_LIVE && handle->generation &&
	       xa_load(&sess->detaching, handle->index) == xa_mk_value(handle->generation);
}

/**
 * rnbdc_export_release - end the attachment of a disk on a session that may end next
 * @disk: as for rnbdc_export_detach()
 *
 * The loss of a connection does not end the ownership of an exclusive export. So the target
 * must get the request before the connection ends.
 *
 * Context: process context, may sleep until the target answers, but not for long if its
 * storage does not; takes ctl.lock and recovery.lock.
 */
void rnbdc_export_release(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;

	/* An attach that has failed may have an offer that was not accepted. */
	if (!disk->owner_generation && !disk->offer.owner_generation)
		return;
	rnbdc_export_detach(disk, false);
	/* Nothing changes it any more: a disk that has detached or failed is not attached. */
	wait_event_idle_timeout(sess->wait, !rnbdc_is_detaching(sess, &disk->granted),
				msecs_to_jiffies(RNBDC_RELEASE_MS));
}

/**
 * rnbdc_forget_detached - release the indexes whose end the target did not confirm
 * @sess: session whose connection is lost, so that the target has no attachment of it
 *
 * Context: process context; recovery.lock held.
 */
void rnbdc_forget_detached(struct rnbdc_session *sess)
{
	unsigned long index;
	void *value;

	xa_for_each(&sess->detaching, index, value)
		rnbdc_detached(sess, index);
}

static enum rnbd_proto_err rnbdc_handle_detached(struct rnbdc_session *sess,
						 const struct rnbd_ctl_entry *entry)
{
	struct rnbd_handle_info info;
	enum rnbd_proto_err perr;
	void *value;

	perr = rnbd_decode_handle(entry, &info);
	if (perr)
		return perr;
	value = xa_load(&sess->detaching, info.handle.index);
	if (!value || xa_to_value(value) != info.handle.generation)
		return RNBD_PERR_HANDLE;
	rnbdc_detached(sess, info.handle.index);
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_accept_attach - let the properties of the offer take effect
 * @disk: disk with an offer that was checked
 *
 * Context: any; no request of the disk is in queue_rq.
 */
void rnbdc_accept_attach(struct rnbdc_disk *disk)
{
	const struct rnbd_attach_grant *offer = &disk->offer;

	disk->handle = offer->handle;
	disk->geo = offer->geo;
	memcpy(disk->incarnation, offer->incarnation, sizeof(disk->incarnation));
	memcpy(disk->export_uuid, offer->export_uuid, sizeof(disk->export_uuid));
	disk->fence_generation = offer->fence_generation;
	disk->owner_generation = offer->owner_generation;
}

static enum rnbd_proto_err rnbdc_handle_attach_reply(struct rnbdc_session *sess,
						     const struct rnbd_ctl_entry *entry)
{
	struct rnbd_attach_grant grant;
	enum rnbd_proto_err perr;
	struct rnbdc_disk *disk;
	unsigned long flags;

	perr = rnbd_decode_attach_reply(entry, &grant);
	if (perr)
		return perr;
	spin_lock_irqsave(&sess->lock, flags);
	disk = sess->ctl.disk;
	if (!disk) {
		/* The thread may have given up. */
		if (grant.handle.generation > sess->ctl.generation)
			perr = RNBD_PERR_HANDLE;
	} else if (entry->id != sess->ctl.id || sess->ctl.done ||
		   !rnbd_handle_equal(&grant.handle, &disk->offer.handle)) {
		if (entry->id >= sess->ctl.id)
			perr = RNBD_PERR_HANDLE;
	} else if (grant.status == RNBD_ST_OK && disk->fence_generation &&
		   (grant.fence_generation != disk->fence_generation ||
		    grant.owner_generation != disk->owner_generation)) {
		perr = RNBD_PERR_LIMITS;
	} else {
		disk->offer = grant;
		if (grant.status == RNBD_ST_OK)
			disk->granted = grant.handle;
		sess->fence_generation = max(sess->fence_generation, grant.fence_generation);
		WRITE_ONCE(disk->resize.capacity, grant.geo.capacity);
		sess->ctl.status = grant.status;
		/* pairs with the acquire in rnbdc_ctl_ready() */
		smp_store_release(&sess->ctl.done, true);
	}
	spin_unlock_irqrestore(&sess->lock, flags);
	wake_up(&sess->wait);
	return perr;
}

/*
 * Find the disk that has a handle. @perr is set if the session has not used the handle
 * yet; that of a former attachment has no disk.
 */
static struct rnbdc_disk *rnbdc_find_handle(struct rnbdc_session *sess,
					    const struct rnbd_handle *handle,
					    enum rnbd_proto_err *perr)
{
	struct rnbdc_disk *disk;

	lockdep_assert_held(&sess->lock);

	*perr = handle->generation > sess->ctl.generation ? RNBD_PERR_HANDLE : RNBD_PERR_NONE;
	list_for_each_entry(disk, &sess->disks, entry)
		if (rnbd_handle_equal(&disk->offer.handle, handle))
			return disk;
	return NULL;
}

static enum rnbd_proto_err rnbdc_handle_closed(struct rnbdc_session *sess,
					       const struct rnbd_ctl_entry *entry)
{
	struct rnbd_handle_info info;
	enum rnbd_proto_err perr;
	struct rnbdc_disk *disk;
	unsigned long flags;

	perr = rnbd_decode_handle(entry, &info);
	if (perr)
		return perr;
	spin_lock_irqsave(&sess->lock, flags);
	disk = rnbdc_find_handle(sess, &info.handle, &perr);
	if (disk) {
		/* A disk that is about to become live must not. */
		disk->offer.status = info.status;
		rnbdc_disk_closed(disk, rnbd_status_text(info.status));
	}
	spin_unlock_irqrestore(&sess->lock, flags);
	return perr;
}

/* If the disk is not live yet, the capacity takes effect when it is. */
static enum rnbd_proto_err rnbdc_handle_capacity(struct rnbdc_session *sess,
						 const struct rnbd_ctl_entry *entry)
{
	struct rnbd_capacity_info info;
	enum rnbd_proto_err perr;
	struct rnbdc_disk *disk;
	unsigned long flags;
	unsigned long next;

	perr = rnbd_decode_capacity(entry, &info);
	if (perr)
		return perr;
	spin_lock_irqsave(&sess->lock, flags);
	disk = rnbdc_find_handle(sess, &info.handle, &perr);
	/* What was refused or has ended has no capacity. */
	if (disk && disk->offer.status != RNBD_ST_OK)
		disk = NULL;
	if (disk && !rnbd_capacity_ok(info.capacity, disk->offer.geo.logical_block)) {
		perr = RNBD_PERR_LIMITS;
	} else if (disk) {
		WRITE_ONCE(disk->resize.capacity, info.capacity);
		next = READ_ONCE(disk->resize.resized_at) + RNBDC_RESIZE_PAUSE;
		queue_delayed_work(rnbdc_wq, &disk->resize.resize_work,
				   time_before(jiffies, next) ? next - jiffies : 0);
	}
	spin_unlock_irqrestore(&sess->lock, flags);
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
