// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsing of netlink requests into options.
 *
 * Operation: The generated policy has checked types and ranges of the attributes.
 * These functions check the rest: required attributes, flags of a command, addresses,
 * names, and options that depend on each other.
 *
 * Ownership: The parsed options point to the secret in the message. The handler of the
 * message copies the secret to its job, and wipes it in the message.
 *
 * Concurrency: A request belongs to its handler; no lock is needed.
 *
 * Errors: Each error has a message for the user and, if an attribute is the cause, names
 * that attribute.
 */

#include <linux/in6.h>
#include <linux/blkdev.h>
#include <linux/inet.h>
#include <linux/netlink.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <rnbd/netlink.h>

#include "../core/discover.h"
#include "../core/names.h"
#include "errmsg.h"
#include "nlparse.h"
#include "option_table.h"
#include "options.h"
#include "session.h"

/*
 * Limits of the netlink specification must match those of the wire format and of the
 * kernel.
 */
static_assert(RNBD_OPT_QUEUES_MAX == RNBD_CONNS_MAX);
static_assert(RNBD_CONNS_MAX - 1 == RNBD_OPT_POLL_QUEUES_MAX);
static_assert(RNBD_OPT_DEPTH_MAX <= RNBD_DEPTH_MAX);
static_assert(RNBD_OPT_RING_SLOTS_MIN == RNBD_RING_SLOTS_MIN);
static_assert(RNBD_OPT_RING_SLOTS_MAX == RNBD_RING_SLOTS_MAX);
static_assert(RNBD_OPT_SLOT_SIZE_MIN == RNBD_SLOT_SIZE_MIN);
static_assert(RNBD_OPT_SLOT_SIZE_MAX == RNBD_SLOT_SIZE_MAX);
static_assert(RNBD_OPT_POOL_BYTES_MIN == RNBD_UNIT_SIZE);
static_assert(RNBD_OPT_MAX_IO_MIN == RNBD_UNIT_SIZE);
static_assert(RNBD_OPT_MAX_IO_MAX == RNBD_MAX_IO_MAX);
static_assert(RNBD_OPT_KEEPALIVE_MS_MIN == RNBD_KEEPALIVE_MS_MIN);
static_assert(RNBD_OPT_KEEPALIVE_MS_MAX == RNBD_KEEPALIVE_MS_MAX);
static_assert(RNBD_EXPORT_NAME_SIZE - 1 == RNBD_EXPORT_LEN);
static_assert(RNBD_NAME_SIZE - 1 == RNBD_NAME_LEN);
static_assert(RNBD_SECRET_LEN == RNBD_SECRET_SIZE);
static_assert(UUID_SIZE == RNBD_UUID_LEN);
static_assert(DISK_NAME_LEN - 1 == RNBD_DISK_LEN);
static_assert(INET6_ADDRSTRLEN - 1 == RNBD_ADDR_LEN);

/**
 * rnbdc_nl_put_errmsg - report an error message to the user
 * @extack: extended acknowledgment of the request
 * @errmsg: message; if it is empty, @error selects a generic message
 * @error: negative errno
 *
 * Context: any.
 */
void rnbdc_nl_put_errmsg(struct netlink_ext_ack *extack, const struct rnbdc_errmsg *errmsg,
			 int error)
{
	if (errmsg->text[0])
		NL_SET_ERR_MSG_FMT(extack, "%s", errmsg->text);
	else if (error == -ENOMEM)
		NL_SET_ERR_MSG(extack, "out of memory");
	else
		NL_SET_ERR_MSG_FMT(extack, "the request failed with error %d", error);
}

/**
 * rnbdc_nl_flags - read and check the flags of a request
 * @info: request
 * @allowed: flags that the command accepts; the generated policy accepts the flags of all commands
 * @flags: result: flags of the request
 *
 * Context: any.
 * Return: 0, or -EINVAL after reporting the attribute.
 */
int rnbdc_nl_flags(struct genl_info *info, u32 allowed, u32 *flags)
{
	const struct nlattr *attr = info->attrs[RNBD_ATTR_FLAGS];

	*flags = attr ? nla_get_u32(attr) : 0;
	if (*flags & ~allowed) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "a flag does not apply to this command");
		return -EINVAL;
	}
	return 0;
}

static void rnbdc_parse_option(const struct nlattr *attr, const struct rnbdc_option *row,
			       struct rnbdc_options *opt)
{
	switch (row->type) {
	case RNBDC_OPTION_U32:
		rnbdc_option_request(row, opt, nla_get_u32(attr));
		break;
	case RNBDC_OPTION_U64:
		rnbdc_option_request(row, opt, nla_get_u64(attr));
		break;
	case RNBDC_OPTION_FLAG:
		rnbdc_option_request(row, opt, !!(nla_get_u32(attr) & row->flag));
		break;
	case RNBDC_OPTION_TEXT:
		nla_strscpy(rnbdc_option_buffer(row, opt), attr, row->requested.size);
		break;
	}
}

