// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/rnbd.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/rnbd/netlink.h>

/* Integer value ranges */
static const struct netlink_range_validation rnbd_attr_slot_size_range = {
	.min	= RNBD_OPT_SLOT_SIZE_MIN,
	.max	= RNBD_OPT_SLOT_SIZE_MAX,
};

static const struct netlink_range_validation rnbd_attr_max_io_range = {
	.min	= RNBD_OPT_MAX_IO_MIN,
	.max	= RNBD_OPT_MAX_IO_MAX,
};

static const struct netlink_range_validation rnbd_attr_fast_io_fail_range = {
	.max	= RNBD_OPT_TIMEOUT_MAX,
};

static const struct netlink_range_validation rnbd_attr_loss_timeout_range = {
	.max	= RNBD_OPT_TIMEOUT_MAX,
};

static const struct netlink_range_validation rnbd_attr_keepalive_ms_range = {
	.min	= RNBD_OPT_KEEPALIVE_MS_MIN,
	.max	= RNBD_OPT_KEEPALIVE_MS_MAX,
};

static const struct netlink_range_validation rnbd_attr_inline_read_range = {
	.max	= RNBD_INLINE_MAX,
};

static const struct netlink_range_validation rnbd_attr_inline_write_range = {
	.max	= RNBD_INLINE_MAX,
};

/* RNBD_CMD_ATTACH - do */
static const struct nla_policy rnbd_attach_nl_policy[RNBD_ATTR_POOL_FLOOR + 1] = {
	[RNBD_ATTR_ADDR] = { .type = NLA_NUL_STRING, .len = RNBD_ADDR_LEN, },
	[RNBD_ATTR_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[RNBD_ATTR_EXPORT] = { .type = NLA_NUL_STRING, .len = RNBD_EXPORT_LEN, },
	[RNBD_ATTR_HOST_ID] = NLA_POLICY_EXACT_LEN(RNBD_UUID_LEN),
	[RNBD_ATTR_QUEUES] = NLA_POLICY_RANGE(NLA_U32, RNBD_OPT_QUEUES_MIN, RNBD_OPT_QUEUES_MAX),
	[RNBD_ATTR_DEPTH] = NLA_POLICY_RANGE(NLA_U32, RNBD_OPT_DEPTH_MIN, RNBD_OPT_DEPTH_MAX),
	[RNBD_ATTR_RING_SLOTS] = NLA_POLICY_RANGE(NLA_U32, RNBD_OPT_RING_SLOTS_MIN, RNBD_OPT_RING_SLOTS_MAX),
	[RNBD_ATTR_SLOT_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_slot_size_range),
	[RNBD_ATTR_POOL_BYTES] = NLA_POLICY_MIN(NLA_U64, RNBD_OPT_POOL_BYTES_MIN),
	[RNBD_ATTR_POOL_FLOOR] = { .type = NLA_U64, },
	[RNBD_ATTR_MAX_IO] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_max_io_range),
	[RNBD_ATTR_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1f),
	[RNBD_ATTR_POLICY] = NLA_POLICY_MAX(NLA_U32, 1),
	[RNBD_ATTR_FAST_IO_FAIL] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_fast_io_fail_range),
	[RNBD_ATTR_LOSS_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_loss_timeout_range),
	[RNBD_ATTR_KEEPALIVE_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_keepalive_ms_range),
	[RNBD_ATTR_INLINE_READ] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_inline_read_range),
	[RNBD_ATTR_INLINE_WRITE] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_attr_inline_write_range),
	[RNBD_ATTR_POLL_QUEUES] = NLA_POLICY_MAX(NLA_U32, RNBD_OPT_POLL_QUEUES_MAX),
	[RNBD_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = RNBD_NAME_LEN, },
	[RNBD_ATTR_SECRET] = NLA_POLICY_EXACT_LEN(RNBD_SECRET_LEN),
};

