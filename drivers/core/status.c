// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error classes: the errno of the storage, the status of a reply and the errno of the disk.
 *
 * Operation: the target maps the errno of its storage to a status, and the client maps the
 * status to the errno of its disk. The two mappings keep three classes apart. An error of the
 * storage fails the request, and is never a path error, because another path leads to the same
 * storage. If the target has lost its storage, or its own path to the storage, the client reports
 * a path error. A shortage of memory is temporary: the client sends the request again.
 * Documentation/reference/protocol-errors.rst has the table.
 * Ownership: none.
 * Concurrency: pure functions, any context.
 * Errors: an unknown errno or status is mapped to an error of the storage.
 */
#include "status.h"
#include <rnbd/wire.h>

/**
 * rnbd_errno_status - map an error of the storage to a status
 * @error: negative errno, or 0
 *
 * Context: any.
 * Return: enum rnbd_status.
 */
u16 rnbd_errno_status(int error)
{
	switch (error) {
	case 0:
		return RNBD_ST_OK;
	case -ENODATA:
		return RNBD_ST_MEDIUM;
	case -EILSEQ:
		return RNBD_ST_PROTECTION;
	case -EREMOTEIO:
	case -EINVAL:
		return RNBD_ST_REFUSED;
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		return RNBD_ST_NOSPC;
	case -EOPNOTSUPP:
		return RNBD_ST_NOTSUPP;
	case -ENOMEM:
	case -EAGAIN:
		return RNBD_ST_NOMEM;
	case -EROFS:
	case -EPERM:
		return RNBD_ST_READONLY;
	case -EBADE:
		return RNBD_ST_RESV;
	case -ENODEV:
	case -ENXIO:
	case -ESTALE:
	case -ENOLINK:
	case -ETIMEDOUT:
		return RNBD_ST_GONE;
	default:
		return RNBD_ST_IO;
	}
}
EXPORT_SYMBOL_GPL(rnbd_errno_status);

/**
 * rnbd_status_errno - map the status of a reply to an errno of the block layer
 * @status: enum rnbd_status of a reply
 *
 * -ENOMEM (BLK_STS_RESOURCE) means that the client must send the request again. Of the other
 * results, the kernel treats only -ENOLINK (BLK_STS_TRANSPORT) as a path error, see
 * blk_path_error().
 *
 * Context: any.
 * Return: 0, or a negative errno for which errno_to_blk_status() has a specific blk_status_t.
 */
int rnbd_status_errno(u16 status)
{
	switch (status) {
	case RNBD_ST_OK:
		return 0;
	case RNBD_ST_MEDIUM:
		return -ENODATA;
	case RNBD_ST_PROTECTION:
		return -EILSEQ;
	case RNBD_ST_NOSPC:
		return -ENOSPC;
	case RNBD_ST_NOTSUPP:
		return -EOPNOTSUPP;
	case RNBD_ST_RESV:
		return -EBADE;
	case RNBD_ST_NOMEM:
	case RNBD_ST_CLOSED:
		return -ENOMEM;
	case RNBD_ST_GONE:
		return -ENOLINK;
	default:
		return -EREMOTEIO;
	}
}
EXPORT_SYMBOL_GPL(rnbd_status_errno);