static int rnbdc_nl_parse_requested(struct genl_info *info, struct rnbdc_options *opt)
{
	const struct rnbdc_option *row;
	struct rnbdc_errmsg errmsg = { };
	u32 allowed = 0, flags;
	int ret;

	for (row = rnbdc_option_table; row->name; row++)
		allowed |= row->flag;
	ret = rnbdc_nl_flags(info, allowed, &flags);
	if (ret)
		return ret;
	rnbdc_options_preset(opt);
	for (row = rnbdc_option_table; row->name; row++) {
		if (!info->attrs[row->attr])
			continue;
		rnbdc_parse_option(info->attrs[row->attr], row, opt);
		/* RNBD_ATTR_FLAGS carries all flags: the user has given only those that are set. */
		if (row->type != RNBDC_OPTION_FLAG || flags & row->flag)
			opt->given |= BIT(row - rnbdc_option_table);
	}
	/* Check after parsing, because the check of an option can depend on other options. */
	for (row = rnbdc_option_table; row->name; row++) {
		if (!info->attrs[row->attr] || rnbdc_option_check(row, opt, &errmsg))
			continue;
		NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[row->attr], "%s", errmsg.text);
		return -EINVAL;
	}
	return 0;
}

/**
 * rnbdc_nl_parse_target - parse the address of the target, and host id and secret of this host
 * @info: request
 * @opt: options to fill; the secret points into the message
 *
 * Context: any.
 * Return: 0, or -EINVAL after reporting the cause.
 */
int rnbdc_nl_parse_target(const struct genl_info *info, struct rnbdc_options *opt)
{
	struct nlattr **attrs = info->attrs;
	char port[sizeof("65535")];

	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_ADDR) ||
	    GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_HOST_ID)) {
		NL_SET_ERR_MSG(info->extack, "address and host id are needed");
		return -EINVAL;
	}

	nla_strscpy(opt->sess.addr, attrs[RNBD_ATTR_ADDR], sizeof(opt->sess.addr));
	snprintf(port, sizeof(port), "%u", attrs[RNBD_ATTR_PORT] ?
		 nla_get_u16(attrs[RNBD_ATTR_PORT]) : RNBD_DEFAULT_PORT);
	if (inet_pton_with_scope(&init_net, AF_UNSPEC, opt->sess.addr, port, &opt->sess.dst)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_ADDR],
				    "not a numeric IPv4 or IPv6 address");
		return -EINVAL;
	}

	memcpy(opt->sess.host_id, nla_data(attrs[RNBD_ATTR_HOST_ID]), UUID_SIZE);
	if (!memchr_inv(opt->sess.host_id, 0, UUID_SIZE)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_HOST_ID],
				    "the host id must not be zero");
		return -EINVAL;
	}
	if (attrs[RNBD_ATTR_SECRET])
		opt->secret = nla_data(attrs[RNBD_ATTR_SECRET]);
	return 0;
}

/**
 * rnbdc_nl_wipe_secret - wipe the secret in the message of a request
 * @info: request of a command that accepts a secret
 *
 * An error reply repeats the message and would contain the secret.
 *
 * Context: any.
 */
void rnbdc_nl_wipe_secret(const struct genl_info *info)
{
	if (info->attrs[RNBD_ATTR_SECRET])
		memzero_explicit(nla_data(info->attrs[RNBD_ATTR_SECRET]),
				 nla_len(info->attrs[RNBD_ATTR_SECRET]));
}

/**
 * rnbdc_nl_parse_attach - parse an ATTACH request
 * @info: request
 * @opt: options to fill; the secret points into the message
 *
 * Context: any.
 * Return: 0, or a negative errno after reporting the cause.
 */
int rnbdc_nl_parse_attach(struct genl_info *info, struct rnbdc_options *opt)
{
	struct nlattr **attrs = info->attrs;
	int ret;

	ret = rnbdc_nl_parse_target(info, opt);
	if (ret)
		return ret;
	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_EXPORT)) {
		NL_SET_ERR_MSG(info->extack, "the name of an export is needed");
		return -EINVAL;
	}

	nla_strscpy(opt->disk.export, attrs[RNBD_ATTR_EXPORT], sizeof(opt->disk.export));
	if (!rnbd_export_name_ok(opt->disk.export, sizeof(opt->disk.export))) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_EXPORT],
				    "an export name has 1 to 63 of A-Z a-z 0-9 . _ : -");
		return -EINVAL;
	}
	return rnbdc_nl_parse_requested(info, opt);
}
