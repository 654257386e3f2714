// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backend: a block device, with bios on the pages of the pool.
 *
 * Operation
 *
 * A READ or WRITE becomes one bio with the pool pages that the client named, or several bios
 * if one bio cannot hold all pages. Data are copied only if the device needs data that do not
 * change during a write (RAID 5, checksums). A client can write to its pool at any time, so for
 * such a device the data of a WRITE are first copied to pages that only the target can access.
 *
 * If the host is in a cgroup, its bios are charged to that cgroup (blkcg.c).
 *
 * Ownership
 *
 * The device is opened exclusively, with the backend as the holder: a device that is mounted, that
 * another device (such as a RAID) uses, or that is already exported is refused. A bio takes no
 * reference on pool pages; the teardown of a session frees them only after all requests of the
 * session have ended.
 *
 * Concurrency
 *
 * A work item submits requests, which complete in any context. treq->parts counts the bios of
 * a request. All memory is backed by reserves: the bio sets and, for copies, a pool of pages. The
 * copies of a session never exceed the size of its pool, and are charged to its host. A submitter
 * that holds unsubmitted memory of a reserve does not wait for that reserve: if a further page
 * is not available, it first submits the bio that it has.
 *
 * Errors
 *
 * The first error of the parts is the result of the request. A request that rnbdt_may_submit()
 * refuses ends without access to the device. When the device is removed, the block layer notifies
 * the holder, and requests end with RNBD_ST_GONE. Some devices announce WRITE ZEROES but refuse the
 * command; then the target writes zeroes as data.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mempool.h>
#include <linux/workqueue.h>

#include "../compat/block.h"
#include "../core/geometry.h"
#include "../core/inject.h"
#include "../core/io.h"
#include "../core/op.h"
#include "backend.h"
#include "bdev.h"
#include "blkcg.h"
#include "epoch.h"
#include "graph.h"
#include "inject.h"
#include "pool.h"
#include "queue.h"
#include "queue_budget.h"
#include "reply.h"
#include "session.h"

#define RNBDT_COPY_RESERVE	64

static struct bio_set rnbdt_bio_cache;	/* per-CPU cache, tried first */
static struct bio_set rnbdt_bioset;	/* reserve: guarantees progress */
static mempool_t rnbdt_copy_pages;

static void rnbdt_bdev_end_io(struct bio *bio)
{
	struct rnbdt_req *treq = bio->bi_private;
	int error = blk_status_to_errno(bio->bi_status);

	bio_put(bio);
	rnbdt_req_part_done(treq, error);
}

static void rnbdt_bdev_end_copy(struct bio *bio)
{
	struct bvec_iter_all iter;
	struct rnbdt_req *treq = bio->bi_private;
	struct rnbdt_session *s = treq->queue->session;
	struct bio_vec *bv;

	/* The number of vectors is the number of pages, as pages are added without merging. */
	atomic_sub(bio->bi_vcnt, &s->account.copied);
	rnbdt_queue_budget_give_io(s, bio->bi_vcnt << PAGE_SHIFT);
	bio_for_each_segment_all(bv, bio, iter)
		mempool_free(bv->bv_page, &rnbdt_copy_pages);
	rnbdt_bdev_end_io(bio);
}

static void rnbdt_bdev_send(struct rnbdt_req *treq, struct bio *bio)
{
	if (likely(rnbdt_may_submit(treq)))
		submit_bio(bio);
	else
		bio_io_error(bio);
}

static struct bio *rnbdt_bdev_bio(struct rnbdt_req *treq, u32 vecs,
				  blk_opf_t opf, u64 offset, bio_end_io_t *end_io)
{
	struct rnbdt_backend *be = treq->att->backend;
	struct bio *bio;

	/* Freed bios stay in a per-CPU cache of their set, so the reserve is another set. */
	bio = bio_alloc_bioset(be->bdev, bio_max_segs(vecs), opf | REQ_ALLOC_CACHE,
			       GFP_NOWAIT | __GFP_NOWARN, &rnbdt_bio_cache);
	if (unlikely(!bio))
		bio = bio_alloc_bioset(be->bdev, bio_max_segs(vecs), opf, GFP_NOIO,
				       &rnbdt_bioset);
	if (unlikely(READ_ONCE(treq->att->in_cgroup)))
		rnbdt_blkcg_bio(&treq->queue->session->host->blkcg, bio);
	bio->bi_iter.bi_sector = offset >> SECTOR_SHIFT;
	bio->bi_private = treq;
	bio->bi_end_io = end_io;
	atomic_inc(&treq->parts);
	return bio;
}

