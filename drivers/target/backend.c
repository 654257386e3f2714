// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports and what is behind them.
 *
 * Operation: enabling an export opens its path as a block device (bdev.c) or
 * as a file (file.c); disabling it ends its sessions and closes it. The size of
 * the storage is looked at when it is opened, at each login, and when the
 * administrator says so; whoever is attached is told if it has changed. A
 * request is checked here against what may change while a session lives, then
 * goes to its kind of backend.
 * Ownership: the export owns the backend. Sessions use it without a reference:
 * disabling waits for them.
 * Concurrency: enabling and disabling under export->lock. export->enabled
 * falls first, under rnbdt_lock, so that no login can choose the export any
 * more while its sessions are being ended. Until they have ended its UUID is taken;
 * that, too, is under rnbdt_lock.
 * Errors: an errno of the storage becomes a status here, once for all kinds.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/slab.h>

#include "target.h"

/*
 * soft-RoCE hands frames over in unbound workers. One of them that finds this
 * work goes on with it, and a worker of its own need not be woken.
 */
static bool submit_unbound = true;
module_param(submit_unbound, bool, 0644);
MODULE_PARM_DESC(submit_unbound,
		 "workers that give requests to the storage run on any processor, not just where the frame came in; read when an export is enabled (default Y)");

static LIST_HEAD(rnbdt_open_exports);	/* that have a backend; rnbdt_lock */

/**
 * rnbdt_errno_status - what a client is told about an error of the storage
 * @error: errno, negative, or 0
 */
u16 rnbdt_errno_status(int error)
{
	switch (error) {
	case 0:
		return RNBD_ST_OK;
	case -ENODATA:
	case -EILSEQ:
		return RNBD_ST_MEDIUM;
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		return RNBD_ST_NOSPC;
	case -EOPNOTSUPP:
		return RNBD_ST_NOTSUPP;
	case -ENOMEM:
		return RNBD_ST_NOMEM;
	case -EROFS:
	case -EPERM:
		return RNBD_ST_READONLY;
	case -EBADE:
		return RNBD_ST_RESV;
	case -ESTALE:
		return RNBD_ST_GONE;
	default:
		return RNBD_ST_IO;
	}
}

/**
 * rnbdt_treq_start_parts - a request is about to be cut into parts
 * @treq: request
 *
 * The maker of the parts holds one itself until it has made all of them.
 */
void rnbdt_treq_start_parts(struct rnbd_treq *treq)
{
	treq->error = 0;
	atomic_set(&treq->parts, 1);
}

/**
 * rnbdt_treq_part_done - a part of a request has ended
 * @treq: request; no more the caller's
 * @error: errno; the first one counts
 *
 * Context: any.
 */
void rnbdt_treq_part_done(struct rnbd_treq *treq, int error)
{
	if (unlikely(error))
		cmpxchg(&treq->error, 0, error);
	if (atomic_dec_and_test(&treq->parts))
		rnbdt_treq_done(treq, rnbdt_errno_status(treq->error));
}

/**
 * rnbdt_backend_submit - execute a request
 * @treq: request, accepted by the decoder
 *
 * Context: work item, or a completion handler if the backend is atomic.
 */
void rnbdt_backend_submit(struct rnbd_treq *treq)
{
	struct rnbd_tsession *s = treq->queue->session;
	u8 op = treq->req.op;

	if (unlikely(s->readonly && op != RNBD_OP_READ && op != RNBD_OP_FLUSH)) {
		rnbdt_treq_done(treq, RNBD_ST_READONLY);
		return;
	}
	/* The client may not know yet that the export has shrunk. */
	if (unlikely(treq->req.offset + treq->req.length >
		     READ_ONCE(s->backend->capacity))) {
		rnbdt_treq_done(treq, RNBD_ST_RANGE);
		return;
	}
	s->backend->ops->submit(treq);
}

/**
 * rnbdt_backend_size - what the storage has now
 * @be: open backend
 *
 * Context: any.
 * Return: bytes, not necessarily whole blocks.
 */
