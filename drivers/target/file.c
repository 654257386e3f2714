// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backend: a file, or a block device through the page cache.
 *
 * Operation
 *
 * Each request is a work item, because file systems may sleep anywhere. READ
 * and WRITE are asynchronous I/O on the pool pages, direct (nothing copied) or
 * buffered. What comes back short is continued from where it stopped, so that
 * the error behind it (no space, say) is the one that the client sees.
 *
 * FUA is IOCB_DSYNC, a flush vfs_fsync(), a discard a punched hole, zeroes a
 * zeroed range. The page cache, and for direct I/O the file system's own data
 * and the disk below it, are a volatile cache: an export of a file says so.
 *
 * A client can write to its pool at any time. If what is below the file needs
 * data that does not change while it is written, writes go through the page
 * cache, synchronously: it takes the copy that is needed.
 *
 * Ownership
 *
 * The request owns its bvecs: its own few, or an array from a reserve that is
 * as large as the largest request can need.
 *
 * Concurrency
 *
 * The work queue is for reclaim, and its items allocate without waiting for
 * I/O and are not throttled for dirty pages like an ordinary writer: a client
 * on this very machine may be what reclaim waits for.
 *
 * Errors
 *
 * A transfer that ends at the end of the file means that it has shrunk:
 * RNBD_ST_RANGE. A session that is not live any more ends its requests without
 * touching the file.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/blkdev.h>
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/uio.h>

#include "target.h"

#define RNBDT_MAX_BVECS		(RNBDT_MAX_IO_MAX / RNBD_UNIT_SIZE)
#define RNBDT_BVEC_RESERVE	4

static mempool_t *rnbdt_bvecs;

static void rnbdt_file_work(struct work_struct *work);

static void rnbdt_file_lose(struct rnbd_tbackend *be, int error)
{
	if (!xchg(&be->lost, true))
		pr_err("%pD: not written back, error %d; flushes fail until its export is disabled and enabled\n",
		       be->file, error);
}

/*
 * Make a range durable. The page cache tells of a failure only once, and by then
 * takes the pages for clean: whoever asks next, perhaps for the same flush over
 * another connection, would be told that all is well.
 */
static int rnbdt_file_sync(struct rnbd_tbackend *be, loff_t start, loff_t end)
{
	int ret;

	if (unlikely(READ_ONCE(be->lost)))
		return -EIO;
	ret = vfs_fsync_range(be->file, start, end, 1);
	if (unlikely(ret)) {
		rnbdt_file_lose(be, ret);
		return ret;
	}
	/* Another one may have been told meanwhile. */
	return READ_ONCE(be->lost) ? -EIO : 0;
}

static void rnbdt_file_rw_done(struct rnbd_treq *treq, u16 status)
{
	if (treq->bvec != treq->inline_bvec)
		mempool_free(treq->bvec, rnbdt_bvecs);
	treq->bvec = NULL;
	rnbdt_treq_done(treq, status);
}

/*
 * A transfer has ended with @ret. Returns true if the request is finished,
 * false if there is more to do.
 */
static bool rnbdt_file_moved(struct rnbd_treq *treq, long ret)
{
	struct rnbd_tbackend *be = treq->queue->session->backend;

	if (unlikely(ret <= 0)) {
		/* It may be the failure of others that was not flushed. */
		if (ret && treq->iocb.ki_flags & IOCB_DSYNC && !be->through &&
		    !treq->stale)
			rnbdt_file_lose(be, ret);
		rnbdt_file_rw_done(treq, ret ? rnbdt_errno_status(ret) :
				   treq->req.op == RNBD_OP_READ ? RNBD_ST_RANGE :
				   RNBD_ST_IO);
		return true;
	}
	treq->moved += ret;
	if (likely(treq->moved >= treq->req.length)) {
		rnbdt_file_rw_done(treq, RNBD_ST_OK);
		return true;
	}
	return false;
}

