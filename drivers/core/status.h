/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Error classes: the errno of the storage, the status of a reply and the errno of
 * the disk. See status.c.
 */
#ifndef RNBD_CORE_STATUS_H
#define RNBD_CORE_STATUS_H

#include "portable.h"

u16 rnbd_errno_status(int error);
int rnbd_status_errno(u16 status);

#endif /* RNBD_CORE_STATUS_H */
