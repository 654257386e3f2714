/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Discovery: the exports of a target that this host may attach. See discover.c.
 */
#ifndef RNBDC_DISCOVER_H
#define RNBDC_DISCOVER_H

struct rnbdc_errmsg;
struct rnbdc_exports;
struct rnbdc_options;

int rnbdc_discover(const struct rnbdc_options *opt, struct rnbdc_exports *exports,
		   struct rnbdc_errmsg *errmsg);

#endif /* RNBDC_DISCOVER_H */
