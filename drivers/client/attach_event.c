// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries of the target about attachments: answers, and events.
 *
 * Operation: the answer to ATTACH fills the offer of its disk and wakes the task that waits
 * (attach_ctl.c); that to DETACH frees the index of the handle. The target reports when it
 * has closed an attachment, which makes the disk attach again, and when the capacity has
 * changed.
 *
 * Ownership: the session owns the indexes of attachments that are being detached until the
 * target confirms their end, or the connection is lost.
 *
 * Concurrency: frames of queue 0 are handled one at a time; the lock of the session protects
 * the list of disks, offers and the requests that are not answered.
 *
 * Errors: the answer to a request after its task has given up is ignored. An answer to no
 * request, or an event about a handle that the session has not used yet, is a protocol
 * error.
 */

#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../core/attach.h"
#include "../core/ctl.h"
#include "../core/geometry.h"
#include "../core/names.h"
#include "asked.h"
#include "attach_event.h"
#include "client.h"
#include "disk.h"
#include "queue.h"
#include "session.h"
#include "state.h"

/* The end of an attachment is confirmed: its index may be used again. */
static void rnbdc_detached(struct rnbdc_session *sess, u32 index)
{
	if (xa_erase_irq(&sess->detaching, index))
		ida_free(&sess->indexes, index);
	wake_up(&sess->wait);
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
	/* Most have no id, see rnbdc_send_detach(). */
	spin_lock_irqsave(&sess->lock, flags);
	asked = rnbdc_asked_find(&sess->ctl, entry->id);
	if (asked && rnbd_handle_equal(&asked->handle, &info.handle) && !asked->disk)
		rnbdc_asked_remove(&sess->ctl, asked);
	spin_unlock_irqrestore(&sess->lock, flags);
	rnbdc_detached(sess, info.handle.index);
	return RNBD_PERR_NONE;
}

/* Take over the answer to a request for which a task waits. */
static enum rnbd_proto_err rnbdc_answer(struct rnbdc_session *sess, struct rnbdc_disk *disk,
					const struct rnbd_attach_grant *grant)
{
	lockdep_assert_held(&sess->lock);

	if (grant->status == RNBD_ST_OK && disk->fence_generation &&
	    (grant->fence_generation != disk->fence_generation ||
	     grant->owner_generation != disk->owner_generation))
		return RNBD_PERR_LIMITS;
	disk->offer = *grant;
	if (grant->status == RNBD_ST_OK)
		disk->granted = grant->handle;
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
	else if (asked->disk)
		perr = rnbdc_answer(sess, asked->disk, &grant);
	/* Without a disk the task has given up. */
	if (!perr)
		rnbdc_asked_remove(&sess->ctl, asked);
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
