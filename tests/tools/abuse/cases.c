// SPDX-License-Identifier: GPL-2.0-only
/*
 * Break every rule of every attribute and header, one rule at a time.
 *
 * Operation: each command has a list of attributes with their types and limits, and a valid
 * message. The module accepts the attributes of the valid message and then returns a known errno
 * (@beyond), for example because no route leads to the address or the disk does not exist. A value
 * at a limit must give that errno. A value beyond the limit must be rejected with an error message.
 * Generic netlink itself rejects unknown commands and incomplete headers, without an error message.
 * Errors: a wrong reply is printed, and the next case runs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rnbd/netlink-target.h>
#include <rnbd/netlink.h>

#include "abuse.h"

enum kind { STRING, U16, U32, U64, BYTES };

#define NEEDED	0x1	/* required: the command fails without it */
#define MASK	0x2	/* @max is a mask of the allowed bits */

/**
 * struct field - an attribute that a command takes
 * @attr: Attribute number
 * @kind: Attribute type
 * @flags: NEEDED, MASK
 * @min: Smallest valid value
 * @max: Largest valid value; STRING: largest number of characters; BYTES: exact length in bytes
 * @step: Valid values are multiples of this number; 0: no restriction
 * @valid_text: Valid text, for STRING
 */
struct field {
	uint16_t attr;
	enum kind kind;
	unsigned int flags;
	uint64_t min, max, step;
	const char *valid_text;
};

/**
 * struct command - a command and the attributes of its valid message
 * @name: Name in complaints
 * @cmd: Command number
 * @dump: True if the command is called as a dump
 * @both: True if the command exists as a dump and as a plain request
 * @beyond: errno of the valid message after it has passed all attribute checks
 * @fields: Attributes of the command
 * @nr: Number of elements in @fields
 * @max: Highest attribute number of the family
 */
struct command {
	const char *name;
	uint8_t cmd;
	bool dump;
	bool both;
	int beyond;
	const struct field *fields;
	unsigned int nr;
	uint16_t max;
};

#define NOWHERE	"192.0.2.1"	/* TEST-NET-1: no route */

static const struct field attach_fields[] = {
	{ RNBD_ATTR_ADDR, STRING, NEEDED, 0, 47, 0, NOWHERE },
	{ RNBD_ATTR_HOST_ID, BYTES, NEEDED, 0, 16, 0, NULL },
	{ RNBD_ATTR_SECRET, BYTES, 0, 0, 32, 0, NULL },
	{ RNBD_ATTR_PORT, U16, 0, 1, UINT16_MAX, 0, NULL },
	{ RNBD_ATTR_EXPORT, STRING, NEEDED, 0, 63, 0, "disk0" },
	{ RNBD_ATTR_NAME, STRING, 0, 0, 63, 0, "mine" },
	{ RNBD_ATTR_QUEUES, U32, 0, 1, 1024, 0, NULL },
	{ RNBD_ATTR_POLL_QUEUES, U32, 0, 0, 1023, 0, NULL },
	{ RNBD_ATTR_DEPTH, U32, 0, 1, 1024, 0, NULL },
	{ RNBD_ATTR_RING_SLOTS, U32, 0, 4, 1024, 0, NULL },
	{ RNBD_ATTR_SLOT_SIZE, U32, 0, 1024, 65536, 64, NULL },
	{ RNBD_ATTR_POOL_BYTES, U64, 0, 4096, UINT64_MAX, 0, NULL },
	{ RNBD_ATTR_POOL_FLOOR, U64, 0, 0, UINT64_MAX, 0, NULL },
	{ RNBD_ATTR_MAX_IO, U32, 0, 4096, 16 << 20, 4096, NULL },
	{ RNBD_ATTR_INLINE_READ, U32, 0, 0, RNBD_INLINE_MAX, 0, NULL },
	{ RNBD_ATTR_INLINE_WRITE, U32, 0, 0, RNBD_INLINE_MAX, 0, NULL },
	{ RNBD_ATTR_FAST_IO_FAIL, U32, 0, 0, 86400, 0, NULL },
	{ RNBD_ATTR_LOSS_TIMEOUT, U32, 0, 0, 86400, 0, NULL },
	{ RNBD_ATTR_KEEPALIVE_MS, U32, 0, 100, 60000, 0, NULL },
	{ RNBD_ATTR_POLICY, U32, 0, 0, RNBD_POLICY_FAIL, 0, NULL },
	{ RNBD_ATTR_FLAGS, U32, MASK, 0, RNBD_FLAG_READONLY | RNBD_FLAG_EARLY_RELEASE |
	  RNBD_FLAG_COPY | RNBD_FLAG_NEW_SESSION, 0, NULL },
};

