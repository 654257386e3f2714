// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probe: the NUMA node is passed to blk_mq_ops.init_request as int; older kernels pass
 * it as unsigned int.
 */
#include <linux/blk-mq.h>

#ifdef RNBD_PROBE_NEW
static_assert(__same_type(((struct blk_mq_ops *)NULL)->init_request,
			  int (*)(struct blk_mq_tag_set *, struct request *,
				  unsigned int, int)));
#else
static_assert(__same_type(((struct blk_mq_ops *)NULL)->init_request,
			  int (*)(struct blk_mq_tag_set *, struct request *,
				  unsigned int, unsigned int)));
#endif
