// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the queues of all sessions: limits, floors and charges.
 *
 * Operation
 *
 * The queues of a session have rings, requests and queue pairs, and their requests need
 * memory while they are in flight. Attachments need memory as well (attached.c). All of that
 * has a limit, of which each host has a share.
 * As a pool (budget.c), the queues of a session have a floor: what each of them begins with.
 * It is charged at the login, as far as the limits leave it, so that a queue finds its memory
 * when it joins. Rings and requests grow beyond that only up to fifteen sixteenths of the
 * limit, so that a new session finds its floor at once. That they may not grow is no error.
 *
 * Ownership
 *
 * Charges are recorded in the queue and in the session, and in the host for all its sessions
 * and claims (claim.c). rnbdt_queue_budget_freed() returns them when the memory is free.
 *
 * Concurrency
 *
 * The host is locked to change its accounts and those of its sessions. Hosts share the sums,
 * which are atomic, and change them concurrently: memory is charged first, then the sums are
 * compared with the limits, and if one is exceeded the memory is returned. A full barrier
 * separates the charge from the comparison, because they may concern different sums. So no
 * limit is exceeded for longer than that, but if several want the last memory none of them may
 * get it.
 * The account of requests in flight is atomic. A changed limit applies to what is charged from
 * then on.
 *
 * Errors: a reached limit is a status for the client and increases a counter.
 */

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <rnbd/wire.h>

#include "../core/param.h"
#include "../core/ring.h"
#include "attached.h"
#include "counters.h"
#include "graph.h"
#include "half_open.h"
#include "headroom.h"
#include "queue.h"
#include "queue_budget.h"
#include "session.h"

RNBD_PARAM_UINT(queue_limit_mb, 0, 0, 16777216,
		"MiB of memory of all queues and their requests, seven eighths of them for one host; 0: an eighth of RAM");

static atomic64_t rnbdt_all_queue_bytes;	/* of sessions and claims */
static atomic64_t rnbdt_io_bytes;	/* of all sessions */

/* Charge memory of queues to a host, or return it if @bytes is negative. */
static void rnbdt_queue_budget_charge(struct rnbdt_host *host, s64 bytes)
{
	rnbdt_assert_host(host);

	WRITE_ONCE(host->queue_bytes, host->queue_bytes + bytes);
	atomic64_add(bytes, &rnbdt_all_queue_bytes);
	/* The caller may read other sums. Pairs with the barriers after the charges to those. */
	smp_mb__after_atomic();
}

/* Let a queue have @bytes charged. */
static void rnbdt_queue_budget_set(struct rnbdt_queue *q, u64 bytes)
{
	struct rnbdt_account *account = &q->session->account;
	s64 more = bytes - q->charged;

	rnbdt_queue_budget_charge(q->session->host, more);
	WRITE_ONCE(account->queue_bytes, account->queue_bytes + more);
	q->charged = bytes;
}

static u64 rnbdt_queue_limit(void)
{
	return rnbdt_limit_bytes(READ_ONCE(queue_limit_mb), 8);
}

/* What rings and requests may use, floors included. The rest is for further floors. */
static u64 rnbdt_queue_elastic(void)
{
	u64 all = rnbdt_queue_limit();

	return all - all / 16;
}

/* Bytes of queues and requests of a host. */
static u64 rnbdt_queue_bytes_of(const struct rnbdt_host *host)
{
	return READ_ONCE(host->queue_bytes) + atomic64_read(&host->io_bytes);
}

/* Bytes of queues and requests of all hosts. */
static u64 rnbdt_queue_bytes_all(void)
{
	return atomic64_read(&rnbdt_all_queue_bytes) + atomic64_read(&rnbdt_io_bytes) +
	       rnbdt_attached_bytes();
}

/* Return which limit is exceeded, if @all is that of all hosts, or RNBDT_LIMITS if none is. */
static enum rnbdt_limit rnbdt_queue_budget_exceeded(const struct rnbdt_host *host, u64 all)
{
	if (rnbdt_queue_bytes_of(host) > rnbdt_host_share(all))
		return RNBDT_LIMIT_HOST_QUEUES;
	return rnbdt_queue_bytes_all() > all ? RNBDT_LIMIT_QUEUES : RNBDT_LIMITS;
}

