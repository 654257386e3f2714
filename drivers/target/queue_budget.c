// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the queues of all sessions: limits, floors and charges.
 *
 * Operation
 *
 * A single limit covers the rings, request structures and queue pairs of all queues, the memory
 * that requests need while they are in flight, and the memory of attachments (attached.c). Each
 * host may use at most seven eighths of the limit.
 *
 * The queues of a session have a floor, like a pool (budget.c): the memory with which its queues
 * begin. A login is refused if the part of queue 0 cannot be charged. The part of the further
 * queues is charged at the login as far as the limits allow, so that the memory is available when a
 * queue joins. Rings and requests may grow, and attachments may be added, only while all charges
 * together are at most fifteen sixteenths of the limit, so that a new session finds its floor at
 * once. A ring that cannot grow is no error.
 *
 * Ownership
 *
 * Charges are recorded in the queue, in the session, and in the host for all its sessions and
 * claims (claim.c). rnbdt_queue_budget_freed() cancels those of a session in its teardown.
 *
 * Concurrency
 *
 * The host lock protects the accounts of the host and of its sessions. All hosts share the sums,
 * which are atomic. A context first charges the memory, then compares the sums with the limits,
 * and cancels the charge if a limit is exceeded. A full barrier separates charge and comparison:
 * of two contexts that charge different sums, at least one sees both charges. So two charges that
 * only together exceed a limit never both remain, but both can be cancelled. Memory of requests in
 * flight is charged without the host lock, so these accounts are atomic. A changed limit applies to
 * later charges only.
 *
 * Errors
 *
 * A refused charge increases a counter, unless the client gets RNBD_ST_BUSY. The client gets an
 * error status, or its ring or its number of requests does not grow.
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

static atomic64_t rnbdt_all_queue_bytes;	/* charged for queues to all sessions and claims */
static atomic64_t rnbdt_io_bytes;	/* charged for requests in flight of all sessions */

/* Charge memory of queues to a host, or cancel a charge if @bytes is negative. */
static void rnbdt_queue_budget_charge(struct rnbdt_host *host, s64 bytes)
{
	rnbdt_assert_host(host);

	WRITE_ONCE(host->queue_bytes, host->queue_bytes + bytes);
	atomic64_add(bytes, &rnbdt_all_queue_bytes);
	/* Charge before the caller reads the other sums. Their charges have the same barrier. */
	smp_mb__after_atomic();
}

/* Set the bytes that are charged for a queue to @bytes. */
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

/*
 * Return the limit in bytes for a charge beyond the floors. The sum of all charges, floors
 * included, is compared with this limit; the last sixteenth of the full limit is kept for the
 * floors of new sessions.
 */
static u64 rnbdt_queue_elastic(void)
{
	u64 all = rnbdt_queue_limit();

	return all - all / 16;
}

/* Return the bytes that are charged to a host for queues, requests and attachments. */
static u64 rnbdt_queue_bytes_of(const struct rnbdt_host *host)
{
	return READ_ONCE(host->queue_bytes) + atomic64_read(&host->io_bytes);
}

/* Return the bytes that are charged to all hosts for queues, requests and attachments. */
static u64 rnbdt_queue_bytes_all(void)
{
	return atomic64_read(&rnbdt_all_queue_bytes) + atomic64_read(&rnbdt_io_bytes) +
	       rnbdt_attached_bytes();
}

/* Return which limit is exceeded, or RNBDT_LIMITS if none is. @all is the limit of all hosts. */
static enum rnbdt_limit rnbdt_queue_budget_exceeded(const struct rnbdt_host *host, u64 all)
{
	if (rnbdt_queue_bytes_of(host) > rnbdt_host_share(all))
		return RNBDT_LIMIT_HOST_QUEUES;
	return rnbdt_queue_bytes_all() > all ? RNBDT_LIMIT_QUEUES : RNBDT_LIMITS;
}

