// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send random messages.
 *
 * Operation: most messages have a valid header. Attributes have random numbers, flags, lengths
 * and contents; these are valid often enough that some messages pass many checks. No address has
 * a route, so no attach succeeds. The reply to a rejected message must have an error message,
 * unless the command is unknown.
 * Errors: a problem is printed with the bytes of the message; the same seed repeats all
 * messages.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rnbd/netlink.h>

#include "abuse.h"

#define ATTRS_MAX	12

static uint64_t seed;

static unsigned int below(unsigned int n)
{
	return roll(&seed) % n;
}

static bool one_in(unsigned int n)
{
	return !below(n);
}

static size_t random_text(char *to)
{
	static const char *const texts[] = {
		"192.0.2.1", "192.0.2.1%1", "::ffff:192.0.2.1", "2001:db8::1", "fe80::1%nosuch",
		"disk0", "rnbd0", "rnbd4294967296", "mine", "", ".", "a/b", "\x80", "%n",
	};
	const char *text = texts[below(ARRAY_SIZE(texts))];
	size_t len = strlen(text) + 1;

	memcpy(to, text, len);
	/* sometimes without the NUL */
	return len - one_in(8);
}

static size_t random_data(uint8_t *to)
{
	static const uint16_t sizes[] = { 0, 1, 2, 3, 4, 4, 4, 4, 8, 8, 16, 16, 17, 48, 64, 300 };
	size_t len = sizes[below(ARRAY_SIZE(sizes))], i;
	bool small = one_in(2);

	if (one_in(3))
		return random_text((char *)to);
	for (i = 0; i < len; i++)
		to[i] = small && i ? 0 : roll(&seed);
	return len;
}

/* Add an attribute with a plausible value and its proper size (RNBD_ATTR_SECRET: a wrong size). */
static void sensible_attr(struct message *msg, uint16_t attr)
{
	uint64_t value = one_in(4) ? roll(&seed) : 1u << below(21);

	switch (attr) {
	case RNBD_ATTR_PORT:
		nl_put(msg, attr, &value, 2);
		break;
	case RNBD_ATTR_POOL_BYTES:
		nl_put(msg, attr, &value, 8);
		break;
	case RNBD_ATTR_NAME:
		nl_put(msg, attr, "mine", 5);
		break;
	case RNBD_ATTR_DISK:
		nl_put(msg, attr, "rnbd0", 6);
		break;
	case RNBD_ATTR_POLICY:
		value = below(3);
		nl_put(msg, attr, &value, 4);
		break;
	case RNBD_ATTR_FLAGS:
		value = below(17);
		nl_put(msg, attr, &value, 4);
		break;
	default:
		nl_put(msg, attr, &value, 4);
		break;
	}
}

static void random_attr(struct message *msg)
{
	uint16_t attr = one_in(10) ? below(0x10000) : below(RNBD_ATTR_MAX + 3);
	uint8_t data[512];
	struct nlattr *nla;
	size_t len, at = msg->len;

	if (one_in(20))
		attr |= NLA_F_NESTED;
	len = random_data(data);
	nl_put(msg, attr, data, len);
	nla = (struct nlattr *)(msg->buf + at);
	if (one_in(40))
		nla->nla_len = below(0x10000);
}

/* Add an attribute that the command probably takes. */
static void likely_attr(struct message *msg, uint8_t cmd)
{
	static const uint16_t of_attach[] = {
		RNBD_ATTR_PORT, RNBD_ATTR_NAME, RNBD_ATTR_QUEUES, RNBD_ATTR_POLL_QUEUES,
		RNBD_ATTR_DEPTH, RNBD_ATTR_RING_SLOTS, RNBD_ATTR_SLOT_SIZE,
		RNBD_ATTR_POOL_BYTES, RNBD_ATTR_MAX_IO, RNBD_ATTR_INLINE_READ,
		RNBD_ATTR_INLINE_WRITE, RNBD_ATTR_FAST_IO_FAIL, RNBD_ATTR_LOSS_TIMEOUT,
		RNBD_ATTR_KEEPALIVE_MS, RNBD_ATTR_POLICY, RNBD_ATTR_FLAGS,
	};
	static const uint16_t of_disk[] = { RNBD_ATTR_DISK, RNBD_ATTR_FLAGS, RNBD_ATTR_SECRET };

	if (cmd == RNBD_CMD_ATTACH)
		sensible_attr(msg, of_attach[below(ARRAY_SIZE(of_attach))]);
	else if (cmd == RNBD_CMD_DISCOVER)
		sensible_attr(msg, RNBD_ATTR_PORT);
	else
		sensible_attr(msg, of_disk[below(ARRAY_SIZE(of_disk))]);
}