/* RNBD_CMD_DETACH - do */
static const struct nla_policy rnbd_detach_nl_policy[RNBD_ATTR_FLAGS + 1] = {
	[RNBD_ATTR_DISK] = { .type = NLA_NUL_STRING, .len = RNBD_DISK_LEN, },
	[RNBD_ATTR_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1f),
};

/* RNBD_CMD_LIST - do */
static const struct nla_policy rnbd_list_do_nl_policy[RNBD_ATTR_DISK + 1] = {
	[RNBD_ATTR_DISK] = { .type = NLA_NUL_STRING, .len = RNBD_DISK_LEN, },
};

/* RNBD_CMD_LIST - dump */
static const struct nla_policy rnbd_list_dump_nl_policy[RNBD_ATTR_PAD + 1] = {
};

/* RNBD_CMD_DISCOVER - do */
static const struct nla_policy rnbd_discover_do_nl_policy[RNBD_ATTR_SECRET + 1] = {
	[RNBD_ATTR_ADDR] = { .type = NLA_NUL_STRING, .len = RNBD_ADDR_LEN, },
	[RNBD_ATTR_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[RNBD_ATTR_HOST_ID] = NLA_POLICY_EXACT_LEN(RNBD_UUID_LEN),
	[RNBD_ATTR_SECRET] = NLA_POLICY_EXACT_LEN(RNBD_SECRET_LEN),
};

/* RNBD_CMD_DISCOVER - dump */
static const struct nla_policy rnbd_discover_dump_nl_policy[RNBD_ATTR_PAD + 1] = {
};

/* RNBD_CMD_SET_SECRET - do */
static const struct nla_policy rnbd_set_secret_nl_policy[RNBD_ATTR_SECRET + 1] = {
	[RNBD_ATTR_DISK] = { .type = NLA_NUL_STRING, .len = RNBD_DISK_LEN, },
	[RNBD_ATTR_SECRET] = NLA_POLICY_EXACT_LEN(RNBD_SECRET_LEN),
};

/* Ops table for rnbd */
const struct genl_split_ops rnbd_nl_ops[7] = {
	{
		.cmd		= RNBD_CMD_ATTACH,
		.pre_doit	= rnbd_nl_admin_pre_doit,
		.doit		= rnbd_nl_attach_doit,
		.policy		= rnbd_attach_nl_policy,
		.maxattr	= RNBD_ATTR_POOL_FLOOR,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RNBD_CMD_DETACH,
		.pre_doit	= rnbd_nl_admin_pre_doit,
		.doit		= rnbd_nl_detach_doit,
		.policy		= rnbd_detach_nl_policy,
		.maxattr	= RNBD_ATTR_FLAGS,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RNBD_CMD_LIST,
		.doit		= rnbd_nl_list_doit,
		.policy		= rnbd_list_do_nl_policy,
		.maxattr	= RNBD_ATTR_DISK,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RNBD_CMD_LIST,
		.dumpit		= rnbd_nl_list_dumpit,
		.policy		= rnbd_list_dump_nl_policy,
		.maxattr	= RNBD_ATTR_PAD,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= RNBD_CMD_DISCOVER,
		.pre_doit	= rnbd_nl_admin_pre_doit,
		.doit		= rnbd_nl_discover_doit,
		.policy		= rnbd_discover_do_nl_policy,
		.maxattr	= RNBD_ATTR_SECRET,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RNBD_CMD_DISCOVER,
		.start		= rnbd_nl_discover_start,
		.dumpit		= rnbd_nl_discover_dumpit,
		.done		= rnbd_nl_discover_done,
		.policy		= rnbd_discover_dump_nl_policy,
		.maxattr	= RNBD_ATTR_PAD,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= RNBD_CMD_SET_SECRET,
		.pre_doit	= rnbd_nl_admin_pre_doit,
		.doit		= rnbd_nl_set_secret_doit,
		.policy		= rnbd_set_secret_nl_policy,
		.maxattr	= RNBD_ATTR_SECRET,
		.flags		= GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group rnbd_nl_mcgrps[] = {
	[RNBD_NLGRP_EVENTS] = { "events", },
};
