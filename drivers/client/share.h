/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The share of a disk in the tags, the send queue and the pool of its session. See share.c.
 */
#ifndef RNBDC_SHARE_H
#define RNBDC_SHARE_H

#include <linux/types.h>

struct rnbdc_hwq;

u32 rnbdc_wire_depth(u32 depth);
u32 rnbdc_first_reserve(const struct rnbdc_hwq *hwq);
bool rnbdc_may_take_tag(const struct rnbdc_hwq *hwq);
bool rnbdc_may_take_units(const struct rnbdc_hwq *hwq, u32 units);
bool rnbdc_may_take_wrs(const struct rnbdc_hwq *hwq, u32 wrs);
bool rnbdc_may_start(const struct rnbdc_hwq *hwq);

#endif /* RNBDC_SHARE_H */
