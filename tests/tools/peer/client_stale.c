// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of pool memory that the target gives to a second client while the first client, or storage
 * that executes a request of the first client, still accesses this memory.
 *
 * Operation: in some cases the first client (host 2) continues with RDMA WRITEs after it has
 * released a segment, has not returned one in time, or has broken a rule. In the other cases the
 * first client releases a segment that a request in the storage names. The second client (host 3)
 * fills all memory that it can get, and reads it back. Each case has two variants. KEPT: the target
 * keeps the memory until the access has ended (the rule), and the data of both clients must be
 * right. LEFT_OUT: a fault point disables the rule, and damage must occur, which shows that the
 * case can detect damage. Damage is data of the first client or of its storage in the memory of the
 * second; or, if the request is a WRITE, data of the second client in the storage, which the script
 * checks.
 *
 * A test script arms the fault points. It has exported storage that takes seconds for a request, or
 * has limited memory and time as for client_reclaim.c.
 * Ownership, Concurrency: one thread handles both connections.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define LATE		"reclaimed memory was not returned in time"
#define OLD		0x77	/* byte that the first client writes */
#define NEW		0xc7	/* byte that the second client writes */
#define STORED		0x55	/* byte on the slow storage before a READ */
#define MOST		832	/* largest pool that a host can get, in units: whole granules */
#define ENOUGH		640	/* units that the second client must get after the reclaim */
#define UNITS		16	/* units per request */
#define RUN		64	/* units per RDMA WRITE */
#define GOES_ON_MS	3000	/* longer than the fault point delays the release */

static struct lease first, second;

/* Variant of a case: the target follows the rule, or a fault point disables it. */
enum rule { KEPT, LEFT_OUT };

static void part(void)
{
	conn_close(&first.c);
	conn_close(&second.c);
}

/* ------------------------------------------------------------------------
 * The first client writes continuously
 */

static struct {
	int slot;
	uint32_t at;	/* unit in the segment at which the next RDMA WRITE starts */
	uint32_t rounds;	/* times that all segments were written */
	bool posted;
} writer;

static void writer_begin(void)
{
	memset(first.c.data, OLD, DATA_BYTES);
	memset(&writer, 0, sizeof(writer));
	writer.slot = lease_slot(&first, -1);
}

/* Write to the next part of the segments, even after the client has sent a RELEASE for them. */
static void writer_next(void)
{
	uint32_t units = le32toh(first.c.grant.seg[writer.slot].units), run, rkey;
	uint64_t remote;

	run = units - writer.at < RUN ? units - writer.at : RUN;
	remote = unit_address(&first.c, lease_unit(&first, writer.slot) + writer.at, &rkey);
	writer.posted = conn_rdma(&first.c, IBV_WR_RDMA_WRITE, 0, run * RNBD_UNIT_SIZE, remote,
				  rkey);
	writer.at += run;
	if (writer.at < units)
		return;
	writer.at = 0;
	writer.slot = lease_slot(&first, writer.slot);
	if (writer.slot < 0) {
		writer.slot = lease_slot(&first, -1);
		writer.rounds++;
	}
}

/*
 * Post the next WRITE if the previous one has completed; do not wait. Return false if the target
 * has rejected a WRITE.
 */
static bool writer_step(void)
{
	conn_step(&first.c);
	if (first.c.failed || first.c.flushed)
		return false;
	if (!writer.posted || first.c.rdma_done)
		writer_next();
	return writer.posted;
}

/*
 * Write for at least @ms, and to all segments at least twice. Return false if the target rejects a
 * WRITE.
 */
static bool writer_goes_on(uint32_t ms)
{
	uint64_t least = deadline(ms), end = deadline(ms + 20000);
	uint32_t rounds = writer.rounds + 2;

	while (now_ms() < least || writer.rounds < rounds) {
		if (!writer_step())
			return false;
		if (now_ms() > end)
			return amiss("RDMA WRITEs take too long");
		nap();
	}
	return true;
}

/* Expect that the target rejects a WRITE. */
static void writer_must_fail(void)
{
	uint64_t end = deadline(20000);

	while (writer_step()) {
		if (now_ms() > end) {
			amiss("RDMA WRITE to memory that is no longer granted still succeeds");
			return;
		}
		nap();
	}
}

/* ------------------------------------------------------------------------
 * The second client fills and checks its memory
 */

