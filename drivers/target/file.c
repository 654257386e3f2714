// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backend for a file (direct or through the page cache), and for a block device through the page
 * cache.
 *
 * Operation
 *
 * A work item executes each request, because file systems can sleep anywhere. READ and WRITE
 * transfer data directly between the file and the pool pages, asynchronously, or go through the
 * page cache, synchronously. If a transfer ends early, the next one begins where it stopped and
 * returns the error for the client, if any (no space, for example).
 *
 * Limits of a cgroup can make direct READs and WRITEs sleep. If the host is in a cgroup, the work
 * item of the attachment executes them, so that they occupy one worker, unless the storage needs
 * stable pages. Their bios are charged to the cgroup; the write-back of the page cache is not.
 *
 * A WRITE with FUA uses IOCB_DSYNC. A FLUSH, and a WRITE_ZEROES with FUA, call vfs_fsync_range().
 * DISCARD punches a hole, WRITE_ZEROES punches a hole or zeroes a range. Unless write_cache is
 * through, the export reports a volatile cache: the page cache or, with direct I/O, the metadata
 * of the file system and the write cache of the disk below the file system.
 *
 * A client can write to its pool at any time. If the storage below the file needs data that
 * does not change during the write, WRITEs go through the page cache, which copies the data.
 *
 * A request whose result is possibly a write-back error of another request is executed a second
 * time, synchronously and while no other request writes through the page cache; see writeback.c.
 *
 * Ownership: the request owns its bvecs: the inline ones, or an array that is charged to the
 * host. If kmalloc() fails, the array comes from a mempool.
 *
 * Concurrency: the work queue has a rescuer. Its work items allocate without I/O and are not
 * throttled for dirty pages like ordinary writers, because memory reclaim can wait for a disk of
 * a client on this machine. While a request writes through the page cache, its work item holds
 * be->alone shared; during a second execution, exclusively.
 *
 * Errors: a READ that meets the end of the file returns RNBD_ST_RANGE, because the file has
 * shrunk. After the removal of the block device, or of that below the file, the status is
 * RNBD_ST_GONE, a path error, if write_cache is through, and RNBD_ST_IO otherwise (writeback.c).
 * A request that rnbdt_may_submit() refuses ends without access to the file. writeback.c handles
 * write-back errors of the page cache.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mempool.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <linux/workqueue.h>

#include "../core/geometry.h"
#include "../core/inject.h"
#include "../core/io.h"
#include "../core/op.h"
#include "backend.h"
#include "bdev.h"
#include "blkcg.h"
#include "epoch.h"
#include "file.h"
#include "graph.h"
#include "inject.h"
#include "pool.h"
#include "queue.h"
#include "queue_budget.h"
#include "reply.h"
#include "session.h"
#include "writeback.h"

#define RNBDT_MAX_BVECS		(RNBDT_MAX_IO_MAX / RNBD_UNIT_SIZE)
#define RNBDT_BVEC_RESERVE	4

static mempool_t *rnbdt_bvecs;

static void rnbdt_file_unmap(struct rnbdt_req *treq)
{
	if (treq->bvec && treq->bvec != treq->inline_bvec) {
		rnbdt_queue_budget_give_io(treq->queue->session,
					   treq->nr_bvec * sizeof(*treq->bvec));
		if (unlikely(treq->reserve))
			mempool_free(treq->bvec, rnbdt_bvecs);
		else
			kfree(treq->bvec);
	}
	treq->bvec = NULL;
}

/*
 * Complete a request, or execute it a second time if the write-back error of another request makes
 * its result uncertain. For the second execution the work item of the request is queued, even
 * while the work item runs.
 */
static void rnbdt_file_done(struct rnbdt_req *treq, u16 status)
{
	if (unlikely(rnbdt_wb_unsure(treq, &status))) {
		treq->alone = true;
		treq->moved = 0;
		rnbdt_io_queue(&treq->att->backend->io, &treq->work);
		return;
	}
	rnbdt_file_unmap(treq);
	rnbdt_req_done(treq, status);
}

/*
 * Handle the end of a transfer; @ret is its length in bytes, or a negative errno. Returns true if
 * the request was completed, or queued for a second execution. Returns false if the transfer was
 * short: the caller must transfer the rest.
 */