static blk_opf_t rnbdt_bdev_opf(const struct rnbdt_req *treq)
{
	blk_opf_t opf = REQ_OP_READ;

	if (rnbd_ops[treq->req.op].modifies) {
		opf = REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
		if (treq->req.flags & RNBD_REQ_FUA ||
		    treq->att->backend->through)
			opf |= REQ_FUA;
	}
	return opf;
}

static void rnbdt_bdev_rw(struct rnbdt_req *treq)
{
	u32 pieces = rnbdt_piece_count(treq);
	blk_opf_t opf = rnbdt_bdev_opf(treq);
	u64 offset = treq->req.offset;
	struct rnbdt_piece it;
	struct bio *bio;
	struct page *page;
	u32 bytes;

	rnbdt_req_start_parts(treq);
	bio = rnbdt_bdev_bio(treq, pieces, opf, offset, rnbdt_bdev_end_io);
	rnbdt_piece_start(&it, treq);
	for (; it.left; pieces--) {
		bytes = rnbdt_piece_next(&it, &page);
		if (bio_add_page(bio, page, bytes, 0) != bytes) {
			rnbdt_bdev_send(treq, bio);
			bio = rnbdt_bdev_bio(treq, pieces, opf, offset,
					     rnbdt_bdev_end_io);
			__bio_add_page(bio, page, bytes, 0);
		}
		offset += bytes;
	}
	rnbdt_bdev_send(treq, bio);
	rnbdt_req_part_done(treq, 0);
}

/*
 * Execute a WRITE on a device that needs stable pages. The copies of all requests of a session are
 * limited to the size of its pool; a WRITE beyond this limit fails with RNBD_ST_NOMEM. The limit
 * suffices unless the extents of requests overlap.
 */
static void rnbdt_bdev_copy_write(struct rnbdt_req *treq)
{
	struct rnbdt_session *s = treq->queue->session;
	u32 pages = DIV_ROUND_UP(treq->req.length, PAGE_SIZE);
	blk_opf_t opf = rnbdt_bdev_opf(treq);
	u64 offset = treq->req.offset;
	u32 left = treq->req.length;
	struct bio *bio = NULL;
	struct rnbdt_piece it;
	struct page *page;
	u32 bytes;

	if (unlikely(atomic_add_return(pages, &s->account.copied) >
		     READ_ONCE(s->account.pool_bytes) >> PAGE_SHIFT ||
		     !rnbdt_queue_budget_take_io(s, pages << PAGE_SHIFT))) {
		atomic_sub(pages, &s->account.copied);
		rnbdt_req_done(treq, RNBD_ST_NOMEM);
		return;
	}
	rnbdt_req_start_parts(treq);
	rnbdt_piece_start(&it, treq);
	while ((bytes = rnbdt_piece_next(&it, &page))) {
		while (bytes) {
			u32 len = min_t(u32, bytes, PAGE_SIZE);
			struct page *copy = NULL;

			if (bio && bio->bi_vcnt < bio->bi_max_vecs)
				copy = mempool_alloc(&rnbdt_copy_pages,
						     GFP_NOWAIT | __GFP_NOWARN);
			if (!copy) {
				if (bio)
					rnbdt_bdev_send(treq, bio);
				bio = rnbdt_bdev_bio(treq,
						     DIV_ROUND_UP(left, PAGE_SIZE),
						     opf, offset,
						     rnbdt_bdev_end_copy);
				copy = mempool_alloc(&rnbdt_copy_pages, GFP_NOIO);
			}
			memcpy_page(copy, 0, page, 0, len);
			__bio_add_page(bio, copy, len, 0);
			page++;
			bytes -= len;
			left -= len;
			offset += len;
		}
	}
	rnbdt_bdev_send(treq, bio);
	rnbdt_req_part_done(treq, 0);
}

static void rnbdt_bdev_flush(struct rnbdt_req *treq)
{
	struct block_device *bdev = treq->att->backend->bdev;
	struct bio *bio;

	if (!bdev_write_cache(bdev)) {
		rnbdt_req_done(treq, RNBD_ST_OK);
		return;
	}
	rnbdt_req_start_parts(treq);
	bio = rnbdt_bdev_bio(treq, 0, REQ_OP_WRITE | REQ_PREFLUSH, 0,
			     rnbdt_bdev_end_io);
	rnbdt_bdev_send(treq, bio);
	rnbdt_req_part_done(treq, 0);
}

