// SPDX-License-Identifier: GPL-2.0-only
/*
 * The conversation with the modules: generic netlink families "rnbd" (client)
 * and "rnbd-target".
 *
 * Operation: one socket, one family, one request at a time. A request is
 * answered by messages as from RNBD_CMD_LIST or RNBDT_CMD_GET_SESSION and ends
 * with an acknowledgment, with an error, or, for a dump, with NLMSG_DONE. libnl
 * hands the error over but does not read the extended acknowledgment behind it,
 * so the text for people and the attribute at fault are taken from there by
 * hand. If the kernel adds the policy that was broken, the limits are told and
 * the option is named.
 *
 * Ownership: the socket lives from rnbd_open() or rnbd_open_target() to
 * rnbd_close(). The caller frees the arrays in struct disks and struct sessions.
 * Concurrency: one thread.
 * Errors: a negative errno; rnbd_error() then has the text for people, the
 * kernel's own if it gave one.
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

#include <rnbd/netlink-target.h>

#include "netlink.h"
#include "util.h"

#define DUMP_TRIES	10

static struct nl_sock *sock;
static int family;
static char error_text[1024];

/**
 * struct reply - what came back for one request
 * @take: puts a message into @list; an error means that it was not understood
 * @list: what the messages tell of; NULL if none are expected
 * @request: what was sent, to look an attribute at fault up
 * @error: 0 or a negative errno
 * @done: nothing more will come
 */
struct reply {
	int (*take)(struct nlmsghdr *hdr, void *list);
	void *list;
	const struct nlmsghdr *request;
	int error;
	bool done;
};

/* The text for people of the last error. */
const char *rnbd_error(void)
{
	return error_text;
}

static int set_error(int error, const char *fmt, ...) __printf(2, 3);

static int set_error(int error, const char *fmt, ...)
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

static const char *option_of(int attr)
{
	switch (attr) {
	case RNBD_ATTR_DISK:
		return "DISK";
	case RNBD_ATTR_ADDR:
		return "ADDR";
	case RNBD_ATTR_EXPORT:
		return "EXPORT";
	case RNBD_ATTR_PORT:
		return "--port";
	case RNBD_ATTR_HOST_ID:
		return "--host-id";
	case RNBD_ATTR_QUEUES:
		return "--queues";
	case RNBD_ATTR_DEPTH:
		return "--queue-depth";
	case RNBD_ATTR_RING_SLOTS:
		return "--ring-slots";
	case RNBD_ATTR_SLOT_SIZE:
		return "--slot-size";
	case RNBD_ATTR_POOL_BYTES:
		return "--pool";
	case RNBD_ATTR_MAX_IO:
		return "--max-io";
	case RNBD_ATTR_POLICY:
		return "--policy";
	case RNBD_ATTR_FAST_IO_FAIL:
		return "--fast-io-fail";
	case RNBD_ATTR_LOSS_TIMEOUT:
		return "--loss-timeout";
	case RNBD_ATTR_KEEPALIVE_MS:
		return "--keepalive";
	case RNBD_ATTR_POLL_QUEUES:
		return "--poll-queues";
	case RNBD_ATTR_INLINE_READ:
		return "--inline-read";
	case RNBD_ATTR_INLINE_WRITE:
		return "--inline-write";
	case RNBD_ATTR_NAME:
		return "--name";
	}
	return NULL;
}

/* The option whose attribute lies at this offset of the request. */
static const char *option_at(const struct nlmsghdr *request, uint32_t offset)
{
	const struct nlattr *attr;

	if (!request || offset < NLMSG_HDRLEN + GENL_HDRLEN ||
	    offset > request->nlmsg_len - sizeof(*attr))
		return NULL;
	attr = (const struct nlattr *)((const char *)request + offset);
	return option_of(nla_type(attr));
}

/* " (1 to 64)" if the policy that was broken has limits */
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

