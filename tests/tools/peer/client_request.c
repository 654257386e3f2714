// SPDX-License-Identifier: GPL-2.0-only
/* Cases of connection requests: private data that is missing, short, or invalid. */
#include <string.h>

#include "client.h"

#define C(field, value)		PATCH(0, struct rnbd_cm_req, field, ABSOLUTE, value)

static const struct {
	const char *name;
	int status;
	const char *why;	/* protocol error that the target counts */
	int8_t len;		/* bytes of private data, 0: all, -1: none */
	uint8_t host;
	uint8_t rnr;		/* 0: the default */
	struct patch p[2];
} requests[] = {
	{ "cm-missing", RNBD_ST_MALFORMED, MAGIC, .len = -1 },
	{ "cm-short", RNBD_ST_MALFORMED, EPOCH, .len = 20 },
	{ "cm-lacks-session", RNBD_ST_MALFORMED, IDENTITY, .len = 40 },
	{ "cm-garbage", RNBD_ST_MALFORMED, MAGIC, .p = { { 0, 56, ABSOLUTE, 0xa5 } } },
	{ "cm-magic", RNBD_ST_MALFORMED, MAGIC, .p = { C(magic, RNBD_MAGIC + 1) } },
	{ "cm-version-0", RNBD_ST_VERSION, VERSION, .p = { C(version, 0) } },
	{ "cm-version-2", RNBD_ST_VERSION, VERSION, .p = { C(version, 2) } },
	{ "cm-version-65535", RNBD_ST_VERSION, VERSION,
	  .p = { C(version, 65535), C(path, 65535) } },
	{ "cm-path-1", RNBD_ST_QUEUE, .p = { C(path, 1) } },
	{ "cm-path-16", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(path, 16) } },
	{ "cm-path-65535", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(path, 65535) } },
	{ "cm-conn-1024", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(conn, 1024), C(attempt, 2) } },
	{ "cm-conn-65535", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(conn, 65535), C(attempt, 2) } },
	{ "cm-conn-without-session", RNBD_ST_NO_SESSION, .p = { C(conn, 1), C(attempt, 2) } },
	{ "cm-conn-of-the-epoch", RNBD_ST_MALFORMED, EPOCH, .p = { C(conn, 1) } },
	{ "cm-slots-0", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 0) } },
	{ "cm-slots-3", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 3) } },
	{ "cm-slots-1025", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 1025) } },
	{ "cm-slots-65535", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 65535) } },
	{ "cm-slot-size-0", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 0) } },
	{ "cm-slot-size-small", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 960) } },
	{ "cm-slot-size-odd", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 4097) } },
	{ "cm-slot-size-large", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 65600) } },
	{ "cm-slot-size-wraps", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 0xffffffc0) } },
	{ "cm-ring-too-large", RNBD_ST_RING, .p = { C(ring_slots, 1024), C(slot_size, 65536) } },
	{ "cm-epoch-0", RNBD_ST_MALFORMED, EPOCH, .p = { C(epoch, 0), C(attempt, 0) } },
	{ "cm-attempt-0", RNBD_ST_MALFORMED, EPOCH, .p = { C(attempt, 0) } },
	{ "cm-attempt-2", RNBD_ST_MALFORMED, EPOCH, .p = { C(attempt, 2) } },
	{ "cm-host-0", RNBD_ST_MALFORMED, IDENTITY, .p = { C(host_id, 0) } },
	{ "cm-session-0", RNBD_ST_MALFORMED, IDENTITY, .p = { C(session_id, 0) } },
	{ "cm-rnr-forever", RNBD_ST_MALFORMED, .rnr = 7 },
	{ "cm-host-unknown", RNBD_ST_HOST_DENIED, .host = 99 },
};

static bool run_request(size_t i)
{
	uint32_t host = requests[i].host ?: 2, p;
	struct request req;
	struct conn c;
	int status;

	request_init(&req, host, SLOTS, SLOT_SIZE);
	if (requests[i].len)
		req.len = requests[i].len < 0 ? 0 : requests[i].len;
	if (requests[i].rnr)
		req.rnr = requests[i].rnr;
	for (p = 0; p < ARRAY_SIZE(requests[i].p); p++)
		patch_apply((uint8_t *)&req.cm, &requests[i].p[p], NULL);
	if (requests[i].why)
		counter_due_fault(requests[i].why);
	status = conn_open(&c, &req);
	if (status != requests[i].status)
		amiss("refused with %d, wanted %d", status, requests[i].status);
	else if (c.version != RNBD_VERSION)
		amiss("refused by version %u", c.version);
	conn_close(&c);
	return true;
}

void client_request_cases(struct results *results)
{
	RUN_CASES(requests, results, run_request(i));
}