static bool second_fills(void)
{
	int slot = -1;

	memset(second.c.data, NEW, DATA_BYTES);
	while ((slot = lease_slot(&second, slot)) >= 0)
		if (!lease_whole_segment(&second, IBV_WR_RDMA_WRITE, slot))
			return false;
	return true;
}

/* Let the second client request CEILING units, and fill them when they are granted. */
static bool second_starts(void)
{
	return lease_start(&second, 3, "hostile") && lease_grow(&second, CEILING) &&
	       second_fills();
}

/* Count the units with @foreign bytes; any byte that is neither NEW nor @foreign is an error. */
static uint32_t count_foreign(const uint8_t *bytes, uint32_t units, uint8_t foreign)
{
	uint32_t found = 0, i;

	for (i = 0; i < units; i++, bytes += RNBD_UNIT_SIZE) {
		uint32_t at = 0;
		bool hit = false;

		for (; at < RNBD_UNIT_SIZE && (bytes[at] == NEW || bytes[at] == foreign); at++)
			hit |= bytes[at] == foreign;
		found += hit;
		if (at < RNBD_UNIT_SIZE) {
			amiss("a byte of the second client is 0x%02x", bytes[at]);
			break;
		}
	}
	return found;
}

/*
 * Let the second client read back its memory. It must find @foreign bytes if @rule is LEFT_OUT, and
 * none if @rule is KEPT.
 */
static void second_finds(enum rule rule, uint8_t foreign)
{
	uint32_t units = 0, found = 0;
	int slot = -1;

	while ((slot = lease_slot(&second, slot)) >= 0) {
		uint32_t nr = le32toh(second.c.grant.seg[slot].units);

		memset(second.c.data, 0, nr * RNBD_UNIT_SIZE);
		if (!lease_whole_segment(&second, IBV_WR_RDMA_READ, slot))
			return;
		found += count_foreign(second.c.data, nr, foreign);
		units += nr;
	}
	note("%u units of %u have data of the first client", found, units);
	if (rule == KEPT && found)
		amiss("the second client has data of the first");
	if (rule == LEFT_OUT && !found)
		amiss("no damage: this case proves nothing");
}

/* ------------------------------------------------------------------------
 * Requests that the storage executes
 */

/* Return the number of reads or writes in flight in the storage, from the file $INFLIGHT. */
static uint32_t in_storage(uint8_t op)
{
	const char *path = getenv("INFLIGHT");
	FILE *file = path ? fopen(path, "r") : NULL;
	unsigned int reads, writes;

	if (!file || fscanf(file, "%u %u", &reads, &writes) != 2)
		die("no number of requests in %s", path ?: "INFLIGHT");
	fclose(file);
	return op == RNBD_OP_READ ? reads : writes;
}

/*
 * Release a segment that a request in the storage uses. Then let the second client fill its memory,
 * and check the memory when the request has ended.
 */
static void in_use(enum rule rule, uint8_t op)
{
	uint64_t end = deadline(20000);
	struct frame f;

	if (!lease_start(&first, 2, "held"))
		return;
	memset(first.c.data, OLD, UNITS * RNBD_UNIT_SIZE);
	session_rdma(&first.c, IBV_WR_RDMA_WRITE, 0, UNITS, 0);
	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, req_entry(op, 0, 1, 0, UNITS * RNBD_UNIT_SIZE, 0));
	frame_send(&first.c, &f);
	while (!in_storage(op) && now_ms() < end)
		nap();
	lease_release(&first, 0);
	if (rule == KEPT)
		session_ends(&first.c, EXTENT);
	else
		lease_await_released(&first, 0);
	if (second_starts()) {
		if (!in_storage(op))
			amiss("the request has ended too early");
		while (in_storage(op) && now_ms() < end)
			nap();
		second_finds(op == RNBD_OP_READ ? rule : KEPT,
			     op == RNBD_OP_READ ? STORED : OLD);
	}
	part();
}

static void write_refused(void)
{
	in_use(KEPT, RNBD_OP_WRITE);
}

static void write_freed(void)
{
	in_use(LEFT_OUT, RNBD_OP_WRITE);
}

static void read_refused(void)
{
	in_use(KEPT, RNBD_OP_READ);
}

static void read_freed(void)
{
	in_use(LEFT_OUT, RNBD_OP_READ);
}

/* ------------------------------------------------------------------------
 * RDMA WRITEs to memory that another client possibly holds
 */

