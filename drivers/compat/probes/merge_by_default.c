// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probe: BLK_MQ_F_SHOULD_MERGE no longer exists; older kernels merge adjacent bios
 * only in a queue whose tag set has that flag.
 */
#include <linux/blk-mq.h>

#ifdef RNBD_PROBE_NEW
enum { BLK_MQ_F_SHOULD_MERGE };
#else
static_assert(BLK_MQ_F_SHOULD_MERGE != 0);
#endif
