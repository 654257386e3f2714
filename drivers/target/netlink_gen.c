// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/rnbd-target.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/rnbd/netlink-target.h>

/* RNBDT_CMD_GET_SESSION - dump */
static const struct nla_policy rnbd_target_get_session_nl_policy[RNBDT_ATTR_PAD + 1] = {
};

/* Ops table for rnbd_target */
const struct genl_split_ops rnbd_target_nl_ops[1] = {
	{
		.cmd		= RNBDT_CMD_GET_SESSION,
		.dumpit		= rnbd_target_nl_get_session_dumpit,
		.policy		= rnbd_target_get_session_nl_policy,
		.maxattr	= RNBDT_ATTR_PAD,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group rnbd_target_nl_mcgrps[] = {
	[RNBD_TARGET_NLGRP_EVENTS] = { "events", },
};
