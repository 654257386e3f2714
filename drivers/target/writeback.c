// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back errors: which request has met one.
 *
 * Operation
 *
 * The page cache records that a page could not be written in the mapping of the
 * file, without the range, and regards the page as clean. fsync reports the error
 * once per struct file, to whichever caller comes first. So neither the success nor
 * the failure of an fsync proves anything about the range of one request while
 * others are in flight.
 *
 * rnbdt_wb_start() samples the error of the mapping before a request, and
 * rnbdt_wb_unsure() compares it at the end. If no error was recorded in between, the
 * result of the request is its own. Otherwise a request that failed, or that must be
 * durable, is executed a second time, alone: no other write through the page cache
 * is in flight then, and the error of the second execution is its own.
 *
 * With write_cache=back acknowledged writes may fail later. Any error that was
 * recorded since the export was enabled makes all flushes fail until it is disabled.
 *
 * Ownership
 *
 * The sample belongs to the request, the sample of the flushes to the backend. The
 * error state belongs to the mapping and is only read here, so that other users of
 * the file get their reports.
 *
 * Concurrency
 *
 * be->alone is held shared by writes through the page cache and exclusively by a
 * second execution; file.c takes it. Samples are compared without a lock.
 *
 * Errors
 *
 * A second execution that fails is final. Direct I/O, write-back of other writes with
 * write_cache=back, and programs on the target that write to the same file do not
 * hold be->alone: if such a write-back fails during both executions, the request
 * fails too. A write is never acknowledged if an error was recorded during its last
 * execution.
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

/* fsync must not report errors of the past for the next request. */
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
 * rnbdt_wb_open - begin to watch the write-back of a file
 * @be: backend with an open file
 *
 * Errors of earlier users of the file do not count.
 *
 * Context: process context.
 */
void rnbdt_wb_open(struct rnbdt_backend *be)
{
	errseq_t seen = 0;

	init_rwsem(&be->alone);
	/* The pages of a file on overlayfs belong to another inode. */
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
 * Multipath must not resend over another path what could follow the loss of
 * acknowledged writes here, because a flush would succeed there: with write_cache=back
 * a storage that is gone is not a path error.
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
 * rnbdt_wb_unsure - check whether the result of a request may be that of another
 * @treq: request that was executed
 * @status: its result; changed if the execution was the second one and an error was
 *	recorded during it
 *
 * Context: any.
 * Return: true if the request must be executed again, alone; false if @status is its
 * own.
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
 * A failure is remembered: all later flushes fail until the export is disabled.
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
	/* Another caller may have got the error that fsync reports. */
	if (!ret)
		ret = filemap_check_wb_err(be->mapping, be->opened);
	if (unlikely(ret) && !xchg(&be->lost, true))
		pr_err("%pD: not written back, error %d; flushes fail until its export is disabled and enabled\n",
		       be->file, ret);
	return READ_ONCE(be->lost) ? -EIO : 0;
}
