// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports: enable, disable and capacity.
 *
 * Operation: enabling an export opens its path as a block device (bdev.c) or as a file (file.c)
 * and checks the properties of the storage. Disabling an export closes its attachments at once.
 * When the last attachment has left the export, disable_work closes the backend. An attachment
 * leaves when the storage has completed its requests, which hung storage delays forever; no task
 * waits for disable_work. The size of the storage is read when the export is enabled, at each
 * ATTACH, and when the administrator writes to the attribute resize. If the size has changed,
 * resize.c notifies the clients, and request.c refuses requests beyond the new capacity.
 *
 * Ownership: the export owns the backend. Attachments use the backend without a reference. From
 * rnbdt_export_disable() on, disable_work holds a reference on the export, because the directory
 * of the export may be removed before the storage has completed its requests. A write to an
 * attribute never waits for disable_work. Otherwise hung storage would block the writer, an
 * rmdir that waits for the writer, and each reader of the directory that waits for the rmdir.
 *
 * Concurrency: an export is enabled under export->lock. Disabling first clears export->enabled,
 * with rnbdt_lock held for writing, so that no ATTACH can choose the export while its
 * attachments are being closed. The capacity also changes with rnbdt_lock held for writing.
 * Until the backend is closed, the export cannot be enabled again, and its storage, UUID and path
 * remain in use. A reader of an attribute never takes export->lock.
 *
 * Errors: a failed enable returns an errno and leaves the export disabled. Storage that another
 * export has opened, even under another path, is refused. Disabling cannot fail. If acknowledged
 * writes are possibly lost, because a write-back failed or a device with a volatile cache was
 * removed, disabling changes the incarnation of the export, and clients detect the loss by this
 * change.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rnbd/wire.h>

#include "../core/geometry.h"
#include "attached.h"
#include "backend.h"
#include "bdev.h"
#include "export.h"
#include "file.h"
#include "graph.h"
#include "opened.h"
#include "reach.h"
#include "resize.h"
#include "sched_group.h"
#include "target.h"

/*
 * soft-RoCE delivers frames in workers of an unbound work queue. If submit_work is unbound as
 * well, the same worker can run submit_work next, and the kernel need not wake another worker.
 */
static bool submit_unbound = true;
module_param(submit_unbound, bool, 0644);
MODULE_PARM_DESC(submit_unbound,
		 "workers that submit requests to the storage run on any CPU, not only on the CPU that received the frame; read when an export is enabled (default Y)");

/* Jiffies between log lines about an export that waits for the end of its attachments */
#define RNBDT_DISABLE_LOG	(30 * HZ)

static int rnbdt_backend_open(struct rnbdt_export *export,
			      struct rnbdt_backend *be)
{
	struct path path;
	umode_t mode;
	bool bios;
	int ret;

	ret = kern_path(export->path, LOOKUP_FOLLOW, &path);
	if (ret) {
		pr_err("export %s: path %s: error %d\n",
		       rnbdt_export_name(export), export->path, ret);
		return ret;
	}
	mode = d_backing_inode(path.dentry)->i_mode;
	down_write(&rnbdt_lock);
	ret = rnbdt_opened_check(export, d_real_inode(path.dentry));
	up_write(&rnbdt_lock);
	path_put(&path);
	if (ret)
		return ret;

	be->readonly = export->readonly;
	be->direct = export->cache == RNBDT_CACHE_NONE;
	be->through = export->write_cache == RNBDT_WRITE_THROUGH;
	if (!S_ISBLK(mode) && !S_ISREG(mode)) {
		pr_err("export %s: path %s is neither a block device nor a regular file\n",
		       rnbdt_export_name(export), export->path);
		return -EINVAL;
	}
	bios = S_ISBLK(mode) && be->direct;
	ret = rnbdt_io_open(&be->io, !bios || READ_ONCE(submit_unbound));
	if (ret)
		return ret;
	if (bios)
		return rnbdt_bdev_open(export, be);
	return rnbdt_file_open(export, be, S_ISBLK(mode));
}

/* Round the properties of the storage to values that the protocol allows, or refuse the storage. */
static int rnbdt_backend_check(struct rnbdt_export *export,
			       struct rnbdt_backend *be)
{
	struct rnbd_geometry *geo = &be->geo;
	u32 block = geo->logical_block;

