/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The backend of an export: an opened block device or file. See backend.c.
 */
#ifndef RNBDT_BACKEND_H
#define RNBDT_BACKEND_H

#include <linux/errseq.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/rwsem.h>

#include "../core/geometry.h"
#include "io_work.h"

struct rnbdt_backend;
struct rnbdt_export;
struct rnbdt_req;
struct rnbdt_sched;

/*
 * Maximum bytes of one DISCARD, and of one WRITE_ZEROES to a regular file: both can take seconds
 * and cannot be aborted. For a block device with larger discard granules, the limit of DISCARD is
 * one granule.
 */
#define RNBDT_RANGE_MAX		(64u << 20)

/**
 * struct rnbdt_backend_ops - operations of a kind of backend
 * @atomic: @submit does not sleep when a completion handler calls it
 * @submit: Execute a request, and call rnbdt_req_done() at its end in every case. Called from
 *	a work item of the attachment, which may sleep for as long as the storage takes; if
 *	@atomic is set and the host is in no cgroup, also called from a completion handler. The
 *	backend must call rnbdt_may_submit() directly before each submission to the storage.
 * @close: Close the storage. Called when no request is in flight; may sleep.
 */
struct rnbdt_backend_ops {
	bool atomic;
	void (*submit)(struct rnbdt_req *treq);
	void (*close)(struct rnbdt_backend *be);
};

/**
 * struct rnbdt_backend - an opened block device or file
 * @export: export that owns the backend
 * @ops: operations of this kind of backend
 * @file: opened storage
 * @bdev: block device, or NULL for a regular file
 * @dev: number of the block device, or 0 for a regular file; still valid after ops->close()
 * @inode: inode of the file, only to compare pointers; still valid after ops->close()
 * @readonly: opened for reading only
 * @direct: I/O bypasses the page cache
 * @through: every write is made durable before it is acknowledged
 * @device_removed: the block layer has reported that the block device was removed or got another
 *	medium; from then on requests fail; set once
 * @lost: an acknowledged write could not be written back, or was possibly in the volatile cache
 *	of a device that was removed; set once; all later flushes of a file backend fail
 * @mapping: file backend: the page cache of the file, which records its errors
 * @opened: file backend: error state of @mapping when the file was opened
 * @alone: file backend: held shared by requests that write through the page cache, exclusively
 *	by a request that is executed a second time (writeback.c)
 * @io: work queue that runs the submit work items of attachments. An attachment uses one work item
 *	per queue, or a single one while its host is in a cgroup. The work queue also runs
 *	requests that need their own work item
 * @sched: scheduler in front of the storage; exists from before the first attachment until after
 *	the last attachment
 * @sched_entry: in rnbdt_sched.backends; rnbdt_lock
 * @window: window of the scheduler in requests of 4 KiB, or 0 if the module parameter applies;
 *	rnbdt_lock
 * @geo: properties of the export; the capacity is written under rnbdt_lock and read without a
 *	lock
 *
 * Constant from open to close, except the capacity, @device_removed, @lost and @window. The
 * export owns the backend.
 */
struct rnbdt_backend {
	struct rnbdt_export *export;
	const struct rnbdt_backend_ops *ops;
	struct file *file;
	struct block_device *bdev;
	dev_t dev;
	const struct inode *inode;
	bool readonly;
	bool direct;
	bool through;
	bool device_removed;
	bool lost;
	struct address_space *mapping;
	errseq_t opened;
	struct rw_semaphore alone;
	struct rnbdt_io io;
	struct rnbdt_sched *sched;
	struct list_head sched_entry;
	u32 window;
	struct rnbd_geometry geo;
};

u64 rnbdt_backend_size(const struct rnbdt_backend *be);
bool rnbdt_backend_removed(const struct rnbdt_backend *be);
u16 rnbdt_backend_status(const struct rnbdt_backend *be, int error);

#endif /* RNBDT_BACKEND_H */
