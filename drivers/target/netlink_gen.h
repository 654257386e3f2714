/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/rnbd-target.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_RNBD_TARGET_GEN_H
#define _LINUX_RNBD_TARGET_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/rnbd/netlink-target.h>

/* Ops table for rnbd_target */
extern const struct genl_split_ops rnbd_target_nl_ops[1];

int rnbd_target_nl_get_session_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb);

enum {
	RNBD_TARGET_NLGRP_EVENTS,
};

#endif /* _LINUX_RNBD_TARGET_GEN_H */