static void rnbdt_bdev_flush_work(struct work_struct *work)
{
	struct rnbdt_req *treq = container_of(work, struct rnbdt_req, work.work);
	struct rnbdt_io *io = &treq->att->backend->io;

	/* This can complete the request, so do not use @treq after the call. */
	rnbdt_bdev_flush(treq);
	rnbdt_io_end(io);
}

/* Write zeroes as data. All vectors name the zero page; their number limits the length of a bio. */
static void rnbdt_bdev_zero_pages(struct rnbdt_req *treq)
{
	blk_opf_t opf = rnbdt_bdev_opf(treq);
	u64 offset = treq->req.offset;
	u32 left = treq->req.length;

	rnbdt_req_start_parts(treq);
	while (left) {
		struct bio *bio = rnbdt_bdev_bio(treq, DIV_ROUND_UP(left, PAGE_SIZE), opf,
						 offset, rnbdt_bdev_end_io);

		while (left && bio->bi_vcnt < bio->bi_max_vecs) {
			u32 len = min_t(u32, left, PAGE_SIZE);

			__bio_add_page(bio, ZERO_PAGE(0), len, 0);
			left -= len;
			offset += len;
		}
		rnbdt_bdev_send(treq, bio);
		cond_resched();
	}
	rnbdt_req_part_done(treq, 0);
}

static void rnbdt_bdev_zero_pages_work(struct work_struct *work)
{
	struct rnbdt_req *treq = container_of(work, struct rnbdt_req, work.work);
	struct rnbdt_io *io = &treq->att->backend->io;

	/* This can complete the request, so do not use @treq after the call. */
	rnbdt_bdev_zero_pages(treq);
	rnbdt_io_end(io);
}

/*
 * Handle the end of a WRITE ZEROES command. If the device has refused the command, write zeroes as
 * data: after a permanent refusal the device's limit of WRITE ZEROES is 0, and the error can have
 * any value. If a successful command must be durable, flush the cache of the device.
 */
static void rnbdt_bdev_end_zeroes(struct bio *bio)
{
	struct rnbdt_req *treq = bio->bi_private;
	struct rnbdt_backend *be = treq->att->backend;
	int error = blk_status_to_errno(bio->bi_status);

	bio_put(bio);
	if (unlikely(error) && !treq->stale &&
	    (error == -EOPNOTSUPP || !bdev_write_zeroes_sectors(be->bdev))) {
		INIT_WORK(&treq->work.work, rnbdt_bdev_zero_pages_work);
		rnbdt_io_queue(&be->io, &treq->work);
	} else if (!error && (treq->req.flags & RNBD_REQ_FUA || be->through) &&
		   bdev_write_cache(be->bdev)) {
		INIT_WORK(&treq->work.work, rnbdt_bdev_flush_work);
		rnbdt_io_queue(&be->io, &treq->work);
	} else {
		rnbdt_req_part_done(treq, error);
	}
}

/*
 * Execute DISCARD or WRITE_ZEROES. The block layer builds a chain of bios and submits all of
 * them except the last.
 */
static void rnbdt_bdev_range(struct rnbdt_req *treq)
{
	struct block_device *bdev = treq->att->backend->bdev;
	bool zero = treq->req.op == RNBD_OP_WRITE_ZEROES;
	sector_t sector = treq->req.offset >> SECTOR_SHIFT;
	sector_t nr = treq->req.length >> SECTOR_SHIFT;
	bool in_cgroup = READ_ONCE(treq->att->in_cgroup);
	struct bio *bio = NULL;
	int ret = 0;

	rnbdt_req_start_parts(treq);
	if (unlikely(!rnbdt_may_submit(treq))) {
		rnbdt_req_part_done(treq, -EIO);
		return;
	}
	if (unlikely(in_cgroup))
		rnbdt_blkcg_enter(&treq->queue->session->host->blkcg);
	if (zero)
		ret = __blkdev_issue_zeroout(bdev, sector, nr, GFP_NOIO, &bio,
					     BLKDEV_ZERO_NOFALLBACK |
					     (treq->req.flags & RNBD_REQ_NOUNMAP ?
					      BLKDEV_ZERO_NOUNMAP : 0));
	else
		__blkdev_issue_discard(bdev, sector, nr, GFP_NOIO, &bio);
	if (unlikely(in_cgroup))
		rnbdt_blkcg_leave();
	if (!bio) {
		if (zero && ret == -EOPNOTSUPP)
			rnbdt_bdev_zero_pages(treq);
		else
			rnbdt_req_part_done(treq, ret);
		return;
	}
	/* The end of this bio counts as the part that rnbdt_req_start_parts() has added. */
	bio->bi_private = treq;
	bio->bi_end_io = zero ? rnbdt_bdev_end_zeroes : rnbdt_bdev_end_io;
	rnbdt_bdev_send(treq, bio);
}

