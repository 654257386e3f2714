// SPDX-License-Identifier: GPL-2.0-only
/* Frames for the cases, which change them: valid frames of a client, and a few others. */
#include <string.h>

#include "client.h"

void client_add_request(struct frame *f, struct rnbd_req_entry entry)
{
	memcpy(frame_add(f, sizeof(entry)), &entry, sizeof(entry));
}

/* A READ into 17 units, of which no two are adjacent. */
static void build_read_17(struct frame *f)
{
	struct rnbd_wire_extent_entry more[4];
	struct rnbd_req_entry entry = req_entry(RNBD_OP_READ, 0, 1, 0, 17 * 4096, 0);
	uint32_t i;

	frame_begin(f, RNBD_FRAME_REQUEST, 5);
	entry.nr_extents = 17;
	entry.extent.units = htole32(1);
	for (i = 0; i < 16; i++) {
		more[i / 4].extent[i % 4].unit = htole32(2 + 2 * i);
		more[i / 4].extent[i % 4].units = htole32(1);
	}
	client_add_request(f, entry);
	memcpy(frame_add(f, sizeof(more)), more, sizeof(more));
}

void client_build(struct frame *f, enum base which, const char *export)
{
	static const struct {
		uint8_t op, flags;
		uint32_t length;
	} ops[] = {
		[READ] = { RNBD_OP_READ, 0, 4096 },
		[WRITE] = { RNBD_OP_WRITE, 0, 4096 },
		[FLUSH] = { RNBD_OP_FLUSH, 0, 0 },
		[DISCARD] = { RNBD_OP_DISCARD, 0, 4096 },
		[ZEROES] = { RNBD_OP_WRITE_ZEROES, 0, 4096 },
		[READ_INLINE] = { RNBD_OP_READ, RNBD_REQ_INLINE, 512 },
		[WRITE_INLINE] = { RNBD_OP_WRITE, RNBD_REQ_INLINE, 512 },
	};
	static const struct {
		uint16_t type, bytes;
	} entries[] = {
		[LOGIN_REPLY] = { RNBD_CTL_LOGIN_REPLY, sizeof(struct rnbd_ctl_login_reply) },
		[DISCOVER_REPLY] = { RNBD_CTL_EXPORT, sizeof(struct rnbd_ctl_export) },
		[CHALLENGE] = { RNBD_CTL_CHALLENGE, sizeof(struct rnbd_ctl_challenge) },
		[PROOF] = { RNBD_CTL_PROOF, sizeof(struct rnbd_ctl_proof) },
		[ATTACH_REPLY] = { RNBD_CTL_ATTACH_REPLY, sizeof(struct rnbd_ctl_attach_reply) },
		[DETACHED] = { RNBD_CTL_DETACHED, sizeof(struct rnbd_ctl_handle) },
		[CLOSED] = { RNBD_CTL_CLOSED, sizeof(struct rnbd_ctl_handle) },
		[CAPACITY_OF] = { RNBD_CTL_CAPACITY, sizeof(struct rnbd_ctl_capacity) },
		[UNKNOWN] = { UNKNOWN_TYPE, 16 },
	};
	struct rnbd_ctl_attach attach;
	struct rnbd_ctl_login l;

	switch (which) {
	case READ ... WRITE_INLINE:
		frame_begin(f, RNBD_FRAME_REQUEST, 1);
		client_add_request(f, req_entry(ops[which].op, ops[which].flags, 1, 0,
						ops[which].length, 0));
		if (which == WRITE_INLINE) {
			memset(frame_add(f, 512), 0x33, 512);
			f->b[1] = RNBD_FRAME_DATA;
		}
		break;
	case READ_17:
		build_read_17(f);
		break;
	case TWINS:
		frame_begin(f, RNBD_FRAME_REQUEST, 2);
		client_add_request(f, req_entry(RNBD_OP_READ, 0, 1, 0, 4096, 0));
		client_add_request(f, req_entry(RNBD_OP_READ, 0, 1, 8192, 4096, 1));
		break;
	case CREDIT:
		frame_begin(f, RNBD_FRAME_CREDIT, 0);
		break;
	case LOGIN:
		login_fill(&l);
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		memcpy(ctl_add(f, RNBD_CTL_LOGIN, BUILD_ID, sizeof(l)), &l, sizeof(l));
		break;
	case DISCOVER:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		ctl_add(f, RNBD_CTL_LIST, BUILD_ID, 0);
		break;
	case QUERY:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		ctl_add(f, RNBD_CTL_QUERY, BUILD_ID, sizeof(struct rnbd_ctl_query));
		break;
	case REPLY:
		frame_begin(f, RNBD_FRAME_REPLY, 1);
		frame_add(f, sizeof(struct rnbd_reply_entry));
		break;
	case GARBAGE:
		frame_begin(f, 0, 0);
		memset(frame_add(f, 1000), 0xa5, 1000);
		memset(f->b, 0xa5, sizeof(struct rnbd_frame_hdr));
		break;
	case ATTACH:
		attach = attach_entry(OTHER_INDEX, 1, export);
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		attach_add(f, &attach, BUILD_ID);
		break;
	case DETACH:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		detach_add(f, HANDLE_INDEX, HANDLE_GENERATION, BUILD_ID);
		break;
	default:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		memset(ctl_add(f, entries[which].type, BUILD_ID, entries[which].bytes), 0x11,
		       entries[which].bytes);
	}
}
