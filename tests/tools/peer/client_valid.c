// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases that break no rule: all operations, and the list of exports. The other cases prove nothing
 * unless these pass.
 */
#include <string.h>

#include "client.h"

/* Use all operations as a well-behaved client does. */
static void valid(void)
{
	const uint8_t *data = NULL;
	struct conn c = { };
	struct frame f;
	uint32_t i;
	int status;

	if (!session_start_export(&c, 2, "hostile"))
		return;
	/* bulk write and read */
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
	/* inline write and read */
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
	struct rnbd_ctl_list_end end;
	struct rnbd_ctl_export e;
	bool more = true, seen = false;
	struct conn c = { };
	struct ctl entry;
	struct frame f;

	if (!session_start(&c, 2))
		return;
	client_build(&f, DISCOVER, "");
	frame_send(&c, &f);
	while (more) {
		if (!ctl_receive(&c, &entry, LOGIN_MS)) {
			amiss("the list does not end");
			break;
		}
		if (entry.id != BUILD_ID)
			amiss("an entry of the list has id %u", entry.id);
		if (entry.type == RNBD_CTL_LIST_END) {
			memcpy(&end, entry.body, sizeof(end));
			if (end.status)
				amiss("the list has status %u", le16toh(end.status));
			more = false;
		} else if (entry.type == RNBD_CTL_EXPORT) {
			memcpy(&e, entry.body, sizeof(e));
			e.name[sizeof(e.name) - 1] = '\0';
			seen |= !strcmp(e.name, "hostile");
			if (!strcmp(e.name, "secret"))
				amiss("the list has an export that this host may not attach");
		} else {
			amiss("an entry of type %u in a list", entry.type);
		}
	}
	if (!seen)
		amiss("the list lacks the export of this host");
	conn_close(&c);
}

static const struct client_story stories[] = {
	{ "valid", valid },
	{ "discover", discover },
};

void client_valid_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