/* The first client continues with RDMA WRITEs during and after a RELEASE. */
static void releasing(enum rule rule)
{
	if (!lease_start(&first, 2, "hostile"))
		return;
	writer_begin();
	if (!writer_goes_on(0))
		amiss("valid RDMA: status %d", first.c.failed);
	lease_release(&first, 0);
	if (rule == KEPT)
		writer_must_fail();
	else if (!writer_goes_on(GOES_ON_MS))
		amiss("the memory is no longer written: status %d", first.c.failed);
	if (rule == KEPT)
		monitor_closed("*");
	if (second_starts()) {
		if (rule == LEFT_OUT && !writer_goes_on(0))
			amiss("the memory is no longer written: status %d", first.c.failed);
		second_finds(rule, OLD);
	}
	part();
}

static void releasing_kept(void)
{
	releasing(KEPT);
}

static void releasing_reused(void)
{
	releasing(LEFT_OUT);
}

/* RDMA WRITEs of a client that has broken a rule, while the target ends its session. */
static void closing(enum rule rule)
{
	struct frame f;

	if (!lease_start(&first, 2, "hostile"))
		return;
	writer_begin();
	if (!writer_goes_on(0))
		amiss("valid RDMA: status %d", first.c.failed);
	client_build(&f, GARBAGE, "");
	conn_post(&first.c, f.b, f.len, IBV_WR_SEND, 0);
	monitor_closed(RESERVED);
	if (second_starts()) {
		/*
		 * a fault point keeps the connection open until the second client has filled its
		 * memory
		 */
		if (!writer_goes_on(0))
			amiss("the session has ended too early: status %d", first.c.failed);
		second_finds(rule, OLD);
		/*
		 * after a WRITE has failed, the memory of the first client is free, and the second
		 * client must still find its own data
		 */
		writer_must_fail();
		if (rule == KEPT)
			second_finds(rule, OLD);
	}
	part();
}

static void closing_kept(void)
{
	closing(KEPT);
}

static void closing_reused(void)
{
	closing(LEFT_OUT);
}

/* The first client holds all memory, returns none, and continues with RDMA WRITEs. */
static void late(enum rule rule)
{
	uint64_t end = deadline(20000);
	uint32_t asked = 0;
	struct ctl entry;
	bool writes = true;

	counter_may_limit("pool_near", 1);
	if (rule == KEPT)
		counter_due_limit("reclaim");
	if (!lease_start(&first, 2, "hostile") || !lease_grow(&first, MOST) ||
	    !lease_start(&second, 3, "hostile")) {
		part();
		return;
	}
	/* the first client reports that it needs no more than its floor */
	lease_want(&first, FLOOR);
	lease_want(&second, le32toh(second.c.grant.r.max_units));
	writer_begin();
	while (second.held < ENOUGH && now_ms() < end) {
		writes = writes && writer_step();
		/* read the entries of the target, but do not answer them */
		if (writes && ctl_receive(&first.c, &entry, 1))
			asked += entry.type == RNBD_CTL_RECLAIM;
		if (ctl_receive(&second.c, &entry, 1) && !lease_take(&second, &entry))
			break;
	}
	note("%u segments were reclaimed, the second client has %u units", asked, second.held);
	if (!asked || second.held < ENOUGH)
		amiss("the memory was not reclaimed");
	if (rule == KEPT) {
		writer_must_fail();
		session_must_go(&first.c, CLOSE_MS);
		monitor_closed(LATE);
	}
	if (second_fills()) {
		if (rule == LEFT_OUT && !writer_goes_on(0))
			amiss("the memory is no longer written: status %d", first.c.failed);
		second_finds(rule, OLD);
	}
	part();
}

static void late_kept(void)
{
	late(KEPT);
}

static void late_reused(void)
{
	late(LEFT_OUT);
}

static const struct client_story stories[] = {
	{ "until-stale-write-refused", write_refused },
	{ "until-stale-write-freed", write_freed },
	{ "until-stale-read-refused", read_refused },
	{ "until-stale-read-freed", read_freed },
	{ "until-stale-releasing-kept", releasing_kept },
	{ "until-stale-releasing-reused", releasing_reused },
	{ "until-stale-closing-kept", closing_kept },
	{ "until-stale-closing-reused", closing_reused },
	{ "until-stale-late-kept", late_kept },
	{ "until-stale-late-reused", late_reused },
};

void client_stale_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
