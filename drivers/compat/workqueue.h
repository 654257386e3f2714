/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Newest form of the workqueue interface, for older kernels.
 *
 * Operation
 *
 * drivers/compat/block.h describes the probes. A newer kernel requires one of the flags
 * WQ_UNBOUND and WQ_PERCPU. An older kernel has no WQ_PERCPU: there, a work item of a workqueue
 * without WQ_UNBOUND runs on the CPU that queues it, so WQ_PERCPU is defined as 0.
 */
#ifndef RNBD_COMPAT_WORKQUEUE_H
#define RNBD_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#ifndef RNBD_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#endif
