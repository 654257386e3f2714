/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/rnbd.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_RNBD_GEN_H
#define _LINUX_RNBD_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/rnbd/netlink.h>

/* Ops table for rnbd */
extern const struct genl_split_ops rnbd_nl_ops[7];

int rnbd_nl_admin_pre_doit(const struct genl_split_ops *ops,
			   struct sk_buff *skb, struct genl_info *info);
int rnbd_nl_discover_start(struct netlink_callback *cb);
int rnbd_nl_discover_done(struct netlink_callback *cb);

int rnbd_nl_attach_doit(struct sk_buff *skb, struct genl_info *info);
int rnbd_nl_detach_doit(struct sk_buff *skb, struct genl_info *info);
int rnbd_nl_list_doit(struct sk_buff *skb, struct genl_info *info);
int rnbd_nl_list_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int rnbd_nl_discover_doit(struct sk_buff *skb, struct genl_info *info);
int rnbd_nl_discover_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int rnbd_nl_set_secret_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	RNBD_NLGRP_EVENTS,
};

#endif /* _LINUX_RNBD_GEN_H */