/* Sets the text of an error from the attributes that follow it. */
static void take_extack(const struct reply *reply, struct nlattr *attrs, int len)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];
	const char *option = NULL;
	const char *text = NULL;
	char limits[64] = "";

	error_text[0] = '\0';
	if (len > 0 && !nla_parse(tb, NLMSGERR_ATTR_MAX, attrs, len, NULL)) {
		struct nlattr *msg = tb[NLMSGERR_ATTR_MSG];
		struct nlattr *offset = tb[NLMSGERR_ATTR_OFFS];

		if (msg && nla_len(msg) > 0 &&
		    !((char *)nla_data(msg))[nla_len(msg) - 1])
			text = nla_data(msg);
		/* A text of the module's own says what is wrong all by itself. */
		if (tb[NLMSGERR_ATTR_POLICY]) {
			policy_limits(tb[NLMSGERR_ATTR_POLICY], limits,
				      sizeof(limits));
			if (offset && nla_len(offset) >= 4)
				option = option_at(reply->request,
						   nla_get_u32(offset));
		}
	}

	if (!text && reply->error == -EPERM)
		text = "not permitted; run it as root";
	set_error(0, "%s%s%s%s", option ? option : "", option ? ": " : "",
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

	/* The request is echoed behind the error unless it is capped away. */
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

/* A dump ends with its result, and possibly with an extended acknowledgment. */
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

static struct nla_policy disk_policy[RNBD_ATTR_MAX + 1] = {
	[RNBD_ATTR_DISK]	= { .type = NLA_STRING },
	[RNBD_ATTR_ADDR]	= { .type = NLA_STRING },
	[RNBD_ATTR_PORT]	= { .type = NLA_U16 },
	[RNBD_ATTR_EXPORT]	= { .type = NLA_STRING },
	[RNBD_ATTR_HOST_ID]	= { .minlen = UUID_SIZE },
	[RNBD_ATTR_SESSION_ID]	= { .minlen = UUID_SIZE },
	[RNBD_ATTR_EXPORT_ID]	= { .minlen = UUID_SIZE },
	[RNBD_ATTR_QUEUES]	= { .type = NLA_U32 },
	[RNBD_ATTR_POLL_QUEUES]	= { .type = NLA_U32 },
	[RNBD_ATTR_DEPTH]	= { .type = NLA_U32 },
	[RNBD_ATTR_RING_SLOTS]	= { .type = NLA_U32 },
	[RNBD_ATTR_SLOT_SIZE]	= { .type = NLA_U32 },
	[RNBD_ATTR_POOL_BYTES]	= { .type = NLA_U64 },
	[RNBD_ATTR_MAX_IO]	= { .type = NLA_U32 },
	[RNBD_ATTR_FLAGS]	= { .type = NLA_U32 },
	[RNBD_ATTR_AUTHENTICATED] = { .type = NLA_U32 },
	[RNBD_ATTR_STATE]	= { .type = NLA_STRING },
	[RNBD_ATTR_SIZE]	= { .type = NLA_U64 },
	[RNBD_ATTR_BLOCK_SIZE]	= { .type = NLA_U32 },
	[RNBD_ATTR_REASON]	= { .type = NLA_STRING },
	[RNBD_ATTR_POLICY]	= { .type = NLA_U32 },
	[RNBD_ATTR_FAST_IO_FAIL] = { .type = NLA_U32 },
	[RNBD_ATTR_LOSS_TIMEOUT] = { .type = NLA_U32 },
	[RNBD_ATTR_KEEPALIVE_MS] = { .type = NLA_U32 },
	[RNBD_ATTR_EPOCH]	= { .type = NLA_U32 },
	[RNBD_ATTR_ATTEMPT]	= { .type = NLA_U32 },
	[RNBD_ATTR_NEXT_TRY_MS]	= { .type = NLA_U32 },
	[RNBD_ATTR_LAST_ERROR]	= { .type = NLA_STRING },
	[RNBD_ATTR_RECONNECTS]	= { .type = NLA_U64 },
	[RNBD_ATTR_OLD_STATE]	= { .type = NLA_STRING },
	[RNBD_ATTR_INLINE_READ]	= { .type = NLA_U32 },
	[RNBD_ATTR_INLINE_WRITE] = { .type = NLA_U32 },
	[RNBD_ATTR_NAME]	= { .type = NLA_STRING },
	[RNBD_ATTR_WISHES]	= { .type = NLA_NESTED },
	[RNBD_ATTR_ATTACHED_MS]	= { .type = NLA_U64 },
	[RNBD_ATTR_STATE_MS]	= { .type = NLA_U64 },
	[RNBD_ATTR_EXPORTS]	= { .type = NLA_NESTED },
};

static struct nla_policy session_policy[RNBDT_ATTR_MAX + 1] = {
	[RNBDT_ATTR_SERIAL]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_HOST_ID]	 = { .minlen = UUID_SIZE },
	[RNBDT_ATTR_SESSION_ID]	 = { .minlen = UUID_SIZE },
	[RNBDT_ATTR_EXPORT]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_PORT]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_ADDR]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_STATE]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_OLD_STATE]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_REASON]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_EPOCH]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_QUEUES]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_DEPTH]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_POOL_BYTES]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_SECONDS]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_REQUESTS]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_READ_BYTES]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_WRITE_BYTES] = { .type = NLA_U64 },
};

