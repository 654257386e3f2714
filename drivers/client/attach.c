// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attach and detach of disks.
 *
 * Operation: rnbdc_disk_attach() joins or creates a session (session_get.c), reserves
 * the name, attaches the export, creates the gendisk, makes the disk live and adds the
 * gendisk. The kernel then reads the partition table. RNBDC_DISK_ATTACHED is set only after
 * that: without the flag I/O fails if the connection is lost, so that reading the partition
 * table does not block. With the flag the policy of the disk decides whether I/O fails or waits
 * for recovery (recover.c).
 * rnbdc_disk_detach() removes the disk while the session is still connected, so that the
 * target completes the requests in flight. The detach of the last disk of a session closes
 * the connection.
 *
 * Ownership: The list of disks holds a reference to the disk from attach until detach.
 * rnbdc_disk_attach() and rnbdc_disk_find() return a further reference to their caller. The
 * last put frees the disk and drops its reference to the session (release.c). The name is
 * reserved before the connection is made and released after the disk is removed.
 *
 * Concurrency: The thread that sets RNBDC_DISK_DETACH performs the detach. It sets the flag
 * under the disk's open_mutex unless the detach is forced; later opens fail. The thread
 * removes the disk from the list before it changes anything else, so a disk on the list
 * stays valid under rnbdc_disks_lock.
 *
 * Errors: A failed attach undoes everything and stores the reason in struct
 * rnbdc_errmsg. A detach fails only before it has changed anything.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rnbd/wire.h>

#include "abort.h"
#include "attach.h"
#include "attach_ctl.h"
#include "complete.h"
#include "connect.h"
#include "disk.h"
#include "disk_recover.h"
#include "errmsg.h"
#include "events.h"
#include "further.h"
#include "gendisk.h"
#include "offer.h"
#include "options.h"
#include "recover.h"
#include "release.h"
#include "session.h"
#include "session_get.h"
#include "state.h"
#include "sysfs.h"
#include "turn.h"

/* Allocate a disk. On success the disk takes over the caller's reference to the session. */
static struct rnbdc_disk *rnbdc_disk_alloc(struct rnbdc_session *sess,
					   const struct rnbdc_disk_options *opt)
{
	int index = ida_alloc_max(&sess->indexes, RNBD_ATTACH_MAX - 1, GFP_KERNEL);
	struct rnbdc_disk *disk = kzalloc(sizeof(*disk), GFP_KERNEL);

	if (index < 0 || !disk) {
		if (index >= 0)
			ida_free(&sess->indexes, index);
		kfree(disk);
		return NULL;
	}
	disk->handle.index = index;
	kref_init(&disk->ref);
	INIT_LIST_HEAD(&disk->list);
	INIT_LIST_HEAD(&disk->named);
	INIT_LIST_HEAD(&disk->turn);
	INIT_WORK(&disk->log.event_work, rnbdc_event_work);
	mutex_init(&disk->ctl_lock);
	rnbdc_disk_recover_init(disk);
	rnbdc_recover_init_disk(disk);
	rnbdc_retry_init(disk);
	disk->opt = *opt;
	disk->sess = sess;
	disk->index = -1;
	disk->state = RNBDC_CONNECTING;
	disk->state_ns = ktime_get_ns();
	mutex_lock(&sess->recovery.lock);
	spin_lock_irq(&sess->lock);
	list_add_tail(&disk->entry, &sess->disks);
	spin_unlock_irq(&sess->lock);
	mutex_unlock(&sess->recovery.lock);
	return disk;
}

/*
 * Detach the export of a disk and leave the session; if the session has no other disk, its
 * connection is closed. Afterwards only the holders of references use the disk.
 */
