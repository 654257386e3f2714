/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_OPTIONS_NETLINK_H
#define RNBD_OPTIONS_NETLINK_H

#include "options.h"

struct nl_msg;
struct nlattr;

int options_put(struct nl_msg *msg, const struct options *options);
int options_get(struct nlattr **tb, struct options *options);

#endif /* RNBD_OPTIONS_NETLINK_H */