u64 rnbdt_backend_size(const struct rnbd_tbackend *be)
{
	return be->bdev ? bdev_nr_bytes(be->bdev) :
			  i_size_read(file_inode(be->file));
}

static int rnbdt_backend_open(struct rnbd_texport *export,
			      struct rnbd_tbackend *be)
{
	struct path path;
	umode_t mode;
	int ret;

	ret = kern_path(export->path, LOOKUP_FOLLOW, &path);
	if (ret) {
		pr_err("export %s: path %s: error %d\n",
		       rnbdt_export_name(export), export->path, ret);
		return ret;
	}
	mode = d_backing_inode(path.dentry)->i_mode;
	path_put(&path);

	be->readonly = export->readonly;
	be->direct = export->cache == RNBDT_CACHE_NONE;
	be->through = export->write_cache == RNBDT_WRITE_THROUGH;
	if (!S_ISBLK(mode) && !S_ISREG(mode)) {
		pr_err("export %s: path %s is neither a block device nor a regular file\n",
		       rnbdt_export_name(export), export->path);
		return -EINVAL;
	}
	if (S_ISBLK(mode) && be->direct)
		return rnbdt_bdev_open(export, be);
	return rnbdt_file_open(export, be, S_ISBLK(mode));
}

/* Bring what the storage says into the form that the protocol demands. */
static int rnbdt_backend_check(struct rnbd_texport *export,
			       struct rnbd_tbackend *be)
{
	u32 block = be->logical_block;

	if (block < 512 || block > RNBD_UNIT_SIZE || !is_power_of_2(block)) {
		pr_err("export %s: logical blocks of %u bytes are not supported\n",
		       rnbdt_export_name(export), block);
		return -EINVAL;
	}
	be->capacity = round_down(be->capacity, block);
	if (!be->capacity) {
		pr_err("export %s: path %s is empty\n",
		       rnbdt_export_name(export), export->path);
		return -EINVAL;
	}
	be->physical_block = clamp(be->physical_block, block, 1U << 20);
	if (!is_power_of_2(be->physical_block))
		be->physical_block = block;
	/* Hints: a larger one is of no use. */
	be->io_min = clamp(round_down(be->io_min, block), be->physical_block,
			   RNBD_IO_HINT_MAX);
	be->io_opt = round_down(be->io_opt, block);
	if (be->io_opt > RNBD_IO_HINT_MAX)
		be->io_opt = 0;
	be->discard_granularity = round_down(be->discard_granularity, block);
	be->discard_alignment = round_down(be->discard_alignment, block);
	be->max_discard = round_down(be->max_discard, block);
	be->max_write_zeroes = round_down(be->max_write_zeroes, block);
	if (be->max_discard && !be->discard_granularity)
		be->discard_granularity = block;
	/* The client's block layer could not cut a discard into such pieces. */
	if (be->max_discard < max(be->discard_granularity, be->physical_block))
		be->max_discard = 0;
	return 0;
}

static void rnbdt_backend_free(struct rnbd_tbackend *be)
{
	if (be->submit_wq)
		destroy_workqueue(be->submit_wq);
	if (be->io_wq)
		destroy_workqueue(be->io_wq);
	kfree(be);
}

/* Work queues of its own: storage that hangs holds up nobody else's. */
static struct rnbd_tbackend *rnbdt_backend_alloc(struct rnbd_texport *export)
{
	struct rnbd_tbackend *be = kzalloc(sizeof(*be), GFP_KERNEL);

	if (!be)
		return NULL;
	be->submit_wq = alloc_workqueue("rnbd-t-%s", WQ_MEM_RECLAIM |
					(READ_ONCE(submit_unbound) ? WQ_UNBOUND : WQ_HIGHPRI),
					0, rnbdt_export_name(export));
	be->io_wq = alloc_workqueue("rnbd-io-%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0,
				    rnbdt_export_name(export));
	if (!be->submit_wq || !be->io_wq) {
		rnbdt_backend_free(be);
		return NULL;
	}
	return be;
}

/*
 * Lets sessions begin, unless another export has the same identity: clients would
 * take the two for one, and write to either.
 */