static const struct field discover_fields[] = {
	{ RNBD_ATTR_ADDR, STRING, NEEDED, 0, 47, 0, NOWHERE },
	{ RNBD_ATTR_HOST_ID, BYTES, NEEDED, 0, 16, 0, NULL },
	{ RNBD_ATTR_SECRET, BYTES, 0, 0, 32, 0, NULL },
	{ RNBD_ATTR_PORT, U16, 0, 1, UINT16_MAX, 0, NULL },
};

static const struct field detach_fields[] = {
	{ RNBD_ATTR_DISK, STRING, NEEDED, 0, 31, 0, "rnbd77" },
	{ RNBD_ATTR_FLAGS, U32, MASK, 0, RNBD_FLAG_FORCE, 0, NULL },
};

static const struct field set_secret_fields[] = {
	{ RNBD_ATTR_DISK, STRING, NEEDED, 0, 31, 0, "rnbd77" },
	{ RNBD_ATTR_SECRET, BYTES, NEEDED, 0, 32, 0, NULL },
};

static const struct command client_commands[] = {
	{ "attach", RNBD_CMD_ATTACH, false, false, ENETUNREACH,
	  attach_fields, ARRAY_SIZE(attach_fields), RNBD_ATTR_MAX },
	{ "discover", RNBD_CMD_DISCOVER, false, true, ENETUNREACH,
	  discover_fields, ARRAY_SIZE(discover_fields), RNBD_ATTR_MAX },
	{ "list of a discovery", RNBD_CMD_DISCOVER, true, true, ENODATA, NULL, 0,
	  RNBD_ATTR_MAX },
	{ "detach", RNBD_CMD_DETACH, false, false, ENODEV,
	  detach_fields, ARRAY_SIZE(detach_fields), RNBD_ATTR_MAX },
	{ "set-secret", RNBD_CMD_SET_SECRET, false, false, ENODEV,
	  set_secret_fields, ARRAY_SIZE(set_secret_fields), RNBD_ATTR_MAX },
	{ "list", RNBD_CMD_LIST, false, true, ENODEV,
	  set_secret_fields, 1, RNBD_ATTR_MAX },
};

static const struct command target_commands[] = {
	{ "sessions", RNBDT_CMD_GET_SESSION, true, false, 0, NULL, 0, RNBDT_ATTR_MAX },
};

static unsigned int nr_cases, nr_refused;
static int sock, family;

/* ------------------------------------------------------------------------
 * Expected replies
 */

/* Expect errno @one or @other as reply to @msg, with an error message if @text; -1: no reply. */
static void expect(struct message *msg, const char *what, int one, int other, bool text)
{
	struct answer answer;

	nr_cases++;
	nl_talk(sock, msg, &answer);
	if (answer.silent && one == -1)
		return;
	if (answer.silent || (answer.error != one && answer.error != other)) {
		complain("%s: error %d (%s), wanted %d or %d", what, answer.error,
			 answer.text, one, other);
		nl_show(msg);
		return;
	}
	if (!answer.error)
		return;
	nr_refused++;
	if (text && !answer.text[0]) {
		complain("%s: error %d without a message", what, answer.error);
		nl_show(msg);
	}
}

static const char *label(const char *fmt, ...) __printf(1, 2);

static const char *label(const char *fmt, ...)
{
	static char texts[2][TEXT_MAX];
	static unsigned int turn;
	char *text = texts[turn++ % 2];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(texts[0]), fmt, args);
	va_end(args);
	return text;
}

