// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backend: a block device, with bios straight on the pool.
 *
 * Operation
 *
 * A READ or WRITE becomes one bio whose pages are the pool pages that the
 * client named, or several if one cannot hold them. Nothing is copied, unless
 * the device needs data that does not change while it is written (RAID 5,
 * checksums): a client can write to its pool at any time, so for such a device
 * WRITE data are copied first to pages that only the target knows.
 *
 * Ownership
 *
 * The device is opened exclusively, with the export as the holder, so a device
 * that is mounted, or part of something else, or exported already is refused.
 * Pool pages stay until the teardown of the session has waited for all its
 * requests; a bio takes no reference.
 *
 * Concurrency
 *
 * Submission in a work item, completion in any context. The parts of a request
 * are counted in treq->parts.
 *
 * All memory comes from reserves: the bio set, and for copies a pool of pages.
 * The copies of a session are never more than its pool. Nobody waits for a
 * reserve while holding back something of it that has not been submitted: a bio
 * that cannot get one more page is sent as it is.
 *
 * Errors
 *
 * The first error of the parts is the result. A session that is not live any
 * more, or whose epoch is old, ends its requests here without touching the
 * device.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "target.h"

#define RNBDT_COPY_RESERVE	64

static struct bio_set rnbdt_bio_cache;	/* quick */
static struct bio_set rnbdt_bioset;	/* never empty for long */
static mempool_t rnbdt_copy_pages;

static void rnbdt_bdev_end_io(struct bio *bio)
{
	struct rnbd_treq *treq = bio->bi_private;
	int error = blk_status_to_errno(bio->bi_status);

	bio_put(bio);
	rnbdt_treq_part_done(treq, error);
}

static void rnbdt_bdev_end_copy(struct bio *bio)
{
	struct bvec_iter_all iter;
	struct rnbd_treq *treq = bio->bi_private;
	struct bio_vec *bv;

	/* One vector per page: they are added without merging. */
	atomic_sub(bio->bi_vcnt, &treq->queue->session->copied);
	bio_for_each_segment_all(bv, bio, iter)
		mempool_free(bv->bv_page, &rnbdt_copy_pages);
	rnbdt_bdev_end_io(bio);
}

static void rnbdt_bdev_send(struct rnbd_treq *treq, struct bio *bio)
{
	if (likely(rnbdt_may_submit(treq)))
		submit_bio(bio);
	else
		bio_io_error(bio);
}

static struct bio *rnbdt_bdev_bio(struct rnbd_treq *treq, u32 vecs,
				  blk_opf_t opf, u64 offset, bio_end_io_t *end_io)
{
	struct rnbd_tbackend *be = treq->queue->session->backend;
	struct bio *bio;

	/* The cache keeps what it was given: the reserve must not end up there. */
	bio = bio_alloc_bioset(be->bdev, bio_max_segs(vecs), opf | REQ_ALLOC_CACHE,
			       GFP_NOWAIT | __GFP_NOWARN, &rnbdt_bio_cache);
	if (unlikely(!bio))
		bio = bio_alloc_bioset(be->bdev, bio_max_segs(vecs), opf, GFP_NOIO,
				       &rnbdt_bioset);
	bio->bi_iter.bi_sector = offset >> SECTOR_SHIFT;
	bio->bi_private = treq;
	bio->bi_end_io = end_io;
	atomic_inc(&treq->parts);
	return bio;
}

static blk_opf_t rnbdt_bdev_opf(const struct rnbd_treq *treq)
{
	blk_opf_t opf = REQ_OP_READ;

	if (treq->req.op == RNBD_OP_WRITE) {
		opf = REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
		if (treq->req.flags & RNBD_REQ_FUA ||
		    treq->queue->session->backend->through)
			opf |= REQ_FUA;
	}
	return opf;
}

