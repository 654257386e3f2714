// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of RDMA and of memory keys: accesses that the target has not granted, keys of other and of
 * former sessions, kinds of SEND that a client must not use, and memory that another host has used.
 */
#include <string.h>

#include "client.h"

static const struct rdma_case {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t unit;		/* unit of the pool at which the access starts */
	int64_t bytes;		/* offset from that unit */
	uint32_t length;
	uint32_t key;		/* added to the rkey */
} rdmas[] = {
	{ "rdma-write-past-end", IBV_WR_RDMA_WRITE, 519, 4096, 4096 },
	{ "rdma-read-past-end", IBV_WR_RDMA_READ, 519, 4096, 4096 },
	{ "rdma-read-over-the-end", IBV_WR_RDMA_READ, 519, 0, 4097 },
	{ "rdma-write-over-segment", IBV_WR_RDMA_WRITE, 511, 0, 8192 },
	{ "rdma-write-before", IBV_WR_RDMA_WRITE, 0, -1, 16 },
	{ "rdma-read-address-0", IBV_WR_RDMA_READ, 0, INT64_MIN, 4096 },
	{ "rdma-write-address-wraps", IBV_WR_RDMA_WRITE, 0, INT64_MAX, 4096 },
	{ "rdma-read-key", IBV_WR_RDMA_READ, 0, 0, 4096, 1 },
	{ "rdma-write-key", IBV_WR_RDMA_WRITE, 0, 0, 4096, 0x100 },
	{ "rdma-write-key-far", IBV_WR_RDMA_WRITE, 0, 0, 4096, 0x40000000 },
	{ "rdma-atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, 8 },
};

static void run_rdma(const struct rdma_case *rc)
{
	struct conn c = { };
	uint64_t remote;
	uint32_t rkey;

	if (session_start_export(&c, 2, "hostile")) {
		remote = unit_address(&c, rc->unit, &rkey) + rc->bytes;
		conn_rdma(&c, rc->opcode, 0, rc->length, remote, rkey + rc->key);
		if (session_denied(conn_rdma_wait(&c, 10000)))
			session_must_go(&c, CLOSE_MS);
		monitor_closed("*");
	}
	conn_close(&c);
}

/* A pool contains no data of another host. */
static void fresh_pool(void)
{
	uint32_t round;

	for (round = 0; round < 4; round++) {
		struct conn c = { };
		uint32_t bytes;

		if (!session_start_export(&c, 2 + round % 2, "hostile"))
			return;
		bytes = le32toh(c.grant.r.pool_units) * RNBD_UNIT_SIZE;
		if (session_whole_pool(&c, IBV_WR_RDMA_READ) && !all_zero(c.data, bytes))
			amiss("the pool of session %u is not zeroed", round);
		memset(c.data, 0xc7, bytes);
		session_whole_pool(&c, IBV_WR_RDMA_WRITE);
		conn_close(&c);
		monitor_closed("the client disconnected");
	}
}

static void old_key(void)
{
	struct conn a = { }, b = { };
	uint64_t remote = 0;
	uint32_t rkey = 0;

	if (session_start_export(&a, 2, "hostile"))
		remote = unit_address(&a, 0, &rkey);
	conn_close(&a);
	monitor_closed("the client disconnected");
	if (remote && session_start_export(&b, 2, "hostile")) {
		conn_rdma(&b, IBV_WR_RDMA_READ, 0, 4096, remote, rkey);
		session_denied(conn_rdma_wait(&b, 10000));
	}
	conn_close(&b);
}

/*
 * Use a memory key of one session on a connection of another session: for RDMA, or to invalidate
 * the key if @opcode is SEND_WITH_INV.
 */
static void foreign_key(enum ibv_wr_opcode opcode)
{
	struct conn a = { }, b = { };
	struct frame f;
	uint64_t remote;
	uint32_t rkey;

	if (session_start_export(&a, 2, "hostile") && session_start_export(&b, 3, "hostile")) {
		remote = unit_address(&a, 0, &rkey);
		if (opcode == IBV_WR_SEND_WITH_INV) {
			client_build(&f, CREDIT, "");
			frame_seal(&b, &f);
			conn_post(&b, f.b, f.len, opcode, rkey);
		} else {
			conn_rdma(&b, opcode, 0, 4096, remote, rkey);
			session_denied(conn_rdma_wait(&b, 10000));
		}
		session_must_go(&b, CLOSE_MS);
		monitor_closed(opcode == IBV_WR_SEND_WITH_INV ? KIND : "*");
		/* SEND_WITH_INV has possibly invalidated the key of @a, but @a must continue */
		session_lives(&a);
		if (opcode != IBV_WR_SEND_WITH_INV)
			session_rdma(&a, IBV_WR_RDMA_READ, 0, 1, 0);
	}
	conn_close(&b);
	conn_close(&a);
}

static void foreign_read(void)
{
	foreign_key(IBV_WR_RDMA_READ);
}

static void foreign_write(void)
{
	foreign_key(IBV_WR_RDMA_WRITE);
}

static void foreign_invalidate(void)
{
	foreign_key(IBV_WR_SEND_WITH_INV);
}

static void kind_of_send(enum ibv_wr_opcode opcode, bool first)
{
	struct conn c = { };
	struct frame f;
	uint32_t rkey = 0x1234;

	if (first ? session_start(&c, 2) : session_start_export(&c, 2, "hostile")) {
		if (!first)
			unit_address(&c, 0, &rkey);
		client_build(&f, first ? LOGIN : READ, "hostile");
		frame_seal(&c, &f);
		conn_post(&c, f.b, f.len, opcode, rkey);
		/*
		 * if the key does not exist, soft-RoCE itself ends the connection: accept any
		 * reason
		 */
		session_ends(&c, opcode == IBV_WR_SEND_WITH_INV && first ? "*" : KIND);
	}
	conn_close(&c);
}

static void send_immediate(void)
{
	kind_of_send(IBV_WR_SEND_WITH_IMM, false);
}

static void send_immediate_first(void)
{
	kind_of_send(IBV_WR_SEND_WITH_IMM, true);
}

static void send_invalidate(void)
{
	kind_of_send(IBV_WR_SEND_WITH_INV, false);
}

static void send_invalidate_unknown(void)
{
	kind_of_send(IBV_WR_SEND_WITH_INV, true);
}

/* An RDMA WRITE must fail after the target has disconnected, although the client has not. */
static void after_disconnect(void)
{
	struct conn c = { };
	uint64_t remote;
	uint32_t rkey;
	struct frame f;
	int status;

	if (session_start_export(&c, 2, "hostile")) {
		remote = unit_address(&c, 0, &rkey);
		client_build(&f, GARBAGE, "");
		conn_post(&c, f.b, f.len, IBV_WR_SEND, 0);
		session_ends(&c, RESERVED);
		conn_rdma(&c, IBV_WR_RDMA_WRITE, 0, 4096, remote, rkey);
		status = conn_rdma_wait(&c, 15000);
		if (!status || status == NEVER)
			amiss("RDMA after the end: %d", status);
	}
	conn_close(&c);
}

static const struct client_story stories[] = {
	{ "fresh-pool", fresh_pool },
	{ "old-key", old_key },
	{ "foreign-key-read", foreign_read },
	{ "foreign-key-write", foreign_write },
	{ "foreign-key-invalidate", foreign_invalidate },
	{ "send-immediate", send_immediate },
	{ "send-immediate-first", send_immediate_first },
	{ "send-invalidate", send_invalidate },
	{ "send-invalidate-unknown", send_invalidate_unknown },
	{ "after-disconnect", after_disconnect },
};

void client_key_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}

void client_rdma_cases(struct results *results)
{
	RUN_CASES(rdmas, results, run_rdma(&rdmas[i]));
}