static uint32_t get_u32(struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

static uint64_t get_u64(struct nlattr *attr)
{
	return attr ? nla_get_u64(attr) : 0;
}

static void get_uuid(struct nlattr *attr, uint8_t uuid[UUID_SIZE])
{
	if (attr)
		memcpy(uuid, nla_data(attr), UUID_SIZE);
}

static void get_string(struct nlattr *attr, char *text, size_t size)
{
	if (attr)
		snprintf(text, size, "%s", nla_get_string(attr));
}

static int get_wishes(struct nlattr *attr, struct wishes *wishes)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];

	if (!attr)
		return 0;
	if (nla_parse_nested(tb, RNBD_ATTR_MAX, attr, disk_policy))
		return -EPROTO;
	wishes->queues = get_u32(tb[RNBD_ATTR_QUEUES]);
	wishes->poll_queues = get_u32(tb[RNBD_ATTR_POLL_QUEUES]);
	wishes->depth = get_u32(tb[RNBD_ATTR_DEPTH]);
	wishes->ring_slots = get_u32(tb[RNBD_ATTR_RING_SLOTS]);
	wishes->slot_size = get_u32(tb[RNBD_ATTR_SLOT_SIZE]);
	wishes->pool_bytes = get_u64(tb[RNBD_ATTR_POOL_BYTES]);
	wishes->max_io = get_u32(tb[RNBD_ATTR_MAX_IO]);
	wishes->inline_read = get_u32(tb[RNBD_ATTR_INLINE_READ]);
	wishes->inline_write = get_u32(tb[RNBD_ATTR_INLINE_WRITE]);
	wishes->flags = get_u32(tb[RNBD_ATTR_FLAGS]);
	return 0;
}

/**
 * rnbd_parse_disk() - read a message about a disk
 * @hdr: message of the family "rnbd"
 * @disk: filled
 *
 * Return: 0, or -EPROTO if it is not understood.
 */