static void rnbdt_file_complete(struct kiocb *iocb, long ret)
{
	struct rnbd_treq *treq = container_of(iocb, struct rnbd_treq, iocb);

	if (iocb->ki_flags & IOCB_WRITE)
		kiocb_end_write(iocb);
	treq->result = ret;
	/* The submitter may not have returned from the file system yet. */
	if (atomic_dec_and_test(&treq->parts) && !rnbdt_file_moved(treq, ret))
		queue_work(treq->queue->session->backend->io_wq, &treq->work);
}

static void rnbdt_file_map(struct rnbd_treq *treq)
{
	struct rnbdt_piece it;
	struct page *page;
	u32 bytes;

	treq->bvec = treq->inline_bvec;
	treq->nr_bvec = 0;
	if (rnbdt_piece_count(treq) > RNBDT_INLINE_BVECS)
		treq->bvec = mempool_alloc(rnbdt_bvecs, GFP_NOIO);
	rnbdt_piece_start(&it, treq);
	while ((bytes = rnbdt_piece_next(&it, &page)))
		bvec_set_page(&treq->bvec[treq->nr_bvec++], page, bytes, 0);
}

static void rnbdt_file_rw(struct rnbd_treq *treq)
{
	struct rnbd_tsession *s = treq->queue->session;
	struct rnbd_tbackend *be = s->backend;
	bool write = treq->req.op == RNBD_OP_WRITE;
	struct kiocb *iocb = &treq->iocb;
	struct iov_iter iter;
	ssize_t ret;

	if (!treq->bvec)
		rnbdt_file_map(treq);
	do {
		iov_iter_bvec(&iter, write ? ITER_SOURCE : ITER_DEST, treq->bvec,
			      treq->nr_bvec, treq->req.length);
		iov_iter_advance(&iter, treq->moved);

		init_sync_kiocb(iocb, be->file);
		iocb->ki_pos = treq->req.offset + treq->moved;
		iocb->ki_complete = rnbdt_file_complete;
		if (write) {
			iocb->ki_flags |= IOCB_WRITE;
			if (treq->req.flags & RNBD_REQ_FUA || be->through)
				iocb->ki_flags |= IOCB_DSYNC;
			/* This can change while it is open. */
			if (be->direct &&
			    mapping_stable_writes(be->file->f_mapping) &&
			    !rnbd_inject(&rnbdt_inject_no_copy, NULL)) {
				iocb->ki_flags &= ~IOCB_DIRECT;
				iocb->ki_flags |= IOCB_DSYNC;
			}
		}

		/*
		 * One for the submitter: the file system looks at file and
		 * iocb after it has queued the I/O.
		 */
		atomic_set(&treq->parts, 2);
		if (unlikely(!rnbdt_may_submit(treq)))
			ret = -EIO;
		else if (write)
			ret = vfs_iocb_iter_write(be->file, iocb, &iter);
		else
			ret = vfs_iocb_iter_read(be->file, iocb, &iter);
		if (ret == -EIOCBQUEUED) {
			if (!atomic_dec_and_test(&treq->parts))
				return;
			ret = treq->result;
		}
	} while (!rnbdt_file_moved(treq, ret));
}

static int rnbdt_file_zero(struct rnbd_treq *treq)
{
	const struct rnbd_request *req = &treq->req;
	struct file *file = treq->queue->session->backend->file;
	int ret = -EOPNOTSUPP;

	/* A hole reads as zeros too, and costs nothing if it may be one. */
	if (!(req->flags & RNBD_REQ_NOUNMAP))
		ret = vfs_fallocate(file, FALLOC_FL_PUNCH_HOLE |
				    FALLOC_FL_KEEP_SIZE, req->offset, req->length);
	if (ret == -EOPNOTSUPP)
		ret = vfs_fallocate(file, FALLOC_FL_ZERO_RANGE |
				    FALLOC_FL_KEEP_SIZE, req->offset, req->length);
	if (!ret && (req->flags & RNBD_REQ_FUA ||
		     treq->queue->session->backend->through))
		ret = rnbdt_file_sync(treq->queue->session->backend, req->offset,
				      req->offset + req->length - 1);
	return ret;
}