/* Return by how much the limits are exceeded, if @all is that of all hosts. */
static u64 rnbdt_queue_budget_excess(const struct rnbdt_host *host, u64 all)
{
	u64 of_host = rnbdt_queue_bytes_of(host), share = rnbdt_host_share(all);
	u64 of_all = rnbdt_queue_bytes_all();

	return max(of_host - min(of_host, share), of_all - min(of_all, all));
}

/**
 * rnbdt_queue_budget_grow - charge the memory of a queue to the accounts
 * @q: queue
 * @bytes: what it is to have, not less than what is charged
 * @all: limit of all queues
 * @login: sessions of the host that are closing may free what is missing
 *
 * Context: process context, host of the session locked.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or with @login RNBD_ST_BUSY because of those sessions.
 */
static u16 rnbdt_queue_budget_grow(struct rnbdt_queue *q, u64 bytes, u64 all, bool login)
{
	struct rnbdt_host *host = q->session->host;
	enum rnbdt_limit limit;
	u64 old = q->charged;

	rnbdt_queue_budget_set(q, bytes);
	limit = rnbdt_queue_budget_exceeded(host, all);
	if (limit == RNBDT_LIMITS)
		return RNBD_ST_OK;
	rnbdt_queue_budget_set(q, old);
	return rnbdt_limit_status(limit, login && rnbdt_headroom_closing(host).queues);
}

/*
 * Estimate the memory of a queue pair and of its part of a completion queue: entries as mlx5
 * has them, and a page. Other devices have larger or smaller ones.
 */
static u64 rnbdt_queue_pair_bytes(u32 slots, u32 data_wrs)
{
	u32 send = slots + data_wrs + 2, recv = slots + 1;

	return PAGE_SIZE + 64ull * send + 16ull * recv + 64ull * (send + recv);
}

/*
 * Memory of a queue whatever it has to do, of which a ring of the session has the geometry;
 * that of queue 0 includes the session.
 */
static u64 rnbdt_queue_base_bytes(const struct rnbd_ring_attr *attr, u16 index)
{
	return rnbdt_queue_pair_bytes(attr->slots, index ? 0 : attr->data_wrs) +
	       kmalloc_size_roundup(sizeof(struct rnbdt_queue)) +
	       kmalloc_size_roundup(index ? sizeof(struct rnbdt_join) :
					    sizeof(struct rnbdt_session));
}

/* Memory of a queue with so many slots and chunks of requests. */
static u64 rnbdt_queue_bytes_with(const struct rnbd_ring_attr *attr, u16 index, u32 slots,
				  u32 chunks)
{
	return rnbdt_queue_base_bytes(attr, index) + rnbdt_ring_bytes(slots, attr->slot_size) +
	       (u64)chunks * kmalloc_size_roundup(sizeof(struct rnbdt_req_chunk));
}

/**
 * rnbdt_queue_budget_first - charge what a queue begins with
 * @q: queue of a session that logs in, gets a list of exports, or is live
 * @chunks: chunks of requests that it will have
 * @login: sessions of the host that are closing may free what is missing
 *
 * What is reserved for it is charged already.
 *
 * Context: process context, host of the session locked.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or with @login RNBD_ST_BUSY because of those sessions.
 */
u16 rnbdt_queue_budget_first(struct rnbdt_queue *q, u32 chunks, bool login)
{
	struct rnbdt_account *account = &q->session->account;
	u64 bytes = rnbdt_queue_bytes_with(&q->ring.attr, q->index, RNBDT_FIRST_SLOTS, chunks);
	u64 reserved = min(bytes, account->queue_reserved);
	u16 status;

	q->nr_slots = RNBDT_FIRST_SLOTS;
	q->charged = reserved;
	status = rnbdt_queue_budget_grow(q, bytes, rnbdt_queue_limit(), login);
	if (status) {
		q->charged = 0;
		return status;
	}
	account->queue_reserved -= reserved;
	q->reserved = reserved;
	return RNBD_ST_OK;
}

/**
 * rnbdt_queue_budget_reserve - charge what the queues of a session begin with
 * @s: session that logs in, after rnbdt_limits_login()
 *
 * If the limits do not leave as much, some queues may be refused when they join.
 *
 * Context: process context, host of @s locked; the number of queues is known.
 */
