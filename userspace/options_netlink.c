// SPDX-License-Identifier: GPL-2.0-only
/*
 * The options of rnbd attach as netlink attributes: into a request, and out of what the
 * kernel reports.
 *
 * Operation: the type of a row in attach_opts is the type of its attribute. Rows with a
 * flag share RNBD_ATTR_FLAGS, of which each has one bit.
 *
 * Ownership: values are copied.
 * Concurrency: no shared state.
 * Errors: an attribute that does not fit into the message, or has another size.
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
 * options_put() - add the options that are known to a request
 * @msg: request
 * @options: values
 *
 * Return: 0, or an error of libnl if they do not fit.
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
 * options_get() - read the options that a message of the kernel has
 * @tb: attributes of the message, or of the nest in it, by number
 * @options: where they go; what the message does not have is not known
 *
 * Return: 0, or -EPROTO if one of them has another size.
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