/* Directly before the file is touched: a write must not make it grow again. */
static u16 rnbdt_file_check(struct rnbd_treq *treq)
{
	struct rnbd_tbackend *be = treq->queue->session->backend;

	if (unlikely(!rnbdt_may_submit(treq)))
		return RNBD_ST_IO;
	if (unlikely(treq->req.offset + treq->req.length > rnbdt_backend_size(be)))
		return RNBD_ST_RANGE;
	return RNBD_ST_OK;
}

static void rnbdt_file_execute(struct rnbd_treq *treq)
{
	struct rnbd_tsession *s = treq->queue->session;
	const struct rnbd_request *req = &treq->req;
	struct file *file = s->backend->file;
	u16 status;
	int ret;

	status = rnbdt_file_check(treq);
	if (status) {
		if (treq->bvec)
			rnbdt_file_rw_done(treq, status);
		else
			rnbdt_treq_done(treq, status);
		return;
	}
	switch (req->op) {
	case RNBD_OP_READ:
	case RNBD_OP_WRITE:
		rnbdt_file_rw(treq);
		return;
	case RNBD_OP_FLUSH:
		ret = rnbdt_file_sync(s->backend, 0, LLONG_MAX);
		break;
	case RNBD_OP_DISCARD:
		ret = vfs_fallocate(file, FALLOC_FL_PUNCH_HOLE |
				    FALLOC_FL_KEEP_SIZE, req->offset, req->length);
		break;
	case RNBD_OP_WRITE_ZEROES:
		ret = rnbdt_file_zero(treq);
		break;
	default:
		ret = -EOPNOTSUPP;
		break;
	}
	rnbdt_treq_done(treq, rnbdt_errno_status(ret));
}

static void rnbdt_file_work(struct work_struct *work)
{
	struct rnbd_treq *treq = container_of(work, struct rnbd_treq, work);
	unsigned int throttle = current->flags & PF_LOCAL_THROTTLE;
	unsigned int noio = memalloc_noio_save();

	current->flags |= PF_LOCAL_THROTTLE;
	rnbdt_file_execute(treq);
	if (!throttle)
		current->flags &= ~PF_LOCAL_THROTTLE;
	memalloc_noio_restore(noio);
}

static void rnbdt_file_submit(struct rnbd_treq *treq)
{
	struct rnbd_tbackend *be = treq->queue->session->backend;

	treq->bvec = NULL;
	treq->moved = 0;
	INIT_WORK(&treq->work, rnbdt_file_work);
	queue_work(be->io_wq, &treq->work);
}

static void rnbdt_file_close(struct rnbd_tbackend *be)
{
	/* If that fails be->lost tells. */
	if (!be->readonly)
		rnbdt_file_sync(be, 0, LLONG_MAX);
	if (be->bdev)
		bdev_fput(be->file);
	else
		fput(be->file);
}

static const struct rnbd_tbackend_ops rnbdt_file_ops = {
	.atomic	= true,
	.submit	= rnbdt_file_submit,
	.close	= rnbdt_file_close,
};

static int rnbdt_file_open_regular(struct rnbd_texport *export,
				   struct rnbd_tbackend *be)
{
	int flags = O_LARGEFILE | (be->readonly ? O_RDONLY : O_RDWR);

	if (be->direct)
		flags |= O_DIRECT;
	be->file = filp_open(export->path, flags, 0);
	if (IS_ERR(be->file)) {
		int ret = PTR_ERR(be->file);

		pr_err("export %s: file %s: %s (error %d)\n",
		       rnbdt_export_name(export), export->path,
		       ret == -EINVAL && be->direct ?
		       "no direct I/O on this file system; set cache to pagecache" :
		       "cannot be opened", ret);
		return ret;
	}
	return 0;
}

