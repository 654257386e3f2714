// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communication with the kernel modules by generic netlink.
 *
 * Operation: the tool uses one socket and one family, and sends one request at a time. The
 * kernel answers a request with any number of messages, followed by an acknowledgment or an
 * error, or by NLMSG_DONE at the end of a dump. libnl passes the error code on but does not
 * parse the extended acknowledgment (extack) behind it, so take_extack() parses it and builds
 * the error message. If the extack holds the violated policy, the message also has the limits
 * of the value and the name of the option. netlink_client.c and netlink_target.c define the
 * commands and attributes of the two families.
 *
 * Ownership: the socket is open from rnbd_open() or rnbd_open_target() to rnbd_close(). A
 * request can contain a secret: netlink_talk() wipes each request before freeing it, and the
 * option NETLINK_CAP_ACK keeps the kernel from sending the request back after an error.
 * Concurrency: one thread.
 * Errors: functions return a negative errno. rnbd_error() then returns the error message, which
 * is that of the kernel if the kernel sent one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>

#include <rnbd/netlink.h>
#include <rnbd/netlink-target.h>

#include "netlink.h"
#include "options.h"
#include "util.h"

static struct nl_sock *sock;
static int family;
static char error_text[1024];

/**
 * struct reply - result of one request
 * @take: function that parses a message of the kernel into @list; returns a negative errno if
 *	the message is malformed
 * @list: container that @take fills; NULL if no messages are expected
 * @request: request that was sent; used to look up the attribute that caused an error
 * @error: 0 or a negative errno
 * @done: true after the last message of the reply
 */
struct reply {
	int (*take)(struct nlmsghdr *hdr, void *list);
	void *list;
	const struct nlmsghdr *request;
	int error;
	bool done;
};

/* Return the message of the last error. */
const char *rnbd_error(void)
{
	return error_text;
}

int netlink_set_error(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, ap);
	va_end(ap);
	return error;
}

/* ------------------------------------------------------------------------
 * Extended acknowledgments
 */

/* Format the option or operand that an attribute stands for, such as "--queues: ". */
static void name_attr(int attr, char *text, size_t size)
{
	static const char * const operands[RNBD_ATTR_MAX + 1] = {
		[RNBD_ATTR_DISK] = "DISK",
		[RNBD_ATTR_ADDR] = "ADDR",
		[RNBD_ATTR_EXPORT] = "EXPORT",
	};
	const struct opt *opt = option_of_attr(attr);

	if (opt)
		snprintf(text, size, "--%s: ", opt->name);
	else if (attr <= RNBD_ATTR_MAX && operands[attr])
		snprintf(text, size, "%s: ", operands[attr]);
}

/* Format the name of the attribute that is @offset bytes after the beginning of the request. */
static void name_attr_at(const struct nlmsghdr *request, uint32_t offset, char *text,
			 size_t size)
{
	const struct nlattr *attr;

	if (!request || offset < NLMSG_HDRLEN + GENL_HDRLEN ||
	    offset > request->nlmsg_len - sizeof(*attr))
		return;
	attr = (const struct nlattr *)((const char *)request + offset);
	name_attr(nla_type(attr), text, size);
}

/* Format the limits of the violated policy, such as " (1 to 64)"; "" if it has no limits. */
static void policy_limits(struct nlattr *policy, char *text, size_t size)
{
	struct nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];
	struct nlattr *min, *max;

	*text = '\0';
	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX, policy, NULL))
		return;
	min = tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U];
	max = tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U];
	if (!min || !max || nla_len(min) < 8 || nla_len(max) < 8)
		return;
	snprintf(text, size, " (%" PRIu64 " to %" PRIu64 ")",
		 nla_get_u64(min), nla_get_u64(max));
}

