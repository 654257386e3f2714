// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backend of an export: an opened block device or file.
 *
 * bdev.c and file.c implement the two kinds of backends; struct rnbdt_backend_ops
 * is their interface. The export owns the backend. Sessions use it without a
 * reference: disabling the export waits for them (export.c).
 */

#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>

#include "backend.h"

/**
 * rnbdt_backend_size - return the present size of the storage
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
