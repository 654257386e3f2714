// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back errors: attribution of errors of the page cache to requests.
 *
 * Operation
 *
 * If the page cache cannot write a page back, it records the error in the mapping of the file,
 * without the range, and regards the page as clean. fsync reports the error once per struct
 * file, to the first caller. So while other requests are in flight, neither success nor failure
 * of an fsync proves anything about the range of one request.
 *
 * rnbdt_wb_start() samples the error state of the mapping before a request, and rnbdt_wb_unsure()
 * compares it after the request. If no error was recorded in between, the result belongs to the
 * request. Otherwise a request that failed, or that must be durable, is executed a second time,
 * alone: no other request of the export that writes through the page cache is in flight then, so
 * the result of the second execution belongs to the request.
 *
 * With write_cache=back, the write-back of an acknowledged write can fail. Any error that was
 * recorded since the export was enabled makes all flushes fail until the export is disabled.
 *
 * Ownership
 *
 * The sample for a request belongs to the request, the sample for flushes to the backend. The
 * error state belongs to the mapping. This file never clears the error state, so that fsync also
 * reports an error to the other programs that have the file open.
 *
 * Concurrency
 *
 * file.c takes the semaphore be->alone: shared for a write through the page cache, exclusively
 * for a second execution. Samples are compared without a lock.
 *
 * Errors
 *
 * The failure of a second execution is final. Direct I/O, write-back of other writes with
 * write_cache=back, and programs on the target that write to the same file do not hold
 * be->alone. If their write-back fails during both executions, the request fails too. A write
 * that must be durable is never acknowledged if an error was recorded during its last execution.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>

#include "../core/inject.h"
#include "backend.h"
#include "inject.h"
#include "queue.h"
#include "session.h"
#include "writeback.h"

/* Mark earlier errors as reported to be->file: fsync must not report them for the next request. */
static void rnbdt_wb_forget(struct rnbdt_backend *be)
{
	struct file *file = be->file;
	int error;

	if (likely(!filemap_check_wb_err(file->f_mapping, READ_ONCE(file->f_wb_err))))
		return;
	error = file_check_and_advance_wb_err(file);
	pr_debug("%pD: write-back failed before, error %d\n", file, error);
}

/**
 * rnbdt_wb_open - start to record write-back errors of a file
 * @be: backend with an open file
 *
 * Errors from before this call are ignored.
 *
 * Context: process context.
 */
void rnbdt_wb_open(struct rnbdt_backend *be)
{
	errseq_t seen = 0;

	init_rwsem(&be->alone);
	/* On overlayfs the pages of a file belong to another inode. */
	be->mapping = be->bdev ? be->file->f_mapping :
				 d_real_inode(be->file->f_path.dentry)->i_mapping;
	rnbdt_wb_forget(be);
	if (be->mapping != be->file->f_mapping)
		errseq_check_and_advance(&be->mapping->wb_err, &seen);
	be->opened = filemap_sample_wb_err(be->mapping);
}

/**
 * rnbdt_wb_start - sample the error state before an execution of a request
 * @treq: request that is about to be executed
 *
 * Context: process context.
 */
void rnbdt_wb_start(struct rnbdt_req *treq)
{
	struct rnbdt_backend *be = treq->att->backend;

	rnbdt_wb_forget(be);
	treq->since = filemap_sample_wb_err(be->mapping);
}

/**
 * rnbdt_wb_status - map an error of a file or of its write-back to a status
 * @be: backend
 * @error: negative errno, or 0
 *
 * With write_cache=back, the removal of the storage device is reported as an I/O error and not as a
 * path error, because acknowledged writes can be lost with the device. After a path error,
 * multipath would send a flush on another path, where the flush would succeed in spite of the loss.
 *
 * Context: any.
 * Return: enum rnbd_status.
 */
u16 rnbdt_wb_status(const struct rnbdt_backend *be, int error)
{
	u16 status = rnbdt_backend_status(be, error);

	return unlikely(status == RNBD_ST_GONE) && !be->through ? RNBD_ST_IO : status;
}

/**
 * rnbdt_wb_unsure - check whether a result can be due to the error of another request
 * @treq: request that was executed
 * @status: result of the request; the success of a request that must be durable becomes an error if
 *	a write-back error was recorded during its second execution
 *
 * Context: any.
 * Return: true if the request must be executed again, alone; false if @status is final.
 */
bool rnbdt_wb_unsure(struct rnbdt_req *treq, u16 *status)
{
	struct rnbdt_backend *be = treq->att->backend;
	int error;

	error = filemap_check_wb_err(be->mapping, treq->since);
	if (likely(!error) || treq->stale)
		return false;
	if (*status == RNBD_ST_OK && !treq->durable)
		return false;
	if (rnbd_inject(&rnbdt_inject_no_wb_check, NULL))
		return false;
	if (!treq->alone)
		return true;
	if (*status == RNBD_ST_OK)
		*status = rnbdt_wb_status(be, error);
	return false;
}

/**
 * rnbdt_wb_flush - make all acknowledged writes durable
 * @be: backend
 *
 * After a failure with write_cache=back, all flushes fail until the export is disabled.
 *
 * Context: process context; may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdt_wb_flush(struct rnbdt_backend *be)
{
	int ret;

	if (unlikely(READ_ONCE(be->lost)))
		return -EIO;
	ret = vfs_fsync_range(be->file, 0, LLONG_MAX, 1);
	if (be->through)
		return ret;
	/* fsync reports an error once per struct file: an earlier caller can have got it. */
	if (!ret)
		ret = filemap_check_wb_err(be->mapping, be->opened);
	if (unlikely(ret) && !xchg(&be->lost, true))
		pr_err("%pD: not written back, error %d; flushes fail until its export is disabled and enabled\n",
		       be->file, ret);
	return READ_ONCE(be->lost) ? -EIO : 0;
}