/* ------------------------------------------------------------------------
 * Messages
 */

static void begin(struct message *msg, const struct command *c)
{
	nl_begin(msg, family, c->dump ? NLM_F_DUMP : 0, c->cmd);
}

static void put_valid(struct message *msg, const struct field *f)
{
	static const uint8_t bytes[RNBD_SECRET_LEN] = { 1 };

	if (f->kind == STRING)
		nl_put(msg, f->attr, f->valid_text, strlen(f->valid_text) + 1);
	else
		nl_put(msg, f->attr, bytes, f->max);
}

/* Build the valid message of @c without the attribute @but; NULL: with all required attributes. */
static void fill_valid(struct message *msg, const struct command *c, const struct field *but)
{
	unsigned int i;

	begin(msg, c);
	for (i = 0; i < c->nr; i++)
		if (c->fields[i].flags & NEEDED && &c->fields[i] != but)
			put_valid(msg, &c->fields[i]);
}

static size_t size_of(const struct field *f)
{
	switch (f->kind) {
	case U16:
		return 2;
	case U32:
		return 4;
	case U64:
		return 8;
	default:
		return f->max;
	}
}

static void put_number(struct message *msg, const struct field *f, uint64_t value)
{
	nl_put(msg, f->attr, &value, size_of(f));
}

/* ------------------------------------------------------------------------
 * Cases of a field
 */

/* Send the valid message with @data in @f; expect errno @c->beyond if @ok, else a rejection. */
static void try_bytes(const struct command *c, const struct field *f, const char *what,
		      const void *data, size_t len, bool ok)
{
	struct message msg;

	fill_valid(&msg, c, f);
	nl_put(&msg, f->attr, data, len);
	if (ok)
		expect(&msg, label("%s, attribute %u: %s", c->name, f->attr, what),
		       c->beyond, c->beyond, true);
	else
		expect(&msg, label("%s, attribute %u: %s", c->name, f->attr, what),
		       EINVAL, ERANGE, true);
}

static void try_number(const struct command *c, const struct field *f, uint64_t value,
		       bool ok)
{
	struct message msg;
	const char *what;

	fill_valid(&msg, c, f);
	put_number(&msg, f, value);
	what = label("%s, attribute %u: %llu", c->name, f->attr, (unsigned long long)value);
	if (ok)
		expect(&msg, what, c->beyond, c->beyond, true);
	else
		expect(&msg, what, EINVAL, ERANGE, true);
}

static void cases_of_number(const struct command *c, const struct field *f)
{
	uint64_t most = f->kind == U64 ? UINT64_MAX : (1ull << 8 * size_of(f)) - 1;
	uint64_t step = f->step ? f->step : 1, bit;
	uint8_t zero[16] = { 0 };
	size_t len;

	if (f->flags & MASK) {
		for (bit = 1; bit <= most; bit <<= 1)
			try_number(c, f, bit, bit & f->max);
		try_number(c, f, most, false);
	} else {
		try_number(c, f, f->min, true);
		try_number(c, f, f->max, true);
		if (f->min)
			try_number(c, f, f->min - 1, false);
		if (f->min)
			try_number(c, f, 0, false);
		if (f->max < most)
			try_number(c, f, f->max + 1, false);
		if (f->max < most)
			try_number(c, f, most, false);
		if (step > 1) {
			try_number(c, f, f->min + 1, false);
			try_number(c, f, f->max - step / 2, false);
		}
	}
	for (len = 0; len < sizeof(zero); len++)
		if (len != size_of(f))
			try_bytes(c, f, label("%zu bytes", len), zero, len, false);
}

