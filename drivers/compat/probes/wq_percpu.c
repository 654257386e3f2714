// SPDX-License-Identifier: GPL-2.0-only
/* Probe: WQ_PERCPU exists; in older kernels a workqueue without WQ_UNBOUND is per CPU. */
#include <linux/workqueue.h>

#ifdef RNBD_PROBE_NEW
static_assert(WQ_PERCPU != 0);
#else
enum { WQ_PERCPU };
#endif