void rnbdt_queue_budget_reserve(struct rnbdt_session *s)
{
	const struct rnbd_ring_attr *attr = &s->queues[0]->ring.attr;
	u64 want = (s->granted.nr_queues - 1) *
		   rnbdt_queue_bytes_with(attr, 1, RNBDT_FIRST_SLOTS, 1);
	u64 all = rnbdt_queue_limit();
	struct rnbdt_account *account = &s->account;
	s64 more = want - account->queue_reserved;

	rnbdt_queue_budget_charge(s->host, more);
	if (more > 0) {
		s64 excess = min_t(u64, more, rnbdt_queue_budget_excess(s->host, all));

		rnbdt_queue_budget_charge(s->host, -excess);
		more -= excess;
	}
	account->queue_reserved += more;
	WRITE_ONCE(account->queue_bytes, account->queue_bytes + more);
	account->queue_floor = s->queues[0]->charged + account->queue_reserved;
}

/**
 * rnbdt_queue_budget_leave - leave the floor of the queues of a session to its claim
 * @s: session whose queue pairs are drained, or whose login is refused
 * @waits: the memory of its queues is not about to be freed, and stays charged
 *
 * Context: process context, host of the session locked.
 * Return: bytes of the floor, which are charged to the host.
 */
u64 rnbdt_queue_budget_leave(struct rnbdt_session *s, bool waits)
{
	struct rnbdt_account *account = &s->account;
	u64 bytes = min(account->queue_floor, account->queue_bytes);
	u64 less = waits ? account->queue_reserved : bytes;

	WRITE_ONCE(account->queue_bytes, account->queue_bytes - less);
	account->queue_floor = 0;
	account->queue_reserved = 0;
	rnbdt_queue_budget_charge(s->host, bytes - less);
	return bytes;
}

/**
 * rnbdt_queue_budget_take_over - let a session have the memory of queues of its claim
 * @s: session that logs in
 * @bytes: what rnbdt_queue_budget_leave() has returned
 *
 * Context: process context, host of the session locked.
 */
void rnbdt_queue_budget_take_over(struct rnbdt_session *s, u64 bytes)
{
	rnbdt_assert_host(s->host);

	s->account.queue_floor = bytes;
	s->account.queue_reserved = bytes;
	WRITE_ONCE(s->account.queue_bytes, bytes);
}

/**
 * rnbdt_queue_budget_end_claim - return the memory of queues of a claim
 * @host: its host
 * @bytes: what rnbdt_queue_budget_leave() has returned
 *
 * Context: process context, host of the session locked.
 */
void rnbdt_queue_budget_end_claim(struct rnbdt_host *host, u64 bytes)
{
	rnbdt_queue_budget_charge(host, -bytes);
}

/**
 * rnbdt_queue_budget_remove - return what a queue begins with
 * @q: queue that fails to join its session
 *
 * Context: process context, host of the session locked.
 */
void rnbdt_queue_budget_remove(struct rnbdt_queue *q)
{
	rnbdt_queue_budget_set(q, q->reserved);
	q->session->account.queue_reserved += q->reserved;
	q->charged = 0;
	q->reserved = 0;
}

/* Change what is charged for a queue. Returns false if a limit forbids more. */
static bool rnbdt_queue_budget_resize(struct rnbdt_queue *q, u64 bytes)
{
	struct rnbdt_host *host = q->session->host;
	u16 status = RNBD_ST_OK;

	/* Only the caller changes it. */
	if (bytes == READ_ONCE(q->charged))
		return true;
	rnbdt_host_lock(host);
	if (bytes > q->charged)
		status = rnbdt_queue_budget_grow(q, bytes, rnbdt_queue_elastic(), false);
	else
		rnbdt_queue_budget_set(q, bytes);
	rnbdt_host_unlock(host);
	return !status;
}

/**
 * rnbdt_queue_budget_slots - charge the slots of a queue that has joined its session
 * @q: queue
 * @slots: slots of both directions that it has, or is about to allocate
 *
 * Context: slots work of the ring; locks the host.
 * Return: false if a limit forbids more than what is charged.
 */
bool rnbdt_queue_budget_slots(struct rnbdt_queue *q, u32 slots)
{
	if (slots != q->nr_slots &&
	    !rnbdt_queue_budget_resize(q, rnbdt_queue_bytes_with(&q->ring.attr, q->index,
								 slots, q->nr_chunks)))
		return false;
	q->nr_slots = slots;
	return true;
}