static void cases_of_string(const struct command *c, const struct field *f)
{
	static const char *const odd[] = { "", " ", "a b", "\n", "%s%n", "../x", "a/b",
					 "\xff\xfe" };
	char text[4096];
	unsigned int i;

	try_bytes(c, f, "0 bytes", NULL, 0, false);
	try_bytes(c, f, "no NUL", "xxxxxxxx", 8, false);
	memset(text, '1', sizeof(text));
	try_bytes(c, f, "too long without NUL", text, sizeof(text), false);
	text[sizeof(text) - 1] = '\0';
	try_bytes(c, f, "too long", text, sizeof(text), false);
	text[f->max + 1] = '\0';
	try_bytes(c, f, "one byte too long", text, f->max + 2, false);
	/* a byte after the terminating NUL must be rejected */
	memset(text, 0, sizeof(text));
	memcpy(text, f->valid_text, strlen(f->valid_text));
	text[f->max + 2] = 'x';
	try_bytes(c, f, "bytes after the NUL", text, f->max + 3, false);

	if (f->attr == RNBD_ATTR_DISK)
		return;
	for (i = 0; i < ARRAY_SIZE(odd); i++)
		try_bytes(c, f, label("\"%s\"", odd[i]), odd[i], strlen(odd[i]) + 1, false);
	if (f->attr == RNBD_ATTR_ADDR)
		return;
	memset(text, 'a', sizeof(text));
	text[f->max] = '\0';
	try_bytes(c, f, "longest", text, f->max + 1, true);
	try_bytes(c, f, "leading dot", ".x", 3, false);
	if (f->attr != RNBD_ATTR_NAME)
		return;
	try_bytes(c, f, "a disk's own name", "rnbd3", 6, false);
	try_bytes(c, f, "a number", "17", 3, false);
}

static void cases_of_bytes(const struct command *c, const struct field *f)
{
	uint8_t data[64];
	size_t len;

	memset(data, 1, sizeof(data));
	for (len = 0; len < sizeof(data); len++)
		if (len != f->max)
			try_bytes(c, f, label("%zu bytes", len), data, len, false);
	if (f->attr != RNBD_ATTR_HOST_ID)
		return;
	memset(data, 0, sizeof(data));
	try_bytes(c, f, "zeros", data, f->max, false);
}

/* Send the attribute with NLA_F_NESTED, which no attribute of the family allows. */
static void cases_of_type(const struct command *c, const struct field *f)
{
	struct message msg;

	fill_valid(&msg, c, f);
	nl_put(&msg, f->attr | NLA_F_NESTED, "\x08\0\x01\0garb", 8);
	expect(&msg, label("%s, attribute %u: nested", c->name, f->attr), EINVAL, ERANGE, true);
}

static void cases_of_missing(const struct command *c, const struct field *f)
{
	struct answer answer;
	struct message msg;

	nr_cases++;
	fill_valid(&msg, c, f);
	nl_talk(sock, &msg, &answer);
	if (answer.error != EINVAL || !answer.text[0] || answer.missing != f->attr)
		complain("%s without attribute %u: error %d (%s), missing %u", c->name,
			 f->attr, answer.error, answer.text, answer.missing);
	nr_refused++;
}

/* ------------------------------------------------------------------------
 * Cases of a command
 */

static bool takes(const struct command *c, uint16_t attr)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->fields[i].attr == attr)
			return true;
	return false;
}

/* Send attributes that this command does not take, and unknown attributes. */
static void cases_of_others(const struct command *c)
{
	static const uint16_t far[] = { 255, 1000, 0x3fff };
	static const uint8_t garbage[200] = { 0xff, 0xff, 0, 1, 2 };
	struct message msg;
	unsigned int i;
	uint16_t attr;

	for (attr = 0; attr < c->max + 4; attr++) {
		if (takes(c, attr))
			continue;
		fill_valid(&msg, c, NULL);
		nl_put(&msg, attr, garbage, 8);
		expect(&msg, label("%s: attribute %u", c->name, attr), EINVAL, EINVAL, true);
		fill_valid(&msg, c, NULL);
		nl_put(&msg, attr | NLA_F_NESTED, garbage, sizeof(garbage));
		expect(&msg, label("%s: nested attribute %u", c->name, attr), EINVAL, EINVAL, true);
	}
	for (i = 0; i < ARRAY_SIZE(far); i++) {
		fill_valid(&msg, c, NULL);
		nl_put(&msg, far[i], garbage, 4);
		expect(&msg, label("%s: attribute %u", c->name, far[i]), EINVAL, EINVAL, true);
	}
}