/* Set the error message from the attributes of an extended acknowledgment. */
static void take_extack(const struct reply *reply, struct nlattr *attrs, int len)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];
	const char *text = NULL;
	char option[64] = "";
	char limits[64] = "";

	error_text[0] = '\0';
	if (len > 0 && !nla_parse(tb, NLMSGERR_ATTR_MAX, attrs, len, NULL)) {
		struct nlattr *msg = tb[NLMSGERR_ATTR_MSG];
		struct nlattr *offset = tb[NLMSGERR_ATTR_OFFS];

		if (msg && nla_len(msg) > 0 &&
		    !((char *)nla_data(msg))[nla_len(msg) - 1])
			text = nla_data(msg);
		/* The kernel's message about a violated policy does not name the option. */
		if (tb[NLMSGERR_ATTR_POLICY]) {
			policy_limits(tb[NLMSGERR_ATTR_POLICY], limits,
				      sizeof(limits));
			if (offset && nla_len(offset) >= 4)
				name_attr_at(reply->request, nla_get_u32(offset), option,
					     sizeof(option));
		}
	}

	if (!text && reply->error == -EPERM)
		text = "not permitted; run it as root";
	netlink_set_error(0, "%s%s%s", option,
			  text && *text ? text : strerror(-reply->error), limits);
}

/* ------------------------------------------------------------------------
 * Callbacks of libnl
 */

static int on_error(struct sockaddr_nl *addr, struct nlmsgerr *nlerr, void *arg)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)((char *)nlerr - NLMSG_HDRLEN);
	size_t skip = sizeof(*nlerr);
	struct reply *reply = arg;

	(void)addr;
	reply->error = nlerr->error;
	reply->done = true;

	/* Without NLM_F_CAPPED, the kernel has put a copy of the request after the error code. */
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(nlerr->msg.nlmsg_len) - NLMSG_HDRLEN;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS &&
	    NLMSG_HDRLEN + skip < hdr->nlmsg_len)
		take_extack(reply, (struct nlattr *)((char *)nlerr + skip),
			    hdr->nlmsg_len - NLMSG_HDRLEN - skip);
	else
		take_extack(reply, NULL, 0);
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct reply *reply = arg;

	(void)msg;
	reply->done = true;
	return NL_STOP;
}

/* The last message of a dump has a code (0: no error), and possibly an extended acknowledgment. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct reply *reply = arg;
	int len = nlmsg_datalen(hdr);
	int error = 0;

	reply->done = true;
	if (len >= (int)sizeof(error))
		memcpy(&error, nlmsg_data(hdr), sizeof(error));
	if (error < 0) {
		reply->error = error;
		take_extack(reply, (struct nlattr *)((char *)nlmsg_data(hdr) +
						     sizeof(error)),
			    hdr->nlmsg_flags & NLM_F_ACK_TLVS ?
			    len - (int)sizeof(error) : 0);
	}
	return NL_STOP;
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct reply *reply = arg;

	if (reply->list && reply->take(nlmsg_hdr(msg), reply->list))
		reply->error =
			netlink_set_error(-EPROTO,
					  "cannot parse the reply; is the module of this version?");
	return NL_OK;
}

/* ------------------------------------------------------------------------
 * Requests
 */

struct nl_msg *netlink_request(uint8_t cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
				 flags, cmd, RNBD_GENL_VERSION)) {
		fputs("rnbd: out of memory\n", stderr);
		exit(RNBD_EXIT_FAIL);
	}
	return msg;
}

/**
 * netlink_talk() - send a request, receive the complete reply, and free the request
 * @msg: request; wiped and freed in all cases
 * @full: true if an attribute did not fit into the request; then nothing is sent, and the
 *	function returns -ENOMEM
 * @take: function that parses a message of the reply into @list; NULL if no message is
 *	expected
 * @list: container that @take fills
 *
 * Return: 0 or a negative errno.
 */