	if (block < 512 || block > RNBD_UNIT_SIZE || !is_power_of_2(block)) {
		pr_err("export %s: logical blocks of %u bytes are not supported\n",
		       rnbdt_export_name(export), block);
		return -EINVAL;
	}
	geo->capacity = round_down(geo->capacity, block);
	if (!geo->capacity) {
		pr_err("export %s: path %s is empty\n",
		       rnbdt_export_name(export), export->path);
		return -EINVAL;
	}
	geo->physical_block = clamp(geo->physical_block, block, 1U << 20);
	if (!is_power_of_2(geo->physical_block))
		geo->physical_block = block;
	/* Adjust io_min and io_opt to the limits of the protocol: both are only hints. */
	geo->io_min = clamp(round_down(geo->io_min, block), geo->physical_block,
			    RNBD_IO_HINT_MAX);
	geo->io_opt = round_down(geo->io_opt, block);
	if (geo->io_opt > RNBD_IO_HINT_MAX)
		geo->io_opt = 0;
	geo->discard_granularity = round_down(geo->discard_granularity, block);
	geo->discard_alignment = round_down(geo->discard_alignment, block);
	geo->max_discard = round_down(geo->max_discard, block);
	geo->max_write_zeroes = round_down(geo->max_write_zeroes, block);
	if (geo->max_discard && !geo->discard_granularity)
		geo->discard_granularity = block;
	/* A DISCARD has at least a granule and a physical block: with a lower limit offer none. */
	if (geo->max_discard < max(geo->discard_granularity, geo->physical_block))
		geo->max_discard = 0;
	return 0;
}

static void rnbdt_backend_free(struct rnbdt_backend *be)
{
	rnbdt_io_close(&be->io);
	kfree(be);
}

/* Let clients attach an export unless another export has the same storage, path or UUID. */
static int rnbdt_export_publish(struct rnbdt_export *export, struct rnbdt_backend *be)
{
	int ret;

	be->dev = be->bdev ? be->bdev->bd_dev : 0;
	be->inode = be->mapping ? be->mapping->host : NULL;
	down_write(&rnbdt_lock);
	WRITE_ONCE(export->backend, be);
	ret = rnbdt_opened_add(export);
	if (ret)
		WRITE_ONCE(export->backend, NULL);
	else
		rnbdt_reach_enable(export, true);
	up_write(&rnbdt_lock);
	return ret;
}

/**
 * rnbdt_export_must_be_off - check that an export has no backend, and log an error if it has
 * @export: export
 * @what: name of the attribute to change, for the log
 *
 * Context: process context, export->lock held.
 * Return: 0, or -EBUSY while the export is enabled or being disabled.
 */
int rnbdt_export_must_be_off(struct rnbdt_export *export, const char *what)
{
	lockdep_assert_held(&export->lock);
	if (!READ_ONCE(export->backend))
		return 0;
	pr_err("export %s: disable it before changing %s\n",
	       rnbdt_export_name(export), what);
	return -EBUSY;
}

/**
 * rnbdt_export_enable - open the backend of an export and let clients attach it
 * @export: export that is not enabled
 *
 * Context: process context, export->lock held, rnbdt_lock not held; may sleep.
 * Return: 0 or a negative errno, which was logged unless it is -ENOMEM. -EBUSY: this export is
 * being disabled, another export has the same storage or path, or the block device is in use
 * otherwise. -EEXIST: another export has the same UUID.
 */