/*
 * Add the attributes that an attach or a discovery requires, but not always RNBD_ATTR_EXPORT.
 * Without them the module rejects the message before its last checks of the other attributes.
 */
static void some_sense(struct message *msg, uint8_t cmd)
{
	static const uint8_t id[16] = { 1 };

	nl_put(msg, RNBD_ATTR_ADDR, "192.0.2.1", 10);
	nl_put(msg, RNBD_ATTR_HOST_ID, id, sizeof(id));
	if (cmd == RNBD_CMD_ATTACH && !one_in(10))
		nl_put(msg, RNBD_ATTR_EXPORT, "disk0", 6);
}

static void random_message(struct message *msg, const int *families, unsigned int nr_families)
{
	static const uint8_t cmds[] = { RNBD_CMD_ATTACH, RNBD_CMD_ATTACH, RNBD_CMD_ATTACH,
					RNBD_CMD_DETACH, RNBD_CMD_LIST, RNBD_CMD_DISCOVER,
					RNBD_CMD_SET_SECRET };
	uint8_t cmd = one_in(20) ? below(256) : cmds[below(ARRAY_SIZE(cmds))];
	bool dump = one_in(cmd == RNBD_CMD_DISCOVER ? 4 : 20);
	struct nlmsghdr *hdr = (struct nlmsghdr *)msg->buf;
	bool likely = !one_in(3);
	unsigned int nr = below(likely ? 6 : ATTRS_MAX);

	if (one_in(8)) {
		/* the target's family has one command, a dump */
		nl_begin(msg, families[nr_families - 1], NLM_F_DUMP, one_in(4) ? cmd : 1);
		nr /= 4;
	} else {
		nl_begin(msg, families[0], dump ? NLM_F_DUMP : 0, cmd);
		if (likely && (cmd == RNBD_CMD_ATTACH || cmd == RNBD_CMD_DISCOVER))
			some_sense(msg, cmd);
	}
	if (one_in(20))
		hdr->nlmsg_flags |= below(0x10000) & ~NLM_F_DUMP;
	if (one_in(20))
		((struct genlmsghdr *)NLMSG_DATA(hdr))->version = below(256);
	if (one_in(40))
		((struct genlmsghdr *)NLMSG_DATA(hdr))->reserved = below(0x10000);
	while (nr--) {
		if (likely && !one_in(10))
			likely_attr(msg, cmd);
		else
			random_attr(msg);
	}
	if (one_in(20) && msg->len > NLMSG_LENGTH(GENL_HDRLEN))
		msg->len -= below(msg->len - NLMSG_LENGTH(GENL_HDRLEN));
}

/* Send @nr random messages; the same @start gives the same messages. */
void soup_send(int fd, const int *families, unsigned int nr_families, unsigned int nr,
	       uint64_t start)
{
	unsigned int errors[256] = { 0 }, i;
	struct answer answer;
	struct message msg;

	seed = start;
	printf("soup: %u messages, seed %llu\n", nr, (unsigned long long)start);
	for (i = 0; i < nr; i++) {
		random_message(&msg, families, nr_families);
		nl_talk(fd, &msg, &answer);
		if (answer.silent)
			continue;
		errors[answer.error & 255]++;
		/* generic netlink rejects an unknown command or dump without an error message */
		if (!answer.error || answer.error == EOPNOTSUPP)
			continue;
		if (answer.text[0])
			continue;
		complain("message %u: error %d (%s)", i, answer.error, answer.text);
		nl_show(&msg);
	}
	for (i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i])
			printf("  %s: %u\n", i ? strerror(i) : "no error", errors[i]);
}