/* Send attributes and messages with wrong lengths, and messages that are cut off. */
static void cases_of_form(const struct command *c)
{
	static const uint16_t lies[] = { 0, 1, 3, 4096, UINT16_MAX };
	struct nlmsghdr *hdr;
	struct message msg;
	unsigned int i;
	size_t all;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		fill_valid(&msg, c, NULL);
		nl_put(&msg, 1, NULL, 0);
		((struct nlattr *)(msg.buf + msg.len - NLA_HDRLEN))->nla_len = lies[i];
		expect(&msg, label("%s: an attribute of %u bytes", c->name, lies[i]),
		       EINVAL, EINVAL, true);
	}

	/* cut in the header: no error message; cut in an attribute: an error message is needed */
	fill_valid(&msg, c, NULL);
	all = msg.len;
	for (i = NLMSG_HDRLEN; i < NLMSG_LENGTH(GENL_HDRLEN); i++) {
		fill_valid(&msg, c, NULL);
		msg.len = i;
		expect(&msg, label("%s: %u bytes", c->name, i), EINVAL, EINVAL, false);
	}
	for (i = NLMSG_LENGTH(GENL_HDRLEN); i < all; i++) {
		fill_valid(&msg, c, NULL);
		msg.len = i;
		/* if only padding of the last attribute is missing, the module may accept it */
		expect(&msg, label("%s: %u bytes of %zu", c->name, i, all), EINVAL,
		       i + NLA_ALIGNTO > all ? c->beyond : EINVAL, true);
	}
	/* nlmsg_len below the header size or above the bytes sent: the kernel drops the message */
	for (i = 0; i < NLMSG_HDRLEN; i++) {
		fill_valid(&msg, c, NULL);
		hdr = (struct nlmsghdr *)msg.buf;
		hdr->nlmsg_len = i ? i : 1;
		expect(&msg, label("%s: a length of %u", c->name, i), -1, -1, false);
	}
	fill_valid(&msg, c, NULL);
	((struct nlmsghdr *)msg.buf)->nlmsg_len = msg.len + 1;
	expect(&msg, label("%s: a byte too few", c->name), -1, -1, false);
}

static void cases_of_header(const struct command *c)
{
	static const uint16_t flags[] = { 0x8, 0x10, 0x20, 0x40, 0x80, 0x400, 0x800, 0x8000 };
	struct genlmsghdr *genl;
	struct message msg;
	unsigned int i;

	fill_valid(&msg, c, NULL);
	genl = NLMSG_DATA((struct nlmsghdr *)msg.buf);
	genl->reserved = 1;
	expect(&msg, label("%s: reserved bytes", c->name), EINVAL, EINVAL, true);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		/* NLM_F_ECHO is allowed */
		if (flags[i] == NLM_F_ECHO)
			continue;
		fill_valid(&msg, c, NULL);
		((struct nlmsghdr *)msg.buf)->nlmsg_flags |= flags[i];
		expect(&msg, label("%s: message flags %#x", c->name, flags[i]),
		       EINVAL, EINVAL, true);
	}
	/* send a dump command without NLM_F_DUMP, or a plain command with NLM_F_DUMP */
	if (c->both)
		return;
	fill_valid(&msg, c, NULL);
	((struct nlmsghdr *)msg.buf)->nlmsg_flags ^= NLM_F_DUMP;
	expect(&msg, label("%s: %s dump", c->name, c->dump ? "not as a" : "as a"),
	       EOPNOTSUPP, EOPNOTSUPP, false);
}

static void cases_of(const struct command *c)
{
	struct message msg;
	unsigned int i;

	fill_valid(&msg, c, NULL);
	expect(&msg, label("%s: valid", c->name), c->beyond, c->beyond, true);
	for (i = 0; i < c->nr; i++) {
		const struct field *f = &c->fields[i];

		if (f->flags & NEEDED)
			cases_of_missing(c, f);
		if (f->kind == STRING)
			cases_of_string(c, f);
		else if (f->kind == BYTES)
			cases_of_bytes(c, f);
		else
			cases_of_number(c, f);
		cases_of_type(c, f);
	}
	cases_of_others(c);
	if (c->nr)
		cases_of_form(c);
	cases_of_header(c);
}