static int rnbdt_export_publish(struct rnbd_texport *export, struct rnbd_tbackend *be)
{
	struct rnbd_texport *other;
	int ret = 0;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry(other, &rnbdt_open_exports, entry) {
		if (!uuid_equal(&other->uuid, &export->uuid))
			continue;
		pr_err("export %s: export %s is enabled and has the same uuid; disable that one, or write another uuid to this one\n",
		       rnbdt_export_name(export), rnbdt_export_name(other));
		ret = -EEXIST;
		break;
	}
	if (!ret) {
		list_add_tail(&export->entry, &rnbdt_open_exports);
		export->backend = be;
		export->enabled = true;
	}
	mutex_unlock(&rnbdt_lock);
	return ret;
}

/**
 * rnbdt_export_enable - open the backend and let sessions begin
 * @export: export that is not enabled
 *
 * Context: export->lock held.
 * Return: 0 or an error, which has been logged.
 */
int rnbdt_export_enable(struct rnbd_texport *export)
{
	struct rnbd_tbackend *be;
	int ret;

	lockdep_assert_held(&export->lock);

	if (!export->path) {
		pr_err("export %s: set path before enabling it\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	be = rnbdt_backend_alloc(export);
	if (!be)
		return -ENOMEM;
	ret = rnbdt_backend_open(export, be);
	if (ret)
		goto free;
	ret = rnbdt_backend_check(export, be);
	if (ret)
		goto close;

	ret = rnbdt_export_publish(export, be);
	if (ret)
		goto close;
	pr_info("export %s: %s, %llu bytes, blocks of %u%s%s\n",
		rnbdt_export_name(export), export->path, be->capacity,
		be->logical_block, be->readonly ? ", read-only" : "",
		be->direct ? "" : ", page cache");
	return 0;

close:
	be->ops->close(be);
free:
	rnbdt_backend_free(be);
	return ret;
}

/**
 * rnbdt_export_look - take over the size that the storage has now
 * @export: export, enabled or not
 *
 * Its clients are told, those that can be; what is cut off is out of their
 * reach at once.
 *
 * Context: rnbdt_lock held.
 * Return: 0, also if it is the same; -ENODEV if the export is not enabled; -EINVAL if
 * not even one block is left, and then the export stays as it is.
 */
int rnbdt_export_look(struct rnbd_texport *export)
{
	struct rnbd_tbackend *be = export->backend;
	u64 size;

	lockdep_assert_held(&rnbdt_lock);

	if (!export->enabled)
		return -ENODEV;
	size = round_down(rnbdt_backend_size(be), be->logical_block);
	if (!size)
		return -EINVAL;
	if (size == be->capacity)
		return 0;
	pr_info("export %s: %llu bytes now, %llu before\n",
		rnbdt_export_name(export), size, be->capacity);
	WRITE_ONCE(be->capacity, size);
	rnbdt_sessions_resize(export);
	return 0;
}

/**
 * rnbdt_export_disable - end the sessions and close the backend
 * @export: export, enabled or not
 *
 * Context: export->lock held; waits for the storage.
 */
void rnbdt_export_disable(struct rnbd_texport *export)
{
	struct rnbd_tbackend *be;

	lockdep_assert_held(&export->lock);

	mutex_lock(&rnbdt_lock);
	export->enabled = false;
	mutex_unlock(&rnbdt_lock);

	rnbdt_sessions_end(NULL, export, NULL, "the export was disabled");

	mutex_lock(&rnbdt_lock);
	be = export->backend;
	export->backend = NULL;
	list_del_init(&export->entry);
	mutex_unlock(&rnbdt_lock);
	if (be) {
		be->ops->close(be);
		if (be->lost)
			get_random_bytes(export->incarnation,
					 sizeof(export->incarnation));
		rnbdt_backend_free(be);
		pr_info("export %s: disabled\n", rnbdt_export_name(export));
	}
}

/**
 * rnbdt_backend_init - make what the kinds of backends share
 *
 * Return: 0 or an error.
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
 */
void rnbdt_backend_exit(void)
{
	rnbdt_file_exit();
	rnbdt_bdev_exit();
}