static void rnbdc_disk_close(struct rnbdc_disk *disk, bool created)
{
	struct rnbdc_session *sess = disk->sess;

	rnbdc_disk_advance(disk, RNBDC_CLOSING);
	/* In state RNBDC_CLOSING no code queues attach_work again after the cancellation. */
	rnbdc_turn_leave(disk);
	cancel_delayed_work_sync(&disk->attach_work);
	rnbdc_export_release(disk);
	rnbdc_export_detach(disk, false);
	rnbdc_session_leave(sess, created);
	mutex_lock(&sess->recovery.lock);
	spin_lock_irq(&sess->lock);
	list_del(&disk->entry);
	spin_unlock_irq(&sess->lock);
	mutex_unlock(&sess->recovery.lock);
	/* End the connection if all remaining disks of the session have failed or are closing. */
	rnbdc_session_end_unused(sess);
	/* The disk has left sess->disks: control entries and recovery no longer find it. */
	rnbdc_disk_recover_end(disk);
	/* Wait for event_work: its reports use the name rnbdN, which rnbdc_disk_remove() frees. */
	flush_work(&disk->log.event_work);
	rnbdc_disk_remove(disk);
}

/* Reserve the name that a disk requests, if any. No two disks may have the same name. */
static int rnbdc_reserve_name(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *other;
	int ret = 0;

	if (!disk->opt.name[0])
		return 0;
	mutex_lock(&rnbdc_disks_lock);
	list_for_each_entry(other, &rnbdc_disks_named, named) {
		if (strcmp(other->opt.name, disk->opt.name))
			continue;
		/* Only a disk on the list rnbdc_disks is certain to have a gendisk. */
		if (list_empty(&other->list))
			rnbdc_errmsg_set(errmsg,
					 "the name %s is taken by an attach or detach in progress",
					 disk->opt.name);
		else
			rnbdc_errmsg_set(errmsg, "the name %s is taken by %s; choose another",
					 disk->opt.name, other->gd->disk_name);
		ret = -EEXIST;
		break;
	}
	if (!ret)
		list_add_tail(&disk->named, &rnbdc_disks_named);
	mutex_unlock(&rnbdc_disks_lock);
	return ret;
}

static void rnbdc_release_name(struct rnbdc_disk *disk)
{
	mutex_lock(&rnbdc_disks_lock);
	list_del_init(&disk->named);
	mutex_unlock(&rnbdc_disks_lock);
}

/* Test whether a listed disk has the same target address, export name and host id. */
static bool rnbdc_has_twin(const struct rnbdc_disk *disk)
{
	const struct rnbdc_session_options *opt = &disk->sess->opt;
	struct rnbdc_disk *other;
	bool found = false;

	mutex_lock(&rnbdc_disks_lock);
	list_for_each_entry(other, &rnbdc_disks, list)
		found |= !memcmp(&other->sess->opt.dst, &opt->dst, sizeof(opt->dst)) &&
			 !strcmp(other->opt.export, disk->opt.export) &&
			 !memcmp(other->sess->opt.host_id, opt->host_id, UUID_SIZE);
	mutex_unlock(&rnbdc_disks_lock);
	return found;
}

/*
 * Add a new disk to the list of disks unless it is no longer live or the attach was
 * aborted. Returns true if the disk was added. A later abort request has no effect.
 */
static bool rnbdc_list_disk(struct rnbdc_disk *disk, struct rnbdc_abort *abort)
{
	bool list;

	mutex_lock(&rnbdc_disks_lock);
	list = !rnbdc_abort_unbind(abort) && READ_ONCE(disk->state) == RNBDC_LIVE;
	if (list) {
		kref_get(&disk->ref);
		list_add_tail(&disk->list, &rnbdc_disks);
	}
	mutex_unlock(&rnbdc_disks_lock);
	return list;
}