int rnbd_parse_disk(struct nlmsghdr *hdr, struct disk *disk)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];
	uint32_t flags;

	if (genlmsg_parse(hdr, 0, tb, RNBD_ATTR_MAX, disk_policy) ||
	    !tb[RNBD_ATTR_DISK])
		return -EPROTO;
	memset(disk, 0, sizeof(*disk));

	get_string(tb[RNBD_ATTR_DISK], disk->disk, sizeof(disk->disk));
	get_string(tb[RNBD_ATTR_EXPORT], disk->export, sizeof(disk->export));
	get_string(tb[RNBD_ATTR_ADDR], disk->address, sizeof(disk->address));
	get_string(tb[RNBD_ATTR_STATE], disk->state, sizeof(disk->state));
	get_string(tb[RNBD_ATTR_OLD_STATE], disk->old_state,
		   sizeof(disk->old_state));
	get_string(tb[RNBD_ATTR_REASON], disk->reason, sizeof(disk->reason));
	get_string(tb[RNBD_ATTR_LAST_ERROR], disk->last_error,
		   sizeof(disk->last_error));
	disk->policy = get_u32(tb[RNBD_ATTR_POLICY]);
	disk->fast_io_fail = get_u32(tb[RNBD_ATTR_FAST_IO_FAIL]);
	disk->loss_timeout = get_u32(tb[RNBD_ATTR_LOSS_TIMEOUT]);
	disk->keepalive_ms = get_u32(tb[RNBD_ATTR_KEEPALIVE_MS]);
	disk->epoch = get_u32(tb[RNBD_ATTR_EPOCH]);
	disk->attempt = get_u32(tb[RNBD_ATTR_ATTEMPT]);
	disk->next_try_ms = get_u32(tb[RNBD_ATTR_NEXT_TRY_MS]);
	disk->reconnects = get_u64(tb[RNBD_ATTR_RECONNECTS]);
	if (tb[RNBD_ATTR_PORT])
		disk->port = nla_get_u16(tb[RNBD_ATTR_PORT]);
	disk->size = get_u64(tb[RNBD_ATTR_SIZE]);
	disk->block_size = get_u32(tb[RNBD_ATTR_BLOCK_SIZE]);
	disk->queues = get_u32(tb[RNBD_ATTR_QUEUES]);
	disk->poll_queues = get_u32(tb[RNBD_ATTR_POLL_QUEUES]);
	disk->depth = get_u32(tb[RNBD_ATTR_DEPTH]);
	disk->ring_slots = get_u32(tb[RNBD_ATTR_RING_SLOTS]);
	disk->slot_size = get_u32(tb[RNBD_ATTR_SLOT_SIZE]);
	disk->pool_bytes = get_u64(tb[RNBD_ATTR_POOL_BYTES]);
	disk->max_io = get_u32(tb[RNBD_ATTR_MAX_IO]);
	flags = get_u32(tb[RNBD_ATTR_FLAGS]);
	disk->readonly = flags & RNBD_FLAG_READONLY;
	disk->early_release = flags & RNBD_FLAG_EARLY_RELEASE;
	disk->copy = flags & RNBD_FLAG_COPY;
	disk->authenticated = get_u32(tb[RNBD_ATTR_AUTHENTICATED]);
	get_uuid(tb[RNBD_ATTR_HOST_ID], disk->host_id);
	get_uuid(tb[RNBD_ATTR_SESSION_ID], disk->session_id);
	get_uuid(tb[RNBD_ATTR_EXPORT_ID], disk->export_id);
	get_string(tb[RNBD_ATTR_NAME], disk->name, sizeof(disk->name));
	disk->attached_ms = get_u64(tb[RNBD_ATTR_ATTACHED_MS]);
	disk->state_ms = get_u64(tb[RNBD_ATTR_STATE_MS]);
	return get_wishes(tb[RNBD_ATTR_WISHES], &disk->wishes);
}

/**
 * rnbd_parse_session() - read a message about a session of the target
 * @hdr: message of the family "rnbd-target"
 * @session: filled
 *
 * Return: 0, or -EPROTO if it is not understood.
 */
int rnbd_parse_session(struct nlmsghdr *hdr, struct session *session)
{
	struct nlattr *tb[RNBDT_ATTR_MAX + 1];

	if (genlmsg_parse(hdr, 0, tb, RNBDT_ATTR_MAX, session_policy) ||
	    !tb[RNBDT_ATTR_SERIAL])
		return -EPROTO;
	memset(session, 0, sizeof(*session));

	session->serial = nla_get_u32(tb[RNBDT_ATTR_SERIAL]);
	get_uuid(tb[RNBDT_ATTR_HOST_ID], session->host_id);
	get_uuid(tb[RNBDT_ATTR_SESSION_ID], session->session_id);
	get_string(tb[RNBDT_ATTR_EXPORT], session->export, sizeof(session->export));
	get_string(tb[RNBDT_ATTR_PORT], session->port, sizeof(session->port));
	get_string(tb[RNBDT_ATTR_ADDR], session->address, sizeof(session->address));
	get_string(tb[RNBDT_ATTR_STATE], session->state, sizeof(session->state));
	get_string(tb[RNBDT_ATTR_OLD_STATE], session->old_state,
		   sizeof(session->old_state));
	get_string(tb[RNBDT_ATTR_REASON], session->reason, sizeof(session->reason));
	session->epoch = get_u32(tb[RNBDT_ATTR_EPOCH]);
	session->was_live = tb[RNBDT_ATTR_SECONDS];
	session->seconds = get_u64(tb[RNBDT_ATTR_SECONDS]);
	session->queues = get_u32(tb[RNBDT_ATTR_QUEUES]);
	session->depth = get_u32(tb[RNBDT_ATTR_DEPTH]);
	session->pool_bytes = get_u64(tb[RNBDT_ATTR_POOL_BYTES]);
	session->requests = get_u64(tb[RNBDT_ATTR_REQUESTS]);
	session->read_bytes = get_u64(tb[RNBDT_ATTR_READ_BYTES]);
	session->write_bytes = get_u64(tb[RNBDT_ATTR_WRITE_BYTES]);
	return 0;
}