static void rnbdt_bdev_rw(struct rnbd_treq *treq)
{
	u32 pieces = rnbdt_piece_count(treq);
	blk_opf_t opf = rnbdt_bdev_opf(treq);
	u64 offset = treq->req.offset;
	struct rnbdt_piece it;
	struct bio *bio;
	struct page *page;
	u32 bytes;

	rnbdt_treq_start_parts(treq);
	bio = rnbdt_bdev_bio(treq, pieces, opf, offset, rnbdt_bdev_end_io);
	rnbdt_piece_start(&it, treq);
	for (; (bytes = rnbdt_piece_next(&it, &page)); pieces--) {
		if (bio_add_page(bio, page, bytes, 0) != bytes) {
			rnbdt_bdev_send(treq, bio);
			bio = rnbdt_bdev_bio(treq, pieces, opf, offset,
					     rnbdt_bdev_end_io);
			__bio_add_page(bio, page, bytes, 0);
		}
		offset += bytes;
	}
	rnbdt_bdev_send(treq, bio);
	rnbdt_treq_part_done(treq, 0);
}

/*
 * WRITE to a device that needs stable data. As long as extents in flight do not
 * overlap there is no more to copy than the pool has; somebody who lets many
 * requests name the same extents gets no more memory for that.
 */
static void rnbdt_bdev_copy_write(struct rnbd_treq *treq)
{
	struct rnbd_tsession *s = treq->queue->session;
	u32 pages = DIV_ROUND_UP(treq->req.length, PAGE_SIZE);
	blk_opf_t opf = rnbdt_bdev_opf(treq);
	u64 offset = treq->req.offset;
	u32 left = treq->req.length;
	struct bio *bio = NULL;
	struct rnbdt_piece it;
	struct page *page;
	u32 bytes;

	if (unlikely(atomic_add_return(pages, &s->copied) >
		     s->pool_bytes >> PAGE_SHIFT)) {
		atomic_sub(pages, &s->copied);
		rnbdt_treq_done(treq, RNBD_ST_NOMEM);
		return;
	}
	rnbdt_treq_start_parts(treq);
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
	rnbdt_treq_part_done(treq, 0);
}

static void rnbdt_bdev_flush(struct rnbd_treq *treq)
{
	struct block_device *bdev = treq->queue->session->backend->bdev;
	struct bio *bio;

	if (!bdev_write_cache(bdev)) {
		rnbdt_treq_done(treq, RNBD_ST_OK);
		return;
	}
	rnbdt_treq_start_parts(treq);
	bio = rnbdt_bdev_bio(treq, 0, REQ_OP_WRITE | REQ_PREFLUSH, 0,
			     rnbdt_bdev_end_io);
	rnbdt_bdev_send(treq, bio);
	rnbdt_treq_part_done(treq, 0);
}

static void rnbdt_bdev_flush_work(struct work_struct *work)
{
	rnbdt_bdev_flush(container_of(work, struct rnbd_treq, work));
}

/* The zeroes are written; now they have to be durable before the reply. */
static void rnbdt_bdev_end_zeroes_fua(struct bio *bio)
{
	struct rnbd_treq *treq = bio->bi_private;
	int error = blk_status_to_errno(bio->bi_status);

	bio_put(bio);
	if (error) {
		rnbdt_treq_done(treq, rnbdt_errno_status(error));
		return;
	}
	INIT_WORK(&treq->work, rnbdt_bdev_flush_work);
	queue_work(treq->queue->session->backend->io_wq, &treq->work);
}

/*
 * DISCARD and WRITE_ZEROES: the block layer makes a chain of bios and submits
 * all of it but the last one.
 */
static void rnbdt_bdev_range(struct rnbd_treq *treq)
{
	struct rnbd_tsession *s = treq->queue->session;
	struct block_device *bdev = s->backend->bdev;
	sector_t sector = treq->req.offset >> SECTOR_SHIFT;
	sector_t nr = treq->req.length >> SECTOR_SHIFT;
	bio_end_io_t *end_io = rnbdt_bdev_end_io;
	struct bio *bio = NULL;
	int ret;

	rnbdt_treq_start_parts(treq);
	if (unlikely(!rnbdt_may_submit(treq))) {
		rnbdt_treq_part_done(treq, -EIO);
		return;
	}
	if (treq->req.op == RNBD_OP_DISCARD) {
		ret = __blkdev_issue_discard(bdev, sector, nr, GFP_NOIO, &bio);
	} else {
		ret = __blkdev_issue_zeroout(bdev, sector, nr, GFP_NOIO, &bio,
					     treq->req.flags & RNBD_REQ_NOUNMAP ?
					     BLKDEV_ZERO_NOUNMAP : 0);
		if ((treq->req.flags & RNBD_REQ_FUA || s->backend->through) &&
		    bdev_write_cache(bdev))
			end_io = rnbdt_bdev_end_zeroes_fua;
	}
	if (!bio) {
		rnbdt_treq_part_done(treq, ret);
		return;
	}
	/* The part that was held for the making becomes the bio's. */
	bio->bi_private = treq;
	bio->bi_end_io = end_io;
	rnbdt_bdev_send(treq, bio);
}