/* Return the larger excess over the limit @all of all hosts and over that of the host, in bytes. */
static u64 rnbdt_queue_budget_excess(const struct rnbdt_host *host, u64 all)
{
	u64 of_host = rnbdt_queue_bytes_of(host), share = rnbdt_host_share(all);
	u64 of_all = rnbdt_queue_bytes_all();

	return max(of_host - min(of_host, share), of_all - min(of_all, all));
}

/**
 * rnbdt_queue_budget_grow - increase the charge of a queue
 * @q: queue
 * @bytes: new charge in bytes, not less than the present one
 * @all: limit in bytes of all hosts
 * @login: called for a login or a list of exports, which the client retries after RNBD_ST_BUSY
 *
 * Context: process context, host lock held.
 * Return: RNBD_ST_OK. If a limit is exceeded, the charge is unchanged and the result is
 * RNBD_ST_BUSY if @login is true and closing sessions of the host still hold memory of queues
 * (rnbdt_headroom_closing()), and RNBD_ST_LIMIT otherwise.
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
 * Estimate the memory of a queue pair and of its part of a completion queue: a page, and entries
 * of the size that mlx5 uses. Other devices use larger or smaller entries.
 */
static u64 rnbdt_queue_pair_bytes(u32 slots, u32 data_wrs)
{
	u32 send = slots + data_wrs + 2, recv = slots + 1;

	return PAGE_SIZE + 64ull * send + 16ull * recv + 64ull * (send + recv);
}

/*
 * Return the bytes of a queue without slots and requests. @attr describes the ring of this queue or
 * of queue 0 of its session. The bytes of queue 0 include the session structure.
 */
static u64 rnbdt_queue_base_bytes(const struct rnbd_ring_attr *attr, u16 index)
{
	return rnbdt_queue_pair_bytes(attr->slots, index ? 0 : attr->data_wrs) +
	       kmalloc_size_roundup(sizeof(struct rnbdt_queue)) +
	       kmalloc_size_roundup(index ? sizeof(struct rnbdt_join) :
					    sizeof(struct rnbdt_session));
}

/* Return the bytes of a queue with a number of slots and of chunks of requests. */
static u64 rnbdt_queue_bytes_with(const struct rnbd_ring_attr *attr, u16 index, u32 slots,
				  u32 chunks)
{
	return rnbdt_queue_base_bytes(attr, index) + rnbdt_ring_bytes(slots, attr->slot_size) +
	       (u64)chunks * kmalloc_size_roundup(sizeof(struct rnbdt_req_chunk));
}

/**
 * rnbdt_queue_budget_first - charge the memory with which a queue begins
 * @q: queue of a session that logs in, gets a list of exports, or is live
 * @chunks: chunks of requests with which the queue begins
 * @login: called for a login or a list of exports, which the client retries after RNBD_ST_BUSY
 *
 * Memory that the session has reserved for its queues is charged already and is used first.
 *
 * Context: process context, host lock held.
 * Return: RNBD_ST_OK. If a limit is exceeded, nothing is charged and the result is RNBD_ST_BUSY if
 * @login is true and closing sessions of the host still hold memory of queues
 * (rnbdt_headroom_closing()), and RNBD_ST_LIMIT otherwise.
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
 * rnbdt_queue_budget_reserve - charge the memory with which the further queues of a session begin
 * @s: session that logs in, after rnbdt_limits_login(); its number of queues is granted
 *
 * If the limits leave less memory, only the memory that they leave is charged, and some queues can
 * be refused when they join.
 *
 * Context: process context, host lock held.
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
 * rnbdt_queue_budget_leave - move the floor of the queues of a session to its claim
 * @s: session whose queue pairs are drained, or whose login is refused
 * @waits: the queues are not freed soon, because the storage has requests of the session or because
 *	its login is refused: their memory stays charged to the session, in addition to the floor
 *	of the claim
 *
 * Context: process context, host lock held.
 * Return: bytes of the floor, which stay charged to the host.
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
 * rnbdt_queue_budget_take_over - move the floor of a claim to the session that takes it over
 * @s: session that logs in
 * @bytes: return value of rnbdt_queue_budget_leave() for the session that left the claim
 *
 * Context: process context, host lock held.
 */