/**
 * rnbdt_queue_budget_requests - charge the requests of a queue that has joined its session
 * @q: queue
 * @chunks: chunks of requests that it has, or is about to allocate
 *
 * Context: slots work of the ring; locks the host.
 * Return: false if a limit forbids more than what is charged.
 */
bool rnbdt_queue_budget_requests(struct rnbdt_queue *q, u32 chunks)
{
	return rnbdt_queue_budget_resize(q, rnbdt_queue_bytes_with(&q->ring.attr, q->index,
								   q->nr_slots, chunks));
}

/**
 * rnbdt_queue_budget_take_io - charge memory that a request needs until it ends
 * @s: session of the request
 * @bytes: number of bytes
 *
 * One request of a session gets its memory in any case, so that the client that retries
 * those that were refused makes progress.
 *
 * Context: any.
 * Return: false if a limit is reached; the client retries a request that it knows the target
 * had no memory for.
 */
bool rnbdt_queue_budget_take_io(struct rnbdt_session *s, u32 bytes)
{
	bool first = !atomic64_fetch_add(bytes, &s->account.io_bytes);
	u64 all = rnbdt_queue_limit();

	atomic64_add(bytes, &s->host->io_bytes);
	atomic64_add(bytes, &rnbdt_io_bytes);
	/* Pairs with the barriers after the charges to the other sums. */
	smp_mb__after_atomic();
	if (likely(first || (rnbdt_queue_bytes_of(s->host) <= rnbdt_host_share(all) &&
			     rnbdt_queue_bytes_all() <= all)))
		return true;
	rnbdt_limit_hit(RNBDT_LIMIT_HOST_QUEUES);
	rnbdt_queue_budget_give_io(s, bytes);
	return false;
}

/**
 * rnbdt_queue_budget_give_io - return what rnbdt_queue_budget_take_io() has charged
 * @s: session of the request
 * @bytes: number of bytes
 *
 * Context: any.
 */
void rnbdt_queue_budget_give_io(struct rnbdt_session *s, u32 bytes)
{
	atomic64_sub(bytes, &rnbdt_io_bytes);
	atomic64_sub(bytes, &s->host->io_bytes);
	atomic64_sub(bytes, &s->account.io_bytes);
}

/**
 * rnbdt_queue_budget_attach - charge the memory of an attachment, if the limits leave it
 * @att: attachment that is not bound yet
 *
 * rnbdt_attach_forget() returns it.
 *
 * Context: process context, host of the session locked.
 * Return: RNBD_ST_OK, or RNBD_ST_LIMIT and nothing is charged.
 */
u16 rnbdt_queue_budget_attach(struct rnbdt_attach *att)
{
	enum rnbdt_limit limit;

	rnbdt_attach_charge(att);
	limit = rnbdt_queue_budget_exceeded(att->session->host, rnbdt_queue_elastic());
	if (limit == RNBDT_LIMITS)
		return RNBD_ST_OK;
	rnbdt_attach_forget(att);
	return rnbdt_limit_status(limit, false);
}

/**
 * rnbdt_queue_budget_parted - return what was charged for the rings of a session
 * @s: closing session whose rings and queue pairs are free, but not its requests
 *
 * Context: process context, host of @s locked, after rnbdt_claim_keep() with @waits.
 */
void rnbdt_queue_budget_parted(struct rnbdt_session *s)
{
	u32 i;

	rnbdt_assert_host(s->host);

	for (i = 0; i < s->nr_slots; i++) {
		struct rnbdt_queue *q = s->queues[i];
		u64 freed;

		if (!q)
			continue;
		freed = rnbdt_queue_pair_bytes(q->ring.attr.slots, q->ring.attr.data_wrs) +
			rnbdt_ring_bytes(q->nr_slots, q->ring.attr.slot_size);
		rnbdt_queue_budget_set(q, rnbdt_limit_left(q->charged, freed));
	}
}

/**
 * rnbdt_queue_budget_freed - return the memory that was charged for the queues of a session
 * @s: session whose rings are free
 *
 * Context: process context, host of the session locked.
 */
void rnbdt_queue_budget_freed(struct rnbdt_session *s)
{
	struct rnbdt_account *account = &s->account;

	rnbdt_queue_budget_charge(s->host, -account->queue_bytes);
	WRITE_ONCE(account->queue_bytes, 0);
	account->queue_reserved = 0;
}
