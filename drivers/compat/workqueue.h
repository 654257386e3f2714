/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Newest form of the workqueue interface for older kernels.
 *
 * Operation
 *
 * As drivers/compat/block.h. A workqueue of an older kernel is bound to the CPU that
 * queues the work unless it has WQ_UNBOUND; newer ones want one of both flags.
 */
#ifndef RNBD_COMPAT_WORKQUEUE_H
#define RNBD_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#ifndef RNBD_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#endif
