// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probe: WQ_PERCPU exists; in older kernels it is the absence of WQ_UNBOUND.
 */
#include <linux/workqueue.h>

#ifdef RNBD_PROBE_NEW
static_assert(WQ_PERCPU != 0);
#else
enum { WQ_PERCPU };
#endif
