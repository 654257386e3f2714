// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases that break no rule: all operations and the list of exports. The other cases prove
 * nothing unless these pass.
 */
#include <string.h>

#include "client.h"

/* The lawful use of everything, so that the other cases mean something. */
static void lawful(void)
{
	const uint8_t *data = NULL;
	struct conn c = { };
	struct frame f;
	uint32_t i;
	int status;

	if (!session_start_export(&c, 2, "hostile"))
		return;
	/* bulk out and back */
	for (i = 0; i < 32 * 4096; i++)
		c.data[i] = i * 7 + i / 251;
	session_rdma(&c, IBV_WR_RDMA_WRITE, 0, 32, 100);
	status = simple_request(&c, req_entry(RNBD_OP_WRITE, RNBD_REQ_FUA, 0, 1 << 20, 32 * 4096,
					      100));
	if (status)
		amiss("WRITE: %d", status);
	status = simple_request(&c, req_entry(RNBD_OP_READ, 0, 0, 1 << 20, 32 * 4096, 300));
	if (status)
		amiss("READ: %d", status);
	session_rdma(&c, IBV_WR_RDMA_READ, 32 * 4096, 32, 300);
	if (memcmp(c.data, c.data + 32 * 4096, 32 * 4096))
		amiss("bulk data differ");
	/* inline out and back */
	client_build(&f, WRITE_INLINE, "");
	frame_send(&c, &f);
	status = await_reply(&c, 1, 512, NULL);
	if (status)
		amiss("inline WRITE: %d", status);
	client_build(&f, READ_INLINE, "");
	frame_send(&c, &f);
	status = await_reply(&c, 1, 512, &data);
	if (status || !data || data[0] != 0x33 || memcmp(data, data + 1, 511))
		amiss("inline READ: %d", status);
	for (i = RNBD_OP_FLUSH; i <= RNBD_OP_WRITE_ZEROES; i++) {
		status = simple_request(&c, req_entry(i, 0, 5, 0,
						      i == RNBD_OP_FLUSH ? 0 : 4096, 0));
		if (status)
			amiss("operation %u: %d", i, status);
	}
	status = simple_request(&c, req_entry(RNBD_OP_READ, 0, 5, 0, 4096, 7));
	session_rdma(&c, IBV_WR_RDMA_READ, 0, 1, 7);
	if (status || !all_zero(c.data, 4096))
		amiss("WRITE_ZEROES does not read as zeros");
	conn_close(&c);
}

static void discover(void)
{
	bool more = true, seen = false;
	struct conn c = { };
	struct frame f;
	uint32_t len;

	if (!session_start(&c, 2))
		return;
	client_build(&f, DISCOVER, "");
	frame_send(&c, &f);
	while (more) {
		const uint8_t *frame = conn_receive(&c, RNBD_FRAME_DISCOVER_REPLY, &len,
						    LOGIN_MS);
		struct rnbd_discover_reply head;
		struct rnbd_export_entry entry;
		uint32_t at;

		if (!frame) {
			amiss("the list does not end");
			break;
		}
		memcpy(&head, frame + HDR_BYTES, sizeof(head));
		if (head.status || le16toh(head.flags) & ~RNBD_DISCOVER_MORE)
			amiss("the list has status %u", le16toh(head.status));
		more = le16toh(head.flags) & RNBD_DISCOVER_MORE;
		for (at = HDR_BYTES + sizeof(head); at < len; at += sizeof(entry)) {
			memcpy(&entry, frame + at, sizeof(entry));
			entry.name[sizeof(entry.name) - 1] = '\0';
			seen |= !strcmp(entry.name, "hostile");
			if (!strcmp(entry.name, "secret"))
				amiss("a foreign export is told");
		}
	}
	if (!seen)
		amiss("the export is not told");
	conn_close(&c);
}

static const struct client_story stories[] = {
	{ "lawful", lawful },
	{ "discover", discover },
};

void client_lawful_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