void rnbdt_queue_budget_take_over(struct rnbdt_session *s, u64 bytes)
{
	rnbdt_assert_host(s->host);

	s->account.queue_floor = bytes;
	s->account.queue_reserved = bytes;
	WRITE_ONCE(s->account.queue_bytes, bytes);
}

/**
 * rnbdt_queue_budget_end_claim - cancel the charge for the queues of a claim
 * @host: host of the claim
 * @bytes: return value of rnbdt_queue_budget_leave() for the session that left the claim
 *
 * Context: process context, host lock held.
 */
void rnbdt_queue_budget_end_claim(struct rnbdt_host *host, u64 bytes)
{
	rnbdt_queue_budget_charge(host, -bytes);
}

/**
 * rnbdt_queue_budget_remove - undo rnbdt_queue_budget_first()
 * @q: queue that fails to join its session
 *
 * The session reserves again the part that it had reserved before.
 *
 * Context: process context, host lock held.
 */
void rnbdt_queue_budget_remove(struct rnbdt_queue *q)
{
	rnbdt_queue_budget_set(q, q->reserved);
	q->session->account.queue_reserved += q->reserved;
	q->charged = 0;
	q->reserved = 0;
}

/* Set the charge of a queue to @bytes; return false without a change if a limit forbids that. */
static bool rnbdt_queue_budget_resize(struct rnbdt_queue *q, u64 bytes)
{
	struct rnbdt_host *host = q->session->host;
	u16 status = RNBD_ST_OK;

	/* While the slots work of the queue runs, only that work item changes q->charged. */
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
 * rnbdt_queue_budget_slots - set the charge for the slots of a joined queue
 * @q: queue
 * @slots: slots of both directions that the queue has, including those about to be allocated
 *
 * Context: slots work of the ring; locks the host.
 * Return: true; or false if a limit forbids the increase, and the charge is unchanged.
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
 * rnbdt_queue_budget_requests - set the charge for the requests of a joined queue
 * @q: queue
 * @chunks: chunks of requests that the queue has, including those about to be allocated
 *
 * Context: slots work of the ring; locks the host.
 * Return: true; or false if a limit forbids the increase, and the charge is unchanged.
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
 * If no other request of the session has such memory, the charge succeeds in any case, so that
 * a client that retries refused requests makes progress.
 *
 * Context: any.
 * Return: true if the memory was charged; false if a limit forbids that: the caller then answers
 * the request with RNBD_ST_NOMEM, and the client retries the request.
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
 * rnbdt_queue_budget_give_io - cancel a charge of rnbdt_queue_budget_take_io()
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
 * rnbdt_queue_budget_attach - charge the memory of an attachment, if the limits allow it
 * @att: attachment that is not bound yet
 *
 * rnbdt_attach_forget() cancels the charge.
 *
 * Context: process context, host lock held.
 * Return: RNBD_ST_OK, or RNBD_ST_LIMIT if nothing was charged.
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
 * rnbdt_queue_budget_parted - cancel the charge of the rings and queue pairs of a session
 * @s: closing session whose rings and queue pairs were destroyed, and whose request structures
 *	remain because the storage still has requests
 *
 * Context: process context, host lock held, after rnbdt_claim_keep() with waits set.
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
 * rnbdt_queue_budget_freed - cancel all charges for the queues of a session
 * @s: closing session whose rings were destroyed and whose requests have all ended
 *
 * Context: process context, host lock held.
 */
void rnbdt_queue_budget_freed(struct rnbdt_session *s)
{
	struct rnbdt_account *account = &s->account;

	rnbdt_queue_budget_charge(s->host, -account->queue_bytes);
	WRITE_ONCE(account->queue_bytes, 0);
	account->queue_reserved = 0;
}