int rnbdt_export_enable(struct rnbdt_export *export)
{
	struct rnbdt_backend *be;
	int ret;

	lockdep_assert_held(&export->lock);

	if (READ_ONCE(export->backend)) {
		pr_err("export %s: still being disabled; enable it when state is \"disabled\"\n",
		       rnbdt_export_name(export));
		return -EBUSY;
	}
	if (!export->path) {
		pr_err("export %s: set path before enabling it\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	be = kzalloc(sizeof(*be), GFP_KERNEL);
	if (!be)
		return -ENOMEM;
	be->export = export;
	ret = rnbdt_backend_open(export, be);
	if (ret)
		goto free;
	ret = rnbdt_backend_check(export, be);
	if (ret)
		goto close;

	ret = rnbdt_sched_open(be, export->window);
	if (ret)
		goto close;
	ret = rnbdt_export_publish(export, be);
	if (ret)
		goto close_sched;
	pr_info("export %s: %s, %llu bytes, blocks of %u%s%s\n",
		rnbdt_export_name(export), export->path, be->geo.capacity,
		be->geo.logical_block, be->readonly ? ", read-only" : "",
		be->direct ? "" : ", page cache");
	return 0;

close_sched:
	rnbdt_sched_close(be);
close:
	be->ops->close(be);
free:
	rnbdt_backend_free(be);
	return ret;
}

/* Return the current size of the storage in bytes, rounded down to whole blocks. */
static u64 rnbdt_export_size(const struct rnbdt_export *export)
{
	return round_down(rnbdt_backend_size(export->backend),
			  export->backend->geo.logical_block);
}

/**
 * rnbdt_export_resized - test whether the size of the storage has changed
 * @export: enabled export
 *
 * Context: process context, rnbdt_lock held.
 * Return: true if rnbdt_export_update_capacity() would change the capacity.
 */
bool rnbdt_export_resized(const struct rnbdt_export *export)
{
	u64 size = rnbdt_export_size(export);

	lockdep_assert_held(&rnbdt_lock);

	return size && size != export->backend->geo.capacity;
}

/**
 * rnbdt_export_update_capacity - set the capacity of an export to the size of the storage
 * @export: export, enabled or not
 *
 * If the capacity changes, report it to the clients. Requests beyond a smaller capacity are
 * refused from now on.
 *
 * Context: process context, rnbdt_lock held for writing.
 * Return: 0, also if the size has not changed; -ENODEV if the export is not enabled; -EINVAL if
 * the storage is smaller than one block; then the capacity does not change.
 */
int rnbdt_export_update_capacity(struct rnbdt_export *export)
{
	struct rnbdt_backend *be = export->backend;
	u64 size;

	lockdep_assert_held_write(&rnbdt_lock);

	if (!export->enabled)
		return -ENODEV;
	size = rnbdt_export_size(export);
	if (!size)
		return -EINVAL;
	if (size == be->geo.capacity)
		return 0;
	pr_info("export %s: capacity is now %llu bytes, was %llu\n",
		rnbdt_export_name(export), size, be->geo.capacity);
	WRITE_ONCE(be->geo.capacity, size);
	rnbdt_sessions_resize(export);
	return 0;
}

/* Close the backend of a disabled export whose last attachment has left it. */
static void rnbdt_export_disable_work(struct work_struct *work)
{
	struct rnbdt_export *export = container_of(work, struct rnbdt_export, disable_work);
	struct rnbdt_backend *be = export->backend;

	cancel_delayed_work_sync(&export->wait_work);
	rnbdt_sched_close(be);
	be->ops->close(be);

	down_write(&rnbdt_lock);
	if (be->lost)
		get_random_bytes(export->incarnation, sizeof(export->incarnation));
	rnbdt_opened_remove(export);
	WRITE_ONCE(export->backend, NULL);
	up_write(&rnbdt_lock);
	rnbdt_backend_free(be);
	pr_info("export %s: disabled\n", rnbdt_export_name(export));

	config_item_put(&export->group.cg_item);
	/* The module stays until this work item returns: rnbdt_exit() destroys the work queue. */
	module_put(THIS_MODULE);
}

/* Log that the storage delays the end of an export's attachments. */
static void rnbdt_export_wait_work(struct work_struct *work)
{
	struct rnbdt_export *export = container_of(to_delayed_work(work), struct rnbdt_export,
						   wait_work);

	pr_warn("export %s: waiting for the storage to complete requests, attachments: %u\n",
		rnbdt_export_name(export), READ_ONCE(export->nr_attached));
	queue_delayed_work(rnbdt_timer_wq, &export->wait_work, RNBDT_DISABLE_LOG);
}

/**
 * rnbdt_export_init - initialise an export
 * @export: zeroed export
 *
 * Context: any.
 */
void rnbdt_export_init(struct rnbdt_export *export)
{
	INIT_WORK(&export->disable_work, rnbdt_export_disable_work);
	INIT_DELAYED_WORK(&export->wait_work, rnbdt_export_wait_work);
	INIT_LIST_HEAD(&export->attached);
	INIT_LIST_HEAD(&export->offers);
}

/**
 * rnbdt_export_disable - close the attachments and begin to close the backend
 * @export: export, enabled or not, whose directory in configfs pins the module
 *
 * The export is fully disabled when its backend is closed, which hung storage can delay forever.
 *
 * Context: process context, rnbdt_lock not held; does not wait for the storage.
 */
void rnbdt_export_disable(struct rnbdt_export *export)
{
	bool begin;

	down_write(&rnbdt_lock);
	begin = export->enabled;
	if (begin) {
		rnbdt_reach_enable(export, false);
		__module_get(THIS_MODULE);
		config_item_get(&export->group.cg_item);
		/*
		 * No attachment can be added now; the end of the last attachment queues
		 * disable_work.
		 */
		if (export->nr_attached)
			queue_delayed_work(rnbdt_timer_wq, &export->wait_work,
					   RNBDT_DISABLE_LOG);
		else
			queue_work(rnbdt_disable_wq, &export->disable_work);
	}
	up_write(&rnbdt_lock);
	if (begin)
		rnbdt_attached_close(export, NULL, NULL, "the export was disabled");
}

/**
 * rnbdt_backend_init - allocate the memory reserves of both kinds of backends
 *
 * Context: process context, module init.
 * Return: 0 or a negative errno.
 */
int rnbdt_backend_init(void)
{
	int ret;

	ret = rnbdt_bdev_init();
	if (ret)
		return ret;
	ret = rnbdt_file_init();
	if (ret)
		rnbdt_bdev_exit();
	return ret;
}

/**
 * rnbdt_backend_exit - undo rnbdt_backend_init()
 *
 * Context: process context, module exit.
 */
void rnbdt_backend_exit(void)
{
	rnbdt_file_exit();
	rnbdt_bdev_exit();
}