static void rnbdt_bdev_submit(struct rnbd_treq *treq)
{
	struct rnbd_tbackend *be = treq->queue->session->backend;
	const struct rnbd_request *req = &treq->req;

	/* The device may have shrunk unseen. */
	if (unlikely(req->offset + req->length > bdev_nr_bytes(be->bdev))) {
		rnbdt_treq_done(treq, RNBD_ST_RANGE);
		return;
	}
	switch (req->op) {
	case RNBD_OP_WRITE:
		/* This can change while it is open. */
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
		rnbdt_treq_done(treq, RNBD_ST_NOTSUPP);
		break;
	}
}

static void rnbdt_bdev_close(struct rnbd_tbackend *be)
{
	bdev_fput(be->file);
}

static const struct rnbd_tbackend_ops rnbdt_bdev_ops = {
	.submit	= rnbdt_bdev_submit,
	.close	= rnbdt_bdev_close,
};

/* Bytes of a limit that the block layer counts in sectors. */
static u32 rnbdt_bdev_bytes(u32 sectors, u32 limit)
{
	return min_t(u64, (u64)sectors << SECTOR_SHIFT, limit);
}

/**
 * rnbdt_bdev_open_file - open a block device exclusively
 * @export: export
 * @be: its backend; file and bdev are set
 *
 * Return: 0 or an error, which has been logged.
 */
int rnbdt_bdev_open_file(struct rnbd_texport *export, struct rnbd_tbackend *be)
{
	blk_mode_t mode = BLK_OPEN_READ;
	struct file *file;

	if (!be->readonly)
		mode |= BLK_OPEN_WRITE;
	file = bdev_file_open_by_path(export->path, mode, export, NULL);
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
 * rnbdt_bdev_limits - take the properties of the block device over
 * @be: backend with an open block device
 */
void rnbdt_bdev_limits(struct rnbd_tbackend *be)
{
	struct block_device *bdev = be->bdev;
	u32 zeroes = bdev_write_zeroes_sectors(bdev);

	be->capacity = bdev_nr_bytes(bdev);
	be->logical_block = bdev_logical_block_size(bdev);
	be->physical_block = bdev_physical_block_size(bdev);
	be->io_min = bdev_io_min(bdev);
	be->io_opt = bdev_io_opt(bdev);
	if (!bdev_nonrot(bdev))
		be->flags |= RNBD_EXPORT_ROTATIONAL;
	if (bdev_max_discard_sectors(bdev)) {
		be->discard_granularity = bdev_discard_granularity(bdev);
		be->discard_alignment = bdev_discard_alignment(bdev);
		be->max_discard = rnbdt_bdev_bytes(bdev_max_discard_sectors(bdev),
						   1U << 31);
	}
	/* Zeroes that have to be written out at least do not cross the wire. */
	be->max_write_zeroes = zeroes ? rnbdt_bdev_bytes(zeroes, 1U << 31) :
					RNBDT_ZERO_OUT_MAX;
}

/**
 * rnbdt_bdev_open - open a block device for bios
 * @export: export
 * @be: its backend, to be filled
 *
 * Return: 0 or an error, which has been logged.
 */
int rnbdt_bdev_open(struct rnbd_texport *export, struct rnbd_tbackend *be)
{
	int ret;

	ret = rnbdt_bdev_open_file(export, be);
	if (ret)
		return ret;
	rnbdt_bdev_limits(be);
	if (bdev_write_cache(be->bdev) && !be->through)
		be->flags |= RNBD_EXPORT_VOLATILE_CACHE | RNBD_EXPORT_FUA;
	be->ops = &rnbdt_bdev_ops;
	return 0;
}

/**
 * rnbdt_bdev_init - make the reserves
 *
 * Return: 0 or an error.
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
 */
void rnbdt_bdev_exit(void)
{
	mempool_exit(&rnbdt_copy_pages);
	bioset_exit(&rnbdt_bio_cache);
	bioset_exit(&rnbdt_bioset);
}