static int take_disk(struct nlmsghdr *hdr, void *list)
{
	struct disks *disks = list;

	disks->disk = xrealloc(disks->disk, disks->nr + 1, sizeof(*disks->disk));
	return rnbd_parse_disk(hdr, &disks->disk[disks->nr++]);
}

static int take_session(struct nlmsghdr *hdr, void *list)
{
	struct sessions *sessions = list;

	sessions->session = xrealloc(sessions->session, sessions->nr + 1,
				     sizeof(*sessions->session));
	return rnbd_parse_session(hdr, &sessions->session[sessions->nr++]);
}

static int take_export(struct nlattr *item, struct exports *exports)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];
	struct export *export;

	if (nla_parse_nested(tb, RNBD_ATTR_MAX, item, disk_policy) ||
	    !tb[RNBD_ATTR_EXPORT])
		return -EPROTO;
	exports->export = xrealloc(exports->export, exports->nr + 1,
				   sizeof(*exports->export));
	export = &exports->export[exports->nr++];
	memset(export, 0, sizeof(*export));
	get_string(tb[RNBD_ATTR_EXPORT], export->name, sizeof(export->name));
	get_uuid(tb[RNBD_ATTR_EXPORT_ID], export->uuid);
	export->size = get_u64(tb[RNBD_ATTR_SIZE]);
	export->block_size = get_u32(tb[RNBD_ATTR_BLOCK_SIZE]);
	export->readonly = get_u32(tb[RNBD_ATTR_FLAGS]) & RNBD_FLAG_READONLY;
	return 0;
}

static int take_exports(struct nlmsghdr *hdr, void *list)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];
	struct nlattr *item;
	int left;

	if (genlmsg_parse(hdr, 0, tb, RNBD_ATTR_MAX, disk_policy) ||
	    !tb[RNBD_ATTR_EXPORTS])
		return -EPROTO;
	nla_for_each_nested(item, tb[RNBD_ATTR_EXPORTS], left)
		if (nla_type(item) == RNBD_ATTR_EXPORT_ITEM &&
		    take_export(item, list))
			return -EPROTO;
	return 0;
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct reply *reply = arg;

	if (reply->list && reply->take(nlmsg_hdr(msg), reply->list))
		reply->error = set_error(-EPROTO,
					 "answer not understood; is the module of this version?");
	return NL_OK;
}

/* ------------------------------------------------------------------------
 * Requests
 */

static struct nl_msg *new_request(uint8_t cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
				 flags, cmd, RNBD_GENL_VERSION)) {
		fputs("rnbd: out of memory\n", stderr);
		exit(RNBD_EXIT_FAIL);
	}
	return msg;
}

/*
 * Sends a request, frees it, and waits for its end. @full tells that an
 * attribute did not fit into it. @take puts what comes back into @list.
 */
