/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands of the generic netlink family "rnbd". See netlink.c.
 */
#ifndef RNBDC_NETLINK_H
#define RNBDC_NETLINK_H

#include <linux/netlink.h>

int rnbdc_netlink_init(void);
void rnbdc_netlink_exit(void);

#endif /* RNBDC_NETLINK_H */
