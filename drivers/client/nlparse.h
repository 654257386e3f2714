/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parsing of netlink requests into options. See nlparse.c.
 */
#ifndef RNBDC_NLPARSE_H
#define RNBDC_NLPARSE_H

#include <linux/types.h>

struct genl_info;
struct netlink_ext_ack;
struct rnbdc_errmsg;
struct rnbdc_options;

void rnbdc_nl_put_errmsg(struct netlink_ext_ack *extack, const struct rnbdc_errmsg *errmsg,
			 int error);
int rnbdc_nl_flags(struct genl_info *info, u32 allowed, u32 *flags);
int rnbdc_nl_parse_target(const struct genl_info *info, struct rnbdc_options *opt);
void rnbdc_nl_wipe_secret(const struct genl_info *info);
int rnbdc_nl_parse_attach(struct genl_info *info, struct rnbdc_options *opt);

#endif /* RNBDC_NLPARSE_H */
