/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Newest form of the workqueue interface, for older kernels.
 *
 * Operation
 *
 * See drivers/compat/block.h. On an older kernel, work without WQ_UNBOUND runs on the CPU that
 * queues it. A newer kernel requires one of the flags WQ_UNBOUND and WQ_PERCPU.
 */
#ifndef RNBD_COMPAT_WORKQUEUE_H
#define RNBD_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#ifndef RNBD_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#endif