int netlink_talk(struct nl_msg *msg, bool full,
		 int (*take)(struct nlmsghdr *hdr, void *list), void *list)
{
	struct reply reply = { .take = take, .list = list };
	struct nl_cb *cb;
	int ret;

	error_text[0] = '\0';
	cb = nl_cb_alloc(NL_CB_DEFAULT);
	if (!cb || full) {
		ret = netlink_set_error(-ENOMEM, "out of memory");
		goto out;
	}
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &reply);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, &reply);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, &reply);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_message, &reply);

	/* nl_send_auto() also sets the sequence number, the port and NLM_F_ACK. */
	ret = nl_send_auto(sock, msg);
	if (ret < 0) {
		ret = netlink_set_error(-EIO, "cannot send to the kernel: %s",
					nl_geterror(ret));
		goto out;
	}
	reply.request = nlmsg_hdr(msg);

	while (!reply.done) {
		ret = nl_recvmsgs(sock, cb);
		if (ret == -NLE_DUMP_INTR) {
			reply.error = netlink_set_error(-EAGAIN,
							"the list changed while it was read");
		} else if (ret < 0 && !reply.done) {
			ret = netlink_set_error(-EIO, "cannot receive from the kernel: %s",
						nl_geterror(ret));
			goto out;
		}
	}
	ret = reply.error;
out:
	nl_cb_put(cb);
	explicit_bzero(nlmsg_hdr(msg), nlmsg_get_max_size(msg));
	nlmsg_free(msg);
	return ret;
}

/* Open a socket and resolve a family; family and module have the same name. */
static int open_family(const char *name)
{
	int on = 1;
	int ret;

	sock = nl_socket_alloc();
	if (!sock)
		return netlink_set_error(-ENOMEM, "out of memory");

	ret = genl_connect(sock);
	if (ret < 0) {
		ret = netlink_set_error(-EIO, "cannot open a netlink socket: %s",
					nl_geterror(ret));
		goto free;
	}
	/* Ask for the kernel's error messages. If this fails, error codes still arrive. */
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		   sizeof(on));
	/* Without NETLINK_CAP_ACK, an error message has a copy of the request with its secret. */
	if (setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_CAP_ACK, &on,
		       sizeof(on))) {
		ret = netlink_set_error(-errno, "cannot set NETLINK_CAP_ACK: %s",
					strerror(errno));
		goto free;
	}

	family = genl_ctrl_resolve(sock, name);
	if (family == -NLE_OBJ_NOTFOUND) {
		ret = netlink_set_error(-ENOENT, "the %s module is not loaded; run: modprobe %s",
					name, name);
		goto free;
	}
	if (family < 0) {
		ret = netlink_set_error(-EIO, "cannot query the kernel for the %s module: %s",
					name, nl_geterror(family));
		goto free;
	}
	return 0;
free:
	nl_socket_free(sock);
	sock = NULL;
	return ret;
}

/**
 * rnbd_open() - open the socket and resolve the family of the client module
 *
 * Return: 0 or a negative errno; -ENOENT if the module is not loaded.
 */
int rnbd_open(void)
{
	return open_family(RNBD_GENL_NAME);
}

/**
 * rnbd_open_target() - open the socket and resolve the family of the target module
 *
 * Return: 0 or a negative errno; -ENOENT if the module is not loaded.
 */
int rnbd_open_target(void)
{
	return open_family(RNBDT_GENL_NAME);
}

void rnbd_close(void)
{
	nl_socket_free(sock);
	sock = NULL;
}

/* ------------------------------------------------------------------------
 * Attributes of a reply. A missing number reads as 0; a missing UUID or string leaves the
 * output unchanged.
 */

uint32_t netlink_u32(struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

uint64_t netlink_u64(struct nlattr *attr)
{
	return attr ? nla_get_u64(attr) : 0;
}

void netlink_uuid(struct nlattr *attr, uint8_t uuid[UUID_SIZE])
{
	if (attr)
		memcpy(uuid, nla_data(attr), UUID_SIZE);
}

void netlink_string(struct nlattr *attr, char *text, size_t size)
{
	if (attr)
		snprintf(text, size, "%s", nla_get_string(attr));
}
