// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backend of an export: an opened block device or file.
 *
 * Operation: bdev.c and file.c implement the two kinds of backends; struct rnbdt_backend_ops is
 * their interface.
 *
 * Ownership: the export owns the backend. Attachments use it without a reference, because
 * the export closes it only when it has no attachment left (export.c).
 *
 * Errors: if the block device of a backend, or the one below its file, was removed, an I/O error is
 * mapped to RNBD_ST_GONE, which is a path error for the client. For a backend of file.c with
 * write_cache=back, writeback.c replaces this status by RNBD_ST_IO.
 */

#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <rnbd/wire.h>

#include "../core/status.h"
#include "backend.h"

/**
 * rnbdt_backend_size - return the current size of the storage
 * @be: open backend
 *
 * Context: any.
 * Return: bytes, not necessarily whole blocks.
 */
u64 rnbdt_backend_size(const struct rnbdt_backend *be)
{
	return be->bdev ? bdev_nr_bytes(be->bdev) :
			  i_size_read(file_inode(be->file));
}

/**
 * rnbdt_backend_removed - check whether the block device of the storage was removed
 * @be: open backend
 *
 * Checks the capacity of the whole disk: when a disk is removed, the block layer sets this capacity
 * to 0, but not that of the partitions, and file systems report only EIO.
 *
 * Context: any.
 * Return: true if no request can reach the storage until the export is enabled again.
 */
bool rnbdt_backend_removed(const struct rnbdt_backend *be)
{
	struct block_device *bdev = be->bdev ?: file_inode(be->file)->i_sb->s_bdev;

	return READ_ONCE(be->device_removed) || (bdev && !bdev_nr_sectors(bdev_whole(bdev)));
}

/**
 * rnbdt_backend_status - map an error of the storage to a status
 * @be: open backend
 * @error: errno, negative, or 0
 *
 * A request to a removed disk fails with a plain -EIO, so after an error that maps to RNBD_ST_IO
 * the function checks whether the disk was removed.
 *
 * Context: any.
 * Return: enum rnbd_status.
 */
u16 rnbdt_backend_status(const struct rnbdt_backend *be, int error)
{
	u16 status = rnbd_errno_status(error);

	return unlikely(status == RNBD_ST_IO) && rnbdt_backend_removed(be) ? RNBD_ST_GONE : status;
}