static int talk(struct nl_msg *msg, bool full,
		int (*take)(struct nlmsghdr *hdr, void *list), void *list)
{
	struct reply reply = { .take = take, .list = list };
	struct nl_cb *cb;
	int ret;

	error_text[0] = '\0';
	cb = nl_cb_alloc(NL_CB_DEFAULT);
	if (!cb || full) {
		ret = set_error(-ENOMEM, "out of memory");
		goto out;
	}
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &reply);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, &reply);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, &reply);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_message, &reply);

	/* Fills in sequence number, port and NLM_F_ACK. */
	ret = nl_send_auto(sock, msg);
	if (ret < 0) {
		ret = set_error(-EIO, "cannot send to the kernel: %s",
				nl_geterror(ret));
		goto out;
	}
	reply.request = nlmsg_hdr(msg);

	while (!reply.done) {
		ret = nl_recvmsgs(sock, cb);
		if (ret == -NLE_DUMP_INTR) {
			reply.error = set_error(-EAGAIN, "the list changed while it was read");
		} else if (ret < 0 && !reply.done) {
			ret = set_error(-EIO, "cannot receive from the kernel: %s",
					nl_geterror(ret));
			goto out;
		}
	}
	ret = reply.error;
out:
	nl_cb_put(cb);
	nlmsg_free(msg);
	return ret;
}