/* Try an attach once. *@created is set if this attach creates the session of the disk. */
static struct rnbdc_disk *rnbdc_attach_once(const struct rnbdc_options *opt, bool *created,
					    struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess;
	struct rnbdc_disk *disk;
	int ret;

	sess = rnbdc_session_get(opt, created, errmsg);
	if (IS_ERR(sess))
		return ERR_CAST(sess);
	disk = rnbdc_disk_alloc(sess, &opt->disk);
	if (!disk) {
		rnbdc_session_leave(sess, *created);
		rnbdc_session_put(sess);
		return ERR_PTR(-ENOMEM);
	}

	rnbdc_abort_bind(opt->abort, sess, disk);
	ret = rnbdc_reserve_name(disk, errmsg);
	if (!ret && *created)
		ret = rnbdc_connect(sess, errmsg);
	if (!ret && *created)
		ret = rnbdc_recover_start(sess, errmsg);
	if (!ret && *created)
		rnbdc_further_wait(sess);
	/* Wake other attaches, which wait until this session is connected or has failed. */
	wake_up_all(&sess->wait);
	if (ret)
		goto fail;
	ret = rnbdc_export_attach(disk, errmsg);
	/* No listed disk has the export: the target still has an attachment of an old session. */
	if (ret == -EEXIST && !rnbdc_has_twin(disk))
		ret = -EBUSY;
	if (ret)
		goto fail;
	/* rnbdc_disk_create() needs the properties of the export. */
	rnbdc_accept_attach(disk);
	ret = rnbdc_disk_create(disk, errmsg);
	if (!ret)
		ret = rnbdc_recover_attach(disk, errmsg);
	if (ret)
		goto fail;
	ret = rnbdc_disk_add(disk, rnbdc_disk_groups, errmsg);
	if (ret)
		goto fail;
	/*
	 * Until now I/O failed after a loss, so that reading the partition table could not
	 * block. From now on the policy of the disk decides whether I/O fails or waits.
	 */
	set_bit(RNBDC_DISK_ATTACHED, &disk->flags);
	/* Report a capacity that changed while the gendisk was added. */
	rnbdc_schedule_events(disk);
	if (!rnbdc_list_disk(disk, opt->abort)) {
		/* Use log.reason: broken_reason can already belong to a later connection. */
		rnbdc_errmsg_set(errmsg, "%s", READ_ONCE(disk->log.reason) ?: "interrupted");
		ret = -ECONNRESET;
		set_bit(RNBDC_DISK_DETACH, &disk->flags);
		rnbdc_recover_abort(disk);
		del_gendisk(disk->gd);
		goto fail;
	}

	pr_info("%s: attached %s at %s, %llu bytes, %u queues of %u, pool of %u to %u KiB\n",
		rnbdc_disk_name(disk), opt->disk.export, opt->sess.addr,
		disk->geo.capacity, disk->nr_queues, disk->tag_set.queue_depth,
		sess->grant.pool_units << (RNBD_UNIT_SHIFT - 10),
		sess->grant.max_units << (RNBD_UNIT_SHIFT - 10));
	return disk;

fail:
	/* End the waits of a recovery attempt that is in progress for this disk. */
	set_bit(RNBDC_DISK_DETACH, &disk->flags);
	wake_up(&sess->wait);
	rnbdc_disk_close(disk, *created);
	rnbdc_release_name(disk);
	if (rnbdc_abort_unbind(opt->abort))
		ret = -EINTR;
	rnbdc_disk_put(disk);
	return ERR_PTR(ret);
}

/**
 * rnbdc_disk_attach - connect to an export and create its disk
 * @opt: options
 * @errmsg: message for the user, set on most errors; without one, memory was lacking
 *
 * Context: process context, may sleep until the target answers or a time limit passes; ends
 * early when an abort is requested in opt->abort.
 * Return: the disk with a reference for the caller, or an ERR_PTR with everything undone. The
 * error is -EBUSY if a retry can succeed, for example because the target still has an older
 * attachment of this host; -EEXIST if another disk has the name or the export; -EINTR if the
 * attach was aborted; or another error.
 */
struct rnbdc_disk *rnbdc_disk_attach(const struct rnbdc_options *opt,
				     struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk;
	bool created = false;

	disk = rnbdc_attach_once(opt, &created, errmsg);
	/* The joined session has lost its connection, or the attachment has ended: retry once. */
	if (PTR_ERR_OR_ZERO(disk) == -ECONNRESET && !created)
		disk = rnbdc_attach_once(opt, &created, errmsg);
	/* Do not log EBUSY: the caller is expected to retry. */
	if (IS_ERR(disk) && PTR_ERR(disk) != -EINTR && PTR_ERR(disk) != -EBUSY)
		pr_err("cannot attach %s at %s: %s\n", opt->disk.export, opt->sess.addr,
		       errmsg->text[0] ? errmsg->text : "no memory");
	return disk;
}

