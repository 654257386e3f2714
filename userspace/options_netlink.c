// SPDX-License-Identifier: GPL-2.0-only
/*
 * The options of rnbd attach as netlink attributes: added to requests, and parsed from messages
 * of the kernel.
 *
 * Operation: the type of a row in attach_opts is the type of its attribute. All rows with a
 * flag share the attribute RNBD_ATTR_FLAGS, where each row has one bit.
 *
 * Ownership: values are copied.
 * Concurrency: no shared state.
 * Errors: a libnl error if an attribute does not fit into the message, -EPROTO if a received
 * attribute is too short.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "options_netlink.h"

static int put_value(struct nl_msg *msg, const struct opt *opt,
		     const struct option_value *value)
{
	switch (opt->type) {
	case OPT_SIZE64:
		return nla_put_u64(msg, opt->attr, value->number);
	case OPT_TEXT:
		return nla_put_string(msg, opt->attr, value->text);
	default:
		return nla_put_u32(msg, opt->attr, value->number);
	}
}

/**
 * options_put() - add all known options to a request
 * @msg: request
 * @options: values
 *
 * Return: 0, or a libnl error if they do not fit.
 */
int options_put(struct nl_msg *msg, const struct options *options)
{
	const struct opt *opt;
	uint32_t flags = 0;
	int ret = 0;

	for (opt = attach_opts; opt->name && !ret; opt++) {
		const struct option_value *value = &options->value[option_row(opt)];

		if (!opt->type || !value->known)
			continue;
		if (!opt->flag)
			ret = put_value(msg, opt, value);
		else if (value->number)
			flags |= opt->flag;
	}
	if (!ret && flags)
		ret = nla_put_u32(msg, RNBD_ATTR_FLAGS, flags);
	return ret;
}

static int get_value(const struct opt *opt, struct nlattr *attr, struct option_value *value)
{
	size_t size = opt->type == OPT_SIZE64 ? sizeof(uint64_t) : sizeof(uint32_t);

	if (opt->type == OPT_TEXT) {
		snprintf(value->text, sizeof(value->text), "%.*s", nla_len(attr),
			 (const char *)nla_data(attr));
	} else {
		if (nla_len(attr) < (int)size)
			return -EPROTO;
		value->number = size == sizeof(uint64_t) ? nla_get_u64(attr) : nla_get_u32(attr);
		if (opt->flag)
			value->number = !!(value->number & opt->flag);
	}
	value->known = true;
	return 0;
}

/**
 * options_get() - parse the options in a message of the kernel
 * @tb: attributes of the message, or of a nested attribute, indexed by attribute number
 * @options: values; options that the message lacks become unknown
 *
 * Return: 0, or -EPROTO if an attribute is too short.
 */
int options_get(struct nlattr **tb, struct options *options)
{
	const struct opt *opt;
	int ret;

	memset(options, 0, sizeof(*options));
	for (opt = attach_opts; opt->name; opt++) {
		if (!opt->type || !tb[opt->attr])
			continue;
		ret = get_value(opt, tb[opt->attr], &options->value[option_row(opt)]);
		if (ret)
			return ret;
	}
	return 0;
}
