// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink without a library: libraries do not send invalid messages.
 *
 * Operation: the callers build a request byte by byte, so its lengths can be wrong. All
 * messages up to the acknowledgment, the error or the end of the dump form one answer. The
 * kernel drops a request whose total length is invalid, so nl_talk() does not wait for a reply to
 * it. If the kernel replies nevertheless, the reply has an old sequence number, which ends the
 * program at the next request.
 * Errors: a failure of the socket ends the program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <rnbd/netlink.h>

#include "abuse.h"

/* Receive timeout; an attach takes longest, because it can wait for the network. */
#define ANSWER_SECONDS	90

static uint32_t sequence;

/* Open a socket that receives extended acknowledgments. */
int nl_open(void)
{
	struct timeval patience = { .tv_sec = ANSWER_SECONDS * seconds_factor };
	int on = 1;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd < 0)
		fail("no netlink socket: %s", strerror(errno));
	if (setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		fail("netlink socket: %s", strerror(errno));
	return fd;
}

/* Start a message with valid headers. */
void nl_begin(struct message *msg, uint16_t type, uint16_t flags, uint8_t cmd)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)msg->buf;
	struct genlmsghdr *genl = NLMSG_DATA(hdr);

	memset(msg->buf, 0, NLMSG_LENGTH(GENL_HDRLEN));
	msg->len = NLMSG_LENGTH(GENL_HDRLEN);
	hdr->nlmsg_type = type;
	hdr->nlmsg_flags = NLM_F_REQUEST | flags;
	genl->cmd = cmd;
	genl->version = 1;
}

/* Add an attribute; @attr may include flags such as NLA_F_NESTED. */
void nl_put(struct message *msg, uint16_t attr, const void *data, size_t len)
{
	struct nlattr *nla = (struct nlattr *)(msg->buf + msg->len);
	size_t all = NLA_HDRLEN + NLA_ALIGN(len);

	if (msg->len + all > sizeof(msg->buf))
		fail("message too long");
	memset(nla, 0, all);
	nla->nla_type = attr;
	nla->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy(nla + 1, data, len);
	msg->len += all;
}

static void take_tlvs(const uint8_t *at, size_t left, struct answer *answer)
{
	while (left >= sizeof(struct nlattr)) {
		const struct nlattr *nla = (const struct nlattr *)at;
		size_t len = nla->nla_len, all = NLA_ALIGN(len);

		if (len < NLA_HDRLEN || len > left)
			fail("invalid extended acknowledgment");
		len -= NLA_HDRLEN;
		switch (nla->nla_type & NLA_TYPE_MASK) {
		case NLMSGERR_ATTR_MSG:
			snprintf(answer->text, sizeof(answer->text), "%.*s", (int)len,
				 (const char *)(nla + 1));
			break;
		case NLMSGERR_ATTR_OFFS:
			memcpy(&answer->at, nla + 1, sizeof(answer->at));
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			memcpy(&answer->missing, nla + 1, sizeof(answer->missing));
			break;
		}
		at += all;
		left -= all < left ? all : left;
	}
}

/*
 * Record whether a message contains an id, and the name of its disk. The attribute numbers are
 * those of the client's family; no caller uses these results for a message of the target's family.
 */
static void take_message(const struct nlmsghdr *hdr, struct answer *answer)
{
	const uint8_t *at = (const uint8_t *)NLMSG_DATA(hdr) + GENL_HDRLEN;
	size_t left = hdr->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);

	answer->messages++;
	while (left >= sizeof(struct nlattr)) {
		const struct nlattr *nla = (const struct nlattr *)at;
		size_t all = NLA_ALIGN(nla->nla_len);

		if (nla->nla_len < NLA_HDRLEN || nla->nla_len > left)
			fail("the kernel sent an attribute that does not fit");
		if (nla->nla_type == RNBD_ATTR_HOST_ID || nla->nla_type == RNBD_ATTR_SESSION_ID)
			answer->ids = true;
		if (nla->nla_type == RNBD_ATTR_DISK)
			snprintf(answer->disk, sizeof(answer->disk), "%.*s",
				 nla->nla_len - NLA_HDRLEN, (const char *)(nla + 1));
		at += all;
		left -= all < left ? all : left;
	}
}