/* Claim the detach of a disk for this thread. Opens of the disk fail from then on. */
static int rnbdc_claim_detach(struct rnbdc_disk *disk, bool force,
			      struct rnbdc_errmsg *errmsg)
{
	int ret = 0;

	/* Do not take open_mutex: its holder can wait for I/O that only the detach ends. */
	if (force)
		return test_and_set_bit(RNBDC_DISK_DETACH, &disk->flags) ?
		       -EALREADY : 0;

	mutex_lock(&disk->gd->open_mutex);
	if (disk_openers(disk->gd)) {
		rnbdc_errmsg_set(errmsg, "the disk is in use (close it, or detach with force)");
		ret = -EBUSY;
	} else if (test_and_set_bit(RNBDC_DISK_DETACH, &disk->flags)) {
		ret = -EALREADY;
	}
	mutex_unlock(&disk->gd->open_mutex);
	return ret;
}

/**
 * rnbdc_disk_detach - remove the disk, and end the session if no other disk uses it
 * @disk: disk on which the caller holds a reference
 * @force: detach although the disk is open
 * @errmsg: message for the user, set on error
 *
 * Requests in flight end before the disk is removed: the target completes them if the session
 * is connected, otherwise they fail. A lost session does not reconnect if all its disks are
 * being detached.
 *
 * Context: process context, may sleep.
 * Return: 0, -EBUSY if the disk is open and @force is not set, -EALREADY if the disk is being
 * detached.
 */
int rnbdc_disk_detach(struct rnbdc_disk *disk, bool force, struct rnbdc_errmsg *errmsg)
{
	int ret;

	ret = rnbdc_claim_detach(disk, force, errmsg);
	if (ret == -EALREADY)
		rnbdc_errmsg_set(errmsg, "the disk is being detached already");
	if (ret)
		return ret;

	mutex_lock(&rnbdc_disks_lock);
	list_del_init(&disk->list);
	mutex_unlock(&rnbdc_disks_lock);

	pr_info("%s: detaching\n", rnbdc_disk_name(disk));
	/* Fail I/O that waits for a connection, because del_gendisk() waits for all I/O. */
	rnbdc_recover_abort(disk);
	del_gendisk(disk->gd);
	rnbdc_disk_close(disk, false);
	rnbdc_release_name(disk);
	/* Drop the reference of the list. */
	rnbdc_disk_put(disk);
	return 0;
}

/**
 * rnbdc_disk_find - find an attached disk by its name
 * @name: name of the disk without /dev/
 *
 * Context: process context, may sleep.
 * Return: the disk with a reference for the caller, or NULL.
 */
struct rnbdc_disk *rnbdc_disk_find(const char *name)
{
	struct rnbdc_disk *disk, *found = NULL;

	mutex_lock(&rnbdc_disks_lock);
	list_for_each_entry(disk, &rnbdc_disks, list) {
		if (strcmp(disk->gd->disk_name, name))
			continue;
		kref_get(&disk->ref);
		found = disk;
		break;
	}
	mutex_unlock(&rnbdc_disks_lock);
	return found;
}

/**
 * rnbdc_disks_detach_all - detach all disks before the module is unloaded
 *
 * At this time no disk is open, because an open disk pins the module. No attach or detach
 * runs, because rnbdc_jobs_stop() has waited for them.
 *
 * Context: process context, may sleep.
 */
void rnbdc_disks_detach_all(void)
{
	struct rnbdc_errmsg errmsg = {};
	struct rnbdc_disk *disk;

	for (;;) {
		mutex_lock(&rnbdc_disks_lock);
		disk = list_first_entry_or_null(&rnbdc_disks, struct rnbdc_disk, list);
		if (disk)
			kref_get(&disk->ref);
		mutex_unlock(&rnbdc_disks_lock);
		if (!disk)
			return;
		rnbdc_disk_detach(disk, true, &errmsg);
		rnbdc_disk_put(disk);
	}
}