/* Refuse a request that a change of the device since the ATTACH has made impossible. */
static u16 rnbdt_bdev_check(const struct rnbdt_backend *be, const struct rnbd_request *req)
{
	if (unlikely(READ_ONCE(be->device_removed)))
		return RNBD_ST_GONE;
	if (unlikely(req->offset + req->length > bdev_nr_bytes(be->bdev)))
		return rnbdt_backend_removed(be) ? RNBD_ST_GONE : RNBD_ST_RANGE;
	if (unlikely(rnbd_ops[req->op].modifies && bdev_read_only(be->bdev)))
		return RNBD_ST_READONLY;
	return RNBD_ST_OK;
}

static void rnbdt_bdev_submit(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;
	const struct rnbd_request *req = &treq->req;
	u16 status = rnbdt_bdev_check(be, req);

	if (unlikely(status)) {
		rnbdt_req_done(treq, status);
		return;
	}
	switch (req->op) {
	case RNBD_OP_WRITE:
		/* The device can begin or cease to need stable pages while it is open. */
		if (unlikely(bdev_stable_writes(be->bdev)) &&
		    !rnbd_inject(&rnbdt_inject_no_copy, NULL)) {
			rnbdt_bdev_copy_write(treq);
			break;
		}
		fallthrough;
	case RNBD_OP_READ:
		rnbdt_bdev_rw(treq);
		break;
	case RNBD_OP_FLUSH:
		rnbdt_bdev_flush(treq);
		break;
	case RNBD_OP_DISCARD:
	case RNBD_OP_WRITE_ZEROES:
		rnbdt_bdev_range(treq);
		break;
	default:
		rnbdt_req_done(treq, RNBD_ST_NOTSUPP);
		break;
	}
}

/**
 * rnbdt_bdev_close_file - close a block device
 * @file: file that rnbdt_bdev_open_file() has opened, without other users
 *
 * bdev_fput() alone, called in a kernel thread, closes the device later, so the device would
 * still be busy after the export was disabled.
 *
 * Context: process context, may sleep.
 */
void rnbdt_bdev_close_file(struct file *file)
{
	get_file(file);
	bdev_fput(file);
	__fput_sync(file);
}

static void rnbdt_bdev_close(struct rnbdt_backend *be)
{
	/* A removed device has possibly lost acknowledged writes that were in its cache. */
	if (be->geo.flags & RNBD_EXPORT_VOLATILE_CACHE && rnbdt_backend_removed(be))
		be->lost = true;
	rnbdt_bdev_close_file(be->file);
}

static const struct rnbdt_backend_ops rnbdt_bdev_ops = {
	.submit	= rnbdt_bdev_submit,
	.close	= rnbdt_bdev_close,
};

/* Convert a limit of the block layer from sectors to bytes, and reduce it to at most @limit. */
static u32 rnbdt_bdev_bytes(u32 sectors, u32 limit)
{
	return min_t(u64, (u64)sectors << SECTOR_SHIFT, limit);
}

/*
 * Called when the device is being removed, or its medium was changed. The backend exists while
 * bd_holder_lock is held.
 */
static void rnbdt_bdev_mark_dead(struct block_device *bdev, bool surprise)
{
	struct rnbdt_backend *be = bdev->bd_holder;

	WRITE_ONCE(be->device_removed, true);
	pr_err("export %s: its device %pg is gone, requests fail; disable the export, and enable it when the device is back\n",
	       rnbdt_export_name(be->export), bdev);
	mutex_unlock(&bdev->bd_holder_lock);
	/* Sync the device here: the block layer does so only for holders without this callback. */
	sync_blockdev(bdev);
}

static const struct blk_holder_ops rnbdt_holder_ops = {
	.mark_dead	= rnbdt_bdev_mark_dead,
};

/**
 * rnbdt_bdev_open_file - open a block device exclusively
 * @export: export with the path
 * @be: backend; the function sets file and bdev
 *
 * Context: process context; may sleep.
 * Return: 0 or a negative errno, which was logged; -EBUSY if the device is in use,
 * -EINVAL if it is zoned.
 */