static bool rnbdt_file_moved(struct rnbdt_req *treq, long ret)
{
	const struct rnbdt_backend *be = treq->att->backend;

	if (unlikely(ret <= 0)) {
		rnbdt_file_done(treq, ret ? rnbdt_wb_status(be, ret) :
				rnbd_op_data_in(treq->req.op) ? RNBD_ST_RANGE :
				RNBD_ST_IO);
		return true;
	}
	treq->moved += ret;
	if (likely(treq->moved >= treq->req.length)) {
		rnbdt_file_done(treq, RNBD_ST_OK);
		return true;
	}
	return false;
}

static void rnbdt_file_complete(struct kiocb *iocb, long ret)
{
	struct rnbdt_req *treq = container_of(iocb, struct rnbdt_req, iocb);

	if (iocb->ki_flags & IOCB_WRITE)
		kiocb_end_write(iocb);
	treq->result = ret;
	/*
	 * The submitter is possibly still in the file system: the later of submitter and
	 * completion calls rnbdt_file_moved().
	 */
	if (atomic_dec_and_test(&treq->parts) && !rnbdt_file_moved(treq, ret))
		rnbdt_io_queue(&treq->att->backend->io, &treq->work);
}

/* Allocate the bvecs of a large request. Returns false if a limit of queue_budget.c is reached. */
static bool rnbdt_file_alloc(struct rnbdt_req *treq, u32 nr)
{
	u32 bytes = nr * sizeof(*treq->bvec);

	if (unlikely(!rnbdt_queue_budget_take_io(treq->queue->session, bytes)))
		return false;
	treq->bvec = kmalloc(bytes, GFP_NOWAIT | __GFP_NOWARN);
	treq->reserve = !treq->bvec;
	if (unlikely(treq->reserve))
		treq->bvec = mempool_alloc(rnbdt_bvecs, GFP_NOIO);
	return true;
}

static bool rnbdt_file_map(struct rnbdt_req *treq)
{
	u32 bytes, nr = rnbdt_piece_count(treq);
	struct rnbdt_piece it;
	struct page *page;

	treq->nr_bvec = 0;
	if (nr <= RNBDT_INLINE_BVECS)
		treq->bvec = treq->inline_bvec;
	else if (!rnbdt_file_alloc(treq, nr))
		return false;
	rnbdt_piece_start(&it, treq);
	while ((bytes = rnbdt_piece_next(&it, &page)))
		bvec_set_page(&treq->bvec[treq->nr_bvec++], page, bytes, 0);
	return true;
}