/* Blocks that direct I/O accepts. */
static int rnbdt_file_direct_block(struct rnbd_texport *export,
				   struct rnbd_tbackend *be)
{
	struct super_block *sb = file_inode(be->file)->i_sb;
	struct kstat stat;
	int ret;

	ret = vfs_getattr(&be->file->f_path, &stat, STATX_DIOALIGN,
			  AT_STATX_SYNC_AS_STAT);
	if (ret)
		return ret;
	if (!(stat.result_mask & STATX_DIOALIGN)) {
		/* The file system does not say. */
		be->logical_block = sb->s_bdev ?
				    bdev_logical_block_size(sb->s_bdev) :
				    RNBD_UNIT_SIZE;
		return 0;
	}
	if (!stat.dio_offset_align || stat.dio_mem_align > PAGE_SIZE) {
		pr_err("export %s: no direct I/O on file %s; set cache to pagecache\n",
		       rnbdt_export_name(export), export->path);
		return -EINVAL;
	}
	be->logical_block = max(stat.dio_offset_align, 512U);
	return 0;
}

static int rnbdt_file_limits(struct rnbd_texport *export,
			     struct rnbd_tbackend *be)
{
	struct inode *inode = file_inode(be->file);
	bool fallocate = be->file->f_op->fallocate;
	int ret;

	be->capacity = i_size_read(inode);
	be->logical_block = 512;
	if (be->direct) {
		ret = rnbdt_file_direct_block(export, be);
		if (ret)
			return ret;
	}
	be->physical_block = max(be->logical_block,
				 min_t(u32, i_blocksize(inode), RNBD_UNIT_SIZE));
	be->io_min = be->physical_block;
	if (fallocate) {
		be->discard_granularity = i_blocksize(inode);
		be->max_discard = 1U << 31;
		be->max_write_zeroes = 1U << 31;
	}
	return 0;
}

/**
 * rnbdt_file_open - open a file
 * @export: export
 * @be: its backend, to be filled
 * @is_bdev: it is a block device, to be used through the page cache
 *
 * Return: 0 or an error, which has been logged.
 */
int rnbdt_file_open(struct rnbd_texport *export, struct rnbd_tbackend *be,
		    bool is_bdev)
{
	int ret;

	if (is_bdev) {
		ret = rnbdt_bdev_open_file(export, be);
		if (ret)
			return ret;
		rnbdt_bdev_limits(be);
		/*
		 * A hole in a block device is zeroes that the device makes.
		 * One that cannot would refuse, and the page cache would have
		 * dropped acknowledged writes by then.
		 */
		if (!bdev_write_zeroes_sectors(be->bdev))
			be->max_discard = 0;
	} else {
		ret = rnbdt_file_open_regular(export, be);
		if (ret)
			return ret;
		ret = rnbdt_file_limits(export, be);
		if (ret) {
			fput(be->file);
			return ret;
		}
	}
	if (!be->through)
		be->flags |= RNBD_EXPORT_VOLATILE_CACHE | RNBD_EXPORT_FUA;
	be->ops = &rnbdt_file_ops;
	return 0;
}

/**
 * rnbdt_file_init - make the reserve
 *
 * Return: 0 or an error.
 */
int rnbdt_file_init(void)
{
	rnbdt_bvecs = mempool_create_kmalloc_pool(RNBDT_BVEC_RESERVE,
						  RNBDT_MAX_BVECS *
						  sizeof(struct bio_vec));
	return rnbdt_bvecs ? 0 : -ENOMEM;
}

/**
 * rnbdt_file_exit - undo rnbdt_file_init()
 */
void rnbdt_file_exit(void)
{
	mempool_destroy(rnbdt_bvecs);
}