static void unknown_commands(const uint8_t *known, unsigned int nr)
{
	unsigned int cmd, i;
	struct message msg;

	for (cmd = 0; cmd < 256; cmd++) {
		for (i = 0; i < nr && known[i] != cmd; i++)
			;
		if (i < nr)
			continue;
		nl_begin(&msg, family, cmd & 1 ? NLM_F_DUMP : 0, cmd);
		expect(&msg, label("command %u", cmd), EOPNOTSUPP, EOPNOTSUPP, false);
	}
}

static void begin_family(int fd, int id)
{
	sock = fd;
	family = id;
	nr_cases = 0;
	nr_refused = 0;
}

/* Send attributes that are valid alone but not in combination. */
static void cases_of_pairs(void)
{
	uint32_t flags = RNBD_FLAG_COPY | RNBD_FLAG_EARLY_RELEASE;
	struct message msg;

	fill_valid(&msg, &client_commands[0], NULL);
	nl_put(&msg, RNBD_ATTR_FLAGS, &flags, sizeof(flags));
	expect(&msg, "attach: bounce buffers and early release", EINVAL, EINVAL, true);
}

/* Test all rules of the client's family. */
void cases_client(int fd, int id)
{
	static const uint8_t known[] = { RNBD_CMD_ATTACH, RNBD_CMD_DETACH, RNBD_CMD_LIST,
					 RNBD_CMD_DISCOVER, RNBD_CMD_SET_SECRET };
	unsigned int i;

	begin_family(fd, id);
	for (i = 0; i < ARRAY_SIZE(client_commands); i++)
		cases_of(&client_commands[i]);
	cases_of_pairs();
	unknown_commands(known, ARRAY_SIZE(known));
	printf("rnbd: %u cases, %u refused\n", nr_cases, nr_refused);
}

/* Test all rules of the target's family. */
void cases_target(int fd, int id)
{
	static const uint8_t known[] = { RNBDT_CMD_GET_SESSION };
	unsigned int i;

	begin_family(fd, id);
	for (i = 0; i < ARRAY_SIZE(target_commands); i++)
		cases_of(&target_commands[i]);
	unknown_commands(known, ARRAY_SIZE(known));
	printf("rnbd-target: %u cases, %u refused\n", nr_cases, nr_refused);
}

/* Without privilege all commands must be denied, except the list of disks, which must lack ids. */
void cases_denied(int fd, int client, unsigned int client_group, int target,
		  unsigned int target_group)
{
	struct answer answer;
	struct message msg;
	unsigned int i;

	begin_family(fd, client);
	for (i = 0; i < ARRAY_SIZE(client_commands); i++) {
		const struct command *c = &client_commands[i];

		if (c->cmd == RNBD_CMD_LIST)
			continue;
		fill_valid(&msg, c, NULL);
		expect(&msg, label("%s without privilege", c->name), EPERM, EPERM, true);
		begin(&msg, c);
		expect(&msg, label("%s without attributes and privilege", c->name), EPERM, EPERM,
		       true);
	}
	nl_begin(&msg, client, NLM_F_DUMP, RNBD_CMD_LIST);
	nl_talk(fd, &msg, &answer);
	if (answer.error || !answer.messages || answer.ids)
		complain("list without privilege: error %d, %u disks%s", answer.error,
			 answer.messages, answer.ids ? ", with ids" : "");
	nl_begin(&msg, target, NLM_F_DUMP, RNBDT_CMD_GET_SESSION);
	expect(&msg, "sessions without privilege", EPERM, EPERM, false);
	if (nl_join(fd, client_group) != EPERM || nl_join(fd, target_group) != EPERM)
		complain("events can be received without privilege");
	printf("without privilege: %u cases, %u refused, %u disks seen\n", nr_cases, nr_refused,
	       answer.messages);
}