static void rnbdt_file_rw(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;
	bool write = rnbd_op_data_out(treq->req.op);
	struct kiocb *iocb = &treq->iocb;
	struct iov_iter iter;
	ssize_t ret;

	if (!treq->bvec && unlikely(!rnbdt_file_map(treq))) {
		/* Not rnbdt_file_done(): a request without I/O has no write-back error. */
		rnbdt_req_done(treq, RNBD_ST_NOMEM);
		return;
	}
	do {
		iov_iter_bvec(&iter, write ? ITER_SOURCE : ITER_DEST, treq->bvec,
			      treq->nr_bvec, treq->req.length);
		iov_iter_advance(&iter, treq->moved);

		init_sync_kiocb(iocb, be->file);
		iocb->ki_pos = treq->req.offset + treq->moved;
		/* I/O without ki_complete is synchronous. */
		if (!treq->buffered && !treq->alone)
			iocb->ki_complete = rnbdt_file_complete;
		if (treq->buffered)
			iocb->ki_flags &= ~IOCB_DIRECT;
		if (write)
			iocb->ki_flags |= IOCB_WRITE;
		if (treq->durable)
			iocb->ki_flags |= IOCB_DSYNC;

		/*
		 * One part is for the completion, one for the submitter: the file system
		 * accesses file and iocb even after it has queued the I/O.
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

static int rnbdt_file_zero(struct rnbdt_req *treq)
{
	const struct rnbd_request *req = &treq->req;
	struct file *file = treq->att->backend->file;
	loff_t end = req->offset + req->length - 1;
	int ret = -EOPNOTSUPP;

	/* Punch a hole if the client allows that: a hole reads as zeroes and needs no space. */
	if (!(req->flags & RNBD_REQ_NOUNMAP))
		ret = vfs_fallocate(file, FALLOC_FL_PUNCH_HOLE |
				    FALLOC_FL_KEEP_SIZE, req->offset, req->length);
	if (ret == -EOPNOTSUPP)
		ret = vfs_fallocate(file, FALLOC_FL_ZERO_RANGE |
				    FALLOC_FL_KEEP_SIZE, req->offset, req->length);
	if (!ret && treq->durable)
		ret = vfs_fsync_range(file, req->offset, end, 1);
	return ret;
}

/* Check a request directly before the access: a write must not extend a file that has shrunk. */
static u16 rnbdt_file_check(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;

	if (unlikely(!rnbdt_may_submit(treq)))
		return RNBD_ST_IO;
	if (unlikely(treq->req.offset + treq->req.length > rnbdt_backend_size(be)))
		return rnbdt_backend_removed(be) ? rnbdt_wb_status(be, -ENODEV) :
						   RNBD_ST_RANGE;
	return RNBD_ST_OK;
}

static void rnbdt_file_execute(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;
	const struct rnbd_request *req = &treq->req;
	u16 status;
	int ret;

	status = rnbdt_file_check(treq);
	if (status) {
		rnbdt_file_done(treq, status);
		return;
	}
	switch (req->op) {
	case RNBD_OP_READ:
	case RNBD_OP_WRITE:
		rnbdt_file_rw(treq);
		return;
	case RNBD_OP_FLUSH:
		ret = rnbdt_wb_flush(be);
		break;
	case RNBD_OP_DISCARD:
		ret = vfs_fallocate(be->file, FALLOC_FL_PUNCH_HOLE |
				    FALLOC_FL_KEEP_SIZE, req->offset, req->length);
		break;
	case RNBD_OP_WRITE_ZEROES:
		ret = rnbdt_file_zero(treq);
		break;
	default:
		ret = -EOPNOTSUPP;
		break;
	}
	rnbdt_file_done(treq, rnbdt_wb_status(be, ret));
}

/* Choose how to execute a request. The need for stable pages can change between requests. */
static void rnbdt_file_prepare(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;
	const struct rnbd_request *req = &treq->req;
	bool copy;

	copy = req->op == RNBD_OP_WRITE && be->direct &&
	       mapping_stable_writes(be->mapping) &&
	       !rnbd_inject(&rnbdt_inject_no_copy, NULL);
	treq->buffered = copy || !be->direct;
	switch (req->op) {
	case RNBD_OP_WRITE:
	case RNBD_OP_WRITE_ZEROES:
		treq->durable = copy || be->through || req->flags & RNBD_REQ_FUA;
		break;
	case RNBD_OP_FLUSH:
		/* With write_cache=back, rnbdt_wb_flush() itself reports every write-back error. */
		treq->durable = be->through;
		break;
	default:
		treq->durable = false;
		break;
	}
}

/* Execute a request. The request can be completed and reused before this function returns. */
static void rnbdt_file_run(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;
	unsigned int throttle = current->flags & PF_LOCAL_THROTTLE;
	unsigned int noio = memalloc_noio_save();
	bool in_cgroup = READ_ONCE(treq->att->in_cgroup);
	bool continued = treq->moved;
	bool alone = treq->alone;
	bool shared;

	current->flags |= PF_LOCAL_THROTTLE;
	if (!continued)
		rnbdt_file_prepare(treq);
	shared = treq->buffered && rnbd_ops[treq->req.op].modifies && !alone;
	if (shared)
		down_read(&be->alone);
	else if (unlikely(alone))
		down_write(&be->alone);
	if (!continued)
		rnbdt_wb_start(treq);
	if (unlikely(in_cgroup))
		rnbdt_blkcg_enter(&treq->queue->session->host->blkcg);
	rnbdt_file_execute(treq);
	if (unlikely(in_cgroup))
		rnbdt_blkcg_leave();
	if (shared)
		up_read(&be->alone);
	else if (unlikely(alone))
		up_write(&be->alone);
	if (!throttle)
		current->flags &= ~PF_LOCAL_THROTTLE;
	memalloc_noio_restore(noio);
}

static void rnbdt_file_work(struct work_struct *work)
{
	struct rnbdt_req *treq = container_of(work, struct rnbdt_req, work.work);
	struct rnbdt_io *io = &treq->att->backend->io;

	rnbdt_file_run(treq);
	rnbdt_io_end(io);
}

/* Test for a READ or WRITE as asynchronous direct I/O to storage that needs no stable pages. */
static bool rnbdt_file_is_async(const struct rnbdt_req *treq)
{
	const struct rnbdt_backend *be = treq->att->backend;

	return be->direct && rnbd_op_has_data(treq->req.op) &&
	       !mapping_stable_writes(be->mapping);
}

static void rnbdt_file_submit(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;

	treq->bvec = NULL;
	treq->moved = 0;
	treq->alone = false;
	INIT_WORK(&treq->work.work, rnbdt_file_work);
	/* For a host in a cgroup, a caller in task context is the work item of the attachment. */
	if (unlikely(in_task() && READ_ONCE(treq->att->in_cgroup)) && rnbdt_file_is_async(treq))
		rnbdt_file_run(treq);
	else
		rnbdt_io_queue(&be->io, &treq->work);
}

static void rnbdt_file_close(struct rnbdt_backend *be)
{
	/* A failed flush with write_cache=back sets be->lost, so the incarnation changes. */
	if (!be->readonly)
		rnbdt_wb_flush(be);
	if (be->bdev)
		rnbdt_bdev_close_file(be->file);
	else
		/* fput() would close the file later, in a kernel thread, and delay an unmount. */
		__fput_sync(be->file);
}

static const struct rnbdt_backend_ops rnbdt_file_ops = {
	.atomic	= true,
	.submit	= rnbdt_file_submit,
	.close	= rnbdt_file_close,
};

static int rnbdt_file_open_regular(struct rnbdt_export *export,
				   struct rnbdt_backend *be)
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

/* Set the logical block size to the smallest one that direct I/O accepts. */
static int rnbdt_file_direct_block(struct rnbdt_export *export,
				   struct rnbdt_backend *be)
{
	struct super_block *sb = file_inode(be->file)->i_sb;
	struct kstat stat;
	int ret;

	ret = vfs_getattr(&be->file->f_path, &stat, STATX_DIOALIGN,
			  AT_STATX_SYNC_AS_STAT);
	if (ret)
		return ret;
	if (!(stat.result_mask & STATX_DIOALIGN)) {
		/* The file system reports no alignment: assume a safe one. */
		be->geo.logical_block = sb->s_bdev ?
					bdev_logical_block_size(sb->s_bdev) :
					RNBD_UNIT_SIZE;
		return 0;
	}
	if (!stat.dio_offset_align || stat.dio_mem_align > PAGE_SIZE) {
		pr_err("export %s: no direct I/O on file %s; set cache to pagecache\n",
		       rnbdt_export_name(export), export->path);
		return -EINVAL;
	}
	be->geo.logical_block = max(stat.dio_offset_align, 512U);
	return 0;
}

static int rnbdt_file_limits(struct rnbdt_export *export,
			     struct rnbdt_backend *be)
{
	struct inode *inode = file_inode(be->file);
	struct rnbd_geometry *geo = &be->geo;
	bool fallocate = be->file->f_op->fallocate;
	int ret;

	geo->capacity = i_size_read(inode);
	geo->logical_block = 512;
	if (be->direct) {
		ret = rnbdt_file_direct_block(export, be);
		if (ret)
			return ret;
	}
	geo->physical_block = max(geo->logical_block,
				  min_t(u32, i_blocksize(inode), RNBD_UNIT_SIZE));
	geo->io_min = geo->physical_block;
	if (fallocate) {
		geo->discard_granularity = i_blocksize(inode);
		geo->max_discard = RNBDT_RANGE_MAX;
		geo->max_write_zeroes = RNBDT_RANGE_MAX;
	}
	return 0;
}

/**
 * rnbdt_file_open - open a file, or a block device through the page cache
 * @export: export with the path
 * @be: backend to fill
 * @is_bdev: the path is a block device
 *
 * Context: process context; may sleep.
 * Return: 0 or a negative errno, which was logged unless vfs_getattr() has failed.
 */
int rnbdt_file_open(struct rnbdt_export *export, struct rnbdt_backend *be,
		    bool is_bdev)
{
	int ret;

	if (is_bdev) {
		ret = rnbdt_bdev_open_file(export, be);
		if (ret)
			return ret;
		rnbdt_bdev_limits(be);
		/*
		 * The kernel punches a hole in a block device by WRITE ZEROES. If the device
		 * does not support this, the call fails only after the page cache has dropped
		 * acknowledged writes.
		 */
		if (!bdev_write_zeroes_sectors(be->bdev))
			be->geo.max_discard = 0;
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
		be->geo.flags |= RNBD_EXPORT_VOLATILE_CACHE | RNBD_EXPORT_FUA;
	rnbdt_wb_open(be);
	be->ops = &rnbdt_file_ops;
	return 0;
}

/**
 * rnbdt_file_init - allocate the mempool of bvecs
 *
 * Context: process context, module init.
 * Return: 0 or -ENOMEM.
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
 *
 * Context: process context, module exit.
 */
void rnbdt_file_exit(void)
{
	mempool_destroy(rnbdt_bvecs);
}