/* Families are called like their modules. */
static int open_family(const char *name)
{
	int on = 1;
	int ret;

	sock = nl_socket_alloc();
	if (!sock)
		return set_error(-ENOMEM, "out of memory");

	ret = genl_connect(sock);
	if (ret < 0) {
		ret = set_error(-EIO, "cannot open a netlink socket: %s",
				nl_geterror(ret));
		goto free;
	}
	/* Without these there is no text for people; the errors remain. */
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		   sizeof(on));
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_CAP_ACK, &on,
		   sizeof(on));

	family = genl_ctrl_resolve(sock, name);
	if (family == -NLE_OBJ_NOTFOUND) {
		ret = set_error(-ENOENT, "the %s module is not loaded; run: modprobe %s",
				name, name);
		goto free;
	}
	if (family < 0) {
		ret = set_error(-EIO, "cannot ask the kernel for the %s module: %s",
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
 * rnbd_open() - open the socket and find the client's family
 *
 * Return: 0 or a negative errno; -ENOENT if the module is not loaded.
 */
int rnbd_open(void)
{
	return open_family(RNBD_GENL_NAME);
}

/**
 * rnbd_open_target() - open the socket and find the target's family
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

/**
 * rnbd_attach() - attach an export
 * @attach: what is wished
 * @disk: what was granted
 *
 * Return: 0 or a negative errno.
 */
int rnbd_attach(const struct attach *attach, struct disk *disk)
{
	struct nl_msg *msg = new_request(RNBD_CMD_ATTACH, 0);
	struct disks disks = { };
	bool full;
	int ret;

	full = nla_put_string(msg, RNBD_ATTR_ADDR, attach->address) ||
	       nla_put_u16(msg, RNBD_ATTR_PORT, attach->port) ||
	       nla_put_string(msg, RNBD_ATTR_EXPORT, attach->export) ||
	       (attach->name &&
		nla_put_string(msg, RNBD_ATTR_NAME, attach->name)) ||
	       nla_put(msg, RNBD_ATTR_HOST_ID, UUID_SIZE, attach->host_id) ||
	       (attach->queues &&
		nla_put_u32(msg, RNBD_ATTR_QUEUES, attach->queues)) ||
	       (attach->depth &&
		nla_put_u32(msg, RNBD_ATTR_DEPTH, attach->depth)) ||
	       (attach->ring_slots &&
		nla_put_u32(msg, RNBD_ATTR_RING_SLOTS, attach->ring_slots)) ||
	       (attach->slot_size &&
		nla_put_u32(msg, RNBD_ATTR_SLOT_SIZE, attach->slot_size)) ||
	       (attach->pool_bytes &&
		nla_put_u64(msg, RNBD_ATTR_POOL_BYTES, attach->pool_bytes)) ||
	       (attach->max_io &&
		nla_put_u32(msg, RNBD_ATTR_MAX_IO, attach->max_io)) ||
	       nla_put_u32(msg, RNBD_ATTR_POLICY, attach->policy) ||
	       nla_put_u32(msg, RNBD_ATTR_FAST_IO_FAIL, attach->fast_io_fail) ||
	       (attach->loss_timeout != ATTACH_DEFAULT &&
		nla_put_u32(msg, RNBD_ATTR_LOSS_TIMEOUT, attach->loss_timeout)) ||
	       (attach->poll_queues &&
		nla_put_u32(msg, RNBD_ATTR_POLL_QUEUES, attach->poll_queues)) ||
	       (attach->inline_read != ATTACH_DEFAULT &&
		nla_put_u32(msg, RNBD_ATTR_INLINE_READ, attach->inline_read)) ||
	       (attach->inline_write != ATTACH_DEFAULT &&
		nla_put_u32(msg, RNBD_ATTR_INLINE_WRITE, attach->inline_write)) ||
	       (attach->keepalive_ms &&
		nla_put_u32(msg, RNBD_ATTR_KEEPALIVE_MS, attach->keepalive_ms)) ||
	       (attach->flags &&
		nla_put_u32(msg, RNBD_ATTR_FLAGS, attach->flags)) ||
	       (attach->secret &&
		nla_put(msg, RNBD_ATTR_SECRET, RNBD_SECRET_SIZE, attach->secret));

	ret = talk(msg, full, take_disk, &disks);
	if (!ret && disks.nr != 1)
		ret = set_error(-EPROTO, "the answer names no disk; see: rnbd list");
	if (!ret)
		*disk = disks.disk[0];
	free(disks.disk);
	return ret;
}

/**
 * rnbd_detach() - detach a disk
 * @name: of the disk
 * @force: although it is open
 *
 * Return: 0 or a negative errno.
 */
int rnbd_detach(const char *name, bool force)
{
	struct nl_msg *msg = new_request(RNBD_CMD_DETACH, 0);
	bool full;

	full = nla_put_string(msg, RNBD_ATTR_DISK, name) ||
	       (force && nla_put_u32(msg, RNBD_ATTR_FLAGS, RNBD_FLAG_FORCE));
	return talk(msg, full, NULL, NULL);
}

/**
 * rnbd_list() - what is attached
 * @name: of one disk, or NULL for all of them
 * @disks: where they go; the caller frees disks->disk
 *
 * Return: 0 or a negative errno.
 */
int rnbd_list(const char *name, struct disks *disks)
{
	int tries;
	int ret;

	if (name) {
		struct nl_msg *msg = new_request(RNBD_CMD_LIST, 0);

		return talk(msg, nla_put_string(msg, RNBD_ATTR_DISK, name),
			    take_disk, disks);
	}

	/* Again if a disk came or went in between. */
	for (tries = 0; tries < DUMP_TRIES; tries++) {
		disks->nr = 0;
		ret = talk(new_request(RNBD_CMD_LIST, NLM_F_DUMP), false,
			   take_disk, disks);
		if (ret != -EAGAIN)
			break;
	}
	return ret;
}

/**
 * rnbd_discover() - what a target lets a host attach
 * @address: of the target, numeric
 * @port: of the target
 * @host_id: the host
 * @secret: of the host, or NULL
 * @exports: where they go; the caller frees exports->export
 *
 * Return: 0 or a negative errno.
 */
int rnbd_discover(const char *address, uint16_t port, const uint8_t host_id[UUID_SIZE],
		  const uint8_t *secret, struct exports *exports)
{
	struct nl_msg *msg = new_request(RNBD_CMD_DISCOVER, NLM_F_DUMP);
	bool full;

	full = nla_put_string(msg, RNBD_ATTR_ADDR, address) ||
	       nla_put_u16(msg, RNBD_ATTR_PORT, port) ||
	       nla_put(msg, RNBD_ATTR_HOST_ID, UUID_SIZE, host_id) ||
	       (secret && nla_put(msg, RNBD_ATTR_SECRET, RNBD_SECRET_SIZE, secret));
	return talk(msg, full, take_exports, exports);
}

/**
 * rnbd_session_list() - who is attached to this target
 * @sessions: where they go; the caller frees sessions->session
 *
 * Return: 0 or a negative errno.
 */
int rnbd_session_list(struct sessions *sessions)
{
	return talk(new_request(RNBDT_CMD_GET_SESSION, NLM_F_DUMP), false,
		    take_session, sessions);
}