/* Process one message; return true if it is the last one of the answer. */
static bool take(const struct nlmsghdr *hdr, uint32_t seq, struct answer *answer)
{
	const struct nlmsgerr *err = NLMSG_DATA(hdr);
	size_t head;

	if (hdr->nlmsg_seq != seq)
		fail("reply to message %u, wanted a reply to %u", hdr->nlmsg_seq, seq);
	if (hdr->nlmsg_type == NLMSG_ERROR)
		head = sizeof(*err);
	else if (hdr->nlmsg_type == NLMSG_DONE)
		head = sizeof(err->error);
	else
		head = 0;
	if (!head) {
		take_message(hdr, answer);
		return false;
	}
	answer->error = -err->error;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS)
		take_tlvs((const uint8_t *)err + head,
			  hdr->nlmsg_len - NLMSG_LENGTH(head), answer);
	return true;
}

static void take_all(int fd, uint32_t seq, struct answer *answer)
{
	static _Alignas(NLMSG_ALIGNTO) uint8_t buf[65536];

	for (;;) {
		ssize_t got = recv(fd, buf, sizeof(buf), 0);
		const struct nlmsghdr *hdr = (const struct nlmsghdr *)buf;

		if (got < 0)
			fail("no reply: %s", strerror(errno));
		for (; NLMSG_OK(hdr, got); hdr = NLMSG_NEXT(hdr, got))
			if (take(hdr, seq, answer))
				return;
	}
}

/* Send bytes unchanged. */
static void transmit(int fd, const void *buf, size_t len)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(fd, buf, len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		fail("cannot send: %s", strerror(errno));
}

/*
 * Send a message and wait for the answer of the kernel. nl_talk() sets nlmsg_len only if it is
 * 0. The kernel drops a message with an invalid nlmsg_len, so there is no answer to it.
 */
void nl_talk(int fd, struct message *msg, struct answer *answer)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)msg->buf;
	uint32_t seq = ++sequence;

	memset(answer, 0, sizeof(*answer));
	hdr->nlmsg_seq = seq;
	if (!hdr->nlmsg_len)
		hdr->nlmsg_len = msg->len;
	if ((hdr->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		hdr->nlmsg_flags |= NLM_F_ACK;
	transmit(fd, msg->buf, msg->len);
	if (hdr->nlmsg_len < NLMSG_HDRLEN || hdr->nlmsg_len > msg->len) {
		answer->silent = true;
		return;
	}
	take_all(fd, seq, answer);
}

/* Print the bytes of a message, so that it can be sent again. */
void nl_show(const struct message *msg)
{
	size_t i;

	for (i = 0; i < msg->len; i++)
		fprintf(stderr, "%02x%s", msg->buf[i], i % 32 == 31 ? "\n" : "");
	fputc('\n', stderr);
}

static uint32_t group_id(const struct nlattr *groups)
{
	/* the family has one group: skip the headers of the two enclosing nested attributes */
	const uint8_t *at = (const uint8_t *)(groups + 2), *end;

	end = (const uint8_t *)groups + groups->nla_len;
	while (at + sizeof(struct nlattr) <= end) {
		const struct nlattr *nla = (const struct nlattr *)at;

		if ((nla->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GRP_ID)
			return *(const uint32_t *)(nla + 1);
		at += NLA_ALIGN(nla->nla_len);
	}
	return 0;
}

/*
 * Return the id of a family, or 0 if the kernel does not have it. Store the id of the multicast
 * group of the family in @group, which may be NULL.
 */
int nl_family(int fd, const char *name, unsigned int *group)
{
	static _Alignas(NLMSG_ALIGNTO) uint8_t buf[65536];
	const struct nlmsghdr *hdr = (const struct nlmsghdr *)buf;
	const struct nlattr *nla;
	struct message msg;
	int family = 0;
	ssize_t got;
	size_t left;

	nl_begin(&msg, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
	nl_put(&msg, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	((struct nlmsghdr *)msg.buf)->nlmsg_len = msg.len;
	transmit(fd, msg.buf, msg.len);
	got = recv(fd, buf, sizeof(buf), 0);
	if (got < 0)
		fail("family %s: %s", name, strerror(errno));
	if (hdr->nlmsg_type == NLMSG_ERROR)
		return 0;
	nla = (const struct nlattr *)((const uint8_t *)NLMSG_DATA(hdr) + GENL_HDRLEN);
	left = got - NLMSG_LENGTH(GENL_HDRLEN);
	while (left >= sizeof(*nla)) {
		size_t all = NLA_ALIGN(nla->nla_len);

		if ((nla->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_FAMILY_ID)
			family = *(const uint16_t *)(nla + 1);
		if (group && (nla->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GROUPS)
			*group = group_id(nla);
		nla = (const struct nlattr *)((const uint8_t *)nla + all);
		left -= all < left ? all : left;
	}
	return family;
}

/* Join a multicast group; return 0 or an errno. */
int nl_join(int fd, unsigned int group)
{
	return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) ?
	       errno : 0;
}
