// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries: events about attachments.
 *
 * Operation: the target sends CLOSED when it has closed an attachment; the disk then
 * attaches again. The target sends CAPACITY when the capacity of an export has changed.
 *
 * Ownership: nothing is allocated or kept.
 *
 * Concurrency: the completion handler of queue 0 handles one entry at a time. The lock of
 * the session protects the list of disks and their offers.
 *
 * Errors: an event about a handle that the session has not used yet is a protocol error.
 * An event about the handle of a former attachment is ignored.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/attach.h"
#include "../core/ctl.h"
#include "../core/geometry.h"
#include "../core/names.h"
#include "attach_event.h"
#include "client.h"
#include "disk.h"
#include "session.h"
#include "state.h"

/*
 * Find the disk that has a handle. Returns NULL without an error for the handle of a former
 * attachment. Returns NULL and a protocol error in *@perr if the handle was never used.
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

/**
 * rnbdc_handle_closed - record that the target has closed an attachment
 * @sess: session
 * @entry: entry of type CLOSED
 *
 * Context: completion handler of queue 0.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_closed(struct rnbdc_session *sess,
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
		/* With this status rnbdc_disk_live() does not make the disk live. */
		disk->offer.status = info.status;
		rnbdc_disk_closed(disk, rnbd_status_text(info.status));
	}
	spin_unlock_irqrestore(&sess->lock, flags);
	return perr;
}

/**
 * rnbdc_handle_capacity - record the new capacity of an export
 * @sess: session
 * @entry: entry of type CAPACITY
 *
 * If the disk is not live, the capacity takes effect when the disk becomes live.
 *
 * Context: completion handler of queue 0.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_capacity(struct rnbdc_session *sess,
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
	/* Ignore the capacity of an attachment that was refused or closed. */
	if (disk && disk->offer.status != RNBD_ST_OK)
		disk = NULL;
	if (disk && !rnbd_capacity_ok(info.capacity, disk->offer.geo.logical_block)) {
		perr = RNBD_PERR_LIMITS;
	} else if (disk) {
		WRITE_ONCE(disk->resize.capacity, info.capacity);
		next = READ_ONCE(disk->resize.resized_at) + RNBDC_RESIZE_PAUSE;
		queue_delayed_work(rnbdc_attach_wq, &disk->resize.resize_work,
				   time_before(jiffies, next) ? next - jiffies : 0);
	}
	spin_unlock_irqrestore(&sess->lock, flags);
	return perr;
}
