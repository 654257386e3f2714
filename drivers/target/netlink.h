/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generic netlink family "rnbd-target": list of sessions, events of sessions and of hosts. See
 * netlink.c.
 */
#ifndef RNBDT_NETLINK_H
#define RNBDT_NETLINK_H

#include <linux/netlink.h>
#include <linux/uuid.h>

struct rnbdt_session;

void rnbdt_netlink_init_session(struct rnbdt_session *s);
void rnbdt_netlink_cgroup(const uuid_t *host_id, const char *cgroup, const char *applies);
int rnbdt_netlink_init(void);
void rnbdt_netlink_exit(void);

#endif /* RNBDT_NETLINK_H */