int rnbdt_bdev_open_file(struct rnbdt_export *export, struct rnbdt_backend *be)
{
	blk_mode_t mode = BLK_OPEN_READ;
	struct file *file;

	if (!be->readonly)
		mode |= BLK_OPEN_WRITE;
	file = bdev_file_open_by_path(export->path, mode, be, &rnbdt_holder_ops);
	if (IS_ERR(file)) {
		int ret = PTR_ERR(file);

		pr_err("export %s: device %s: %s (error %d)\n",
		       rnbdt_export_name(export), export->path,
		       ret == -EBUSY ? "in use, perhaps mounted or by another export" :
		       ret == -EACCES ? "read-only; set readonly to 1" :
		       "cannot be opened", ret);
		return ret;
	}
	if (bdev_is_zoned(file_bdev(file))) {
		pr_err("export %s: zoned device %s is not supported\n",
		       rnbdt_export_name(export), export->path);
		bdev_fput(file);
		return -EINVAL;
	}
	be->file = file;
	be->bdev = file_bdev(file);
	return 0;
}

/**
 * rnbdt_bdev_limits - copy the properties of the block device to the backend
 * @be: backend with an open block device
 *
 * Context: any.
 */
void rnbdt_bdev_limits(struct rnbdt_backend *be)
{
	struct block_device *bdev = be->bdev;
	struct rnbd_geometry *geo = &be->geo;

	geo->capacity = bdev_nr_bytes(bdev);
	geo->logical_block = bdev_logical_block_size(bdev);
	geo->physical_block = bdev_physical_block_size(bdev);
	geo->io_min = bdev_io_min(bdev);
	geo->io_opt = bdev_io_opt(bdev);
	if (bdev_rot(bdev))
		geo->flags |= RNBD_EXPORT_ROTATIONAL;
	if (bdev_max_discard_sectors(bdev)) {
		geo->discard_granularity = bdev_discard_granularity(bdev);
		geo->discard_alignment = bdev_discard_alignment(bdev);
		/* The protocol requires a limit of at least a granule and a physical block. */
		geo->max_discard = rnbdt_bdev_bytes(bdev_max_discard_sectors(bdev),
						    max3(RNBDT_RANGE_MAX,
							 geo->discard_granularity,
							 geo->physical_block));
	}
	/*
	 * Offer WRITE_ZEROES for every device: if a device refuses the command, the target writes
	 * zeroes as data. The offer must not change when a device begins to refuse.
	 */
	geo->max_write_zeroes = RNBDT_ZERO_OUT_MAX;
}

/**
 * rnbdt_bdev_open - open a block device for bios
 * @export: export with the path
 * @be: backend to fill
 *
 * Context: process context; may sleep.
 * Return: 0 or a negative errno, which was logged.
 */
int rnbdt_bdev_open(struct rnbdt_export *export, struct rnbdt_backend *be)
{
	int ret;

	ret = rnbdt_bdev_open_file(export, be);
	if (ret)
		return ret;
	rnbdt_bdev_limits(be);
	if (bdev_write_cache(be->bdev) && !be->through)
		be->geo.flags |= RNBD_EXPORT_VOLATILE_CACHE | RNBD_EXPORT_FUA;
	be->ops = &rnbdt_bdev_ops;
	return 0;
}

/**
 * rnbdt_bdev_init - allocate the bio sets and the reserve of pages
 *
 * Context: process context, module init.
 * Return: 0 or a negative errno.
 */
int rnbdt_bdev_init(void)
{
	int ret;

	ret = bioset_init(&rnbdt_bioset, BIO_POOL_SIZE, 0, BIOSET_NEED_BVECS);
	if (ret)
		return ret;
	ret = bioset_init(&rnbdt_bio_cache, BIO_POOL_SIZE, 0,
			  BIOSET_NEED_BVECS | BIOSET_PERCPU_CACHE);
	if (ret)
		goto exit_bioset;
	ret = mempool_init_page_pool(&rnbdt_copy_pages, RNBDT_COPY_RESERVE, 0);
	if (ret)
		goto exit_cache;
	return 0;

exit_cache:
	bioset_exit(&rnbdt_bio_cache);
exit_bioset:
	bioset_exit(&rnbdt_bioset);
	return ret;
}

/**
 * rnbdt_bdev_exit - undo rnbdt_bdev_init()
 *
 * Context: process context, module exit.
 */
void rnbdt_bdev_exit(void)
{
	mempool_exit(&rnbdt_copy_pages);
	bioset_exit(&rnbdt_bio_cache);
	bioset_exit(&rnbdt_bioset);
}
