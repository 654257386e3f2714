/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of a session and its requests: the types that reply.c, request.c, queue_alloc.c and
 * the backends share.
 *
 * Ownership: while a request is not busy, its structure is unused and its tag belongs to the
 * client. The backend owns a busy request from the frame handler until rnbdt_req_done(), then
 * the done list owns it. The request becomes free just before the frame with its reply is
 * posted, because the client may use the tag again from then on. A stale request gets no reply and
 * stays busy until its queue is freed.
 */
#ifndef RNBDT_QUEUE_H
#define RNBDT_QUEUE_H

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/errseq.h>
#include <linux/fs.h>
#include <linux/llist.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "../core/io.h"
#include "../core/ring.h"
#include "session.h"

struct rnbdt_lane;
struct rnbdt_queue;

#define RNBDT_INLINE_BVECS	4

/**
 * struct rnbdt_req - a request of a client, found by its tag
 * @queue: queue of the request; constant
 * @att: attachment of the request, on which it holds a reference, or NULL if the attachment
 *	was closed; set by the frame handler
 * @submit: list and work item that submit the request, unless the frame handler submits it; set
 *	with @att
 * @entry: in rnbdt_queue.done; ring->lock
 * @item: cost of the request and its place in the scheduler; lock of the scheduler
 * @lane: lane that counts the request while the storage has it; set when the request enters
 *	the scheduler or begins to wait there
 * @todo: in rnbdt_submit.todo
 * @begun: monotonic time in ns when the frame of the request was decoded
 * @turn: number of uses of the tag; changed before @req is written, see pool.c
 * @busy: the client waits for the reply; set (release) by the frame handler, cleared (release)
 *	when the reply is put into a frame, because the client may use the tag again as soon
 *	as that frame is posted
 * @done: the storage has completed the request or does not get it, and only the reply is
 *	outstanding; set by rnbdt_req_done(), cleared before @busy is set
 * @stale: rnbdt_may_submit() has dropped the request because its session closes or its epoch
 *	is old. The client gets no reply, and can send the request again when it has reconnected
 * @closed: rnbdt_may_submit() has refused the request because its attachment closes
 * @status: result, enum rnbd_status
 * @error: first errno of the parts, negative, or 0
 * @parts: bios or asynchronous I/O in flight, plus one while they are being submitted
 * @req: decoded request
 * @work: work item for backends that need process context
 * @iocb: file backend: control block of the transfer
 * @bvec: file backend: extents of the pool; @inline_bvec, or allocated memory that is charged
 *	to the host
 * @nr_bvec: file backend: used members of @bvec
 * @reserve: file backend: @bvec comes from the reserve of file.c
 * @moved: file backend: bytes that were transferred
 * @result: file backend: return value of the asynchronous I/O, bytes or errno
 * @since: file backend: error state of the page cache before the execution
 * @buffered: file backend: the data go through the page cache, synchronously
 * @durable: file backend: success means that the data are on stable storage
 * @alone: file backend: second execution, while no other request writes through the page cache
 * @inline_bvec: file backend: space for the extents of a small request
 *
 * The backend owns the request from the moment when @busy is set until rnbdt_req_done().
 */
struct rnbdt_req {
	struct rnbdt_queue *queue;
	struct rnbdt_attach *att;
	struct rnbdt_submit *submit;
	struct list_head entry;
	struct rnbdt_drr_item item;
	struct rnbdt_lane *lane;
	struct llist_node todo;
	u64 begun;
	u32 turn;
	bool busy;
	bool done;
	bool stale;
	bool closed;
	u16 status;
	int error;
	atomic_t parts;
	struct rnbd_request req;
	struct rnbdt_io_work work;
	struct kiocb iocb;
	struct bio_vec *bvec;
	u32 nr_bvec;
	u32 moved;
	long result;
	errseq_t since;
	bool buffered;
	bool durable;
	bool alone;
	bool reserve;
	struct bio_vec inline_bvec[RNBDT_INLINE_BVECS];
};

/* Requests per allocation; a queue begins with one such allocation. */
#define RNBDT_REQ_CHUNK		RNBD_DEPTH_FIRST

/**
 * struct rnbdt_req_chunk - requests with consecutive tags
 * @rcu: delays kfree() until no reader uses the requests; near the start, as kfree_rcu() requires
 * @reqs: requests
 */
struct rnbdt_req_chunk {
	struct rcu_head rcu;
	struct rnbdt_req reqs[RNBDT_REQ_CHUNK];
};

/* Documentation/explanation/memory.rst computes the memory of an idle session with this size. */
static_assert(IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) || sizeof(struct rnbdt_req_chunk) <= 8192);

/**
 * enum rnbdt_join_state - state of a queue with respect to its session
 * @RNBDT_JOINED: the queue belongs to the session, which ends if the queue fails
 * @RNBDT_JOINING: the client must still prove the key of the session
 * @RNBDT_JOIN_FAILED: the queue is torn down, and the session continues
 */
enum rnbdt_join_state {
	RNBDT_JOINED,
	RNBDT_JOINING,
	RNBDT_JOIN_FAILED,
};

/**
 * enum rnbdt_join_step - next step of a queue that joins
 * @RNBDT_JOIN_AWAITS_JOIN: the client must send a JOIN entry
 * @RNBDT_JOIN_AWAITS_PROOF: the client must send a PROOF entry
 * @RNBDT_JOIN_VERIFIES: the target must verify the proof
 * @RNBDT_JOIN_REFUSED: the target has refused the queue; the client must disconnect
 */
enum rnbdt_join_step {
	RNBDT_JOIN_AWAITS_JOIN,
	RNBDT_JOIN_AWAITS_PROOF,
	RNBDT_JOIN_VERIFIES,
	RNBDT_JOIN_REFUSED,
};

/**
 * struct rnbdt_join - admission of a queue other than 0 to its session, see join.c
 * @entry: in rnbdt_conn.joins until the queue has joined, or has failed and its ring was
 *	destroyed; host lock
 * @q: queue; constant
 * @req: connection request; constant
 * @step: enum rnbdt_join_step; written by the completion handler, then by @verify_work
 * @id: id of the JOIN entry
 * @text: input of the HMACs; written by the completion handler, then by @verify_work
 * @mac: proof of the client, then that of the target; written as @text
 * @half_open: entry in the half-open limits until the queue has joined or was torn down
 * @verify_work: verifies the proof, on rnbdt_login_wq
 * @expire_work: ends a queue that does not join in time, or that was refused and whose client does
 *	not disconnect, on rnbdt_timer_wq
 * @abort_work: tears down a queue that has failed, on rnbdt_hangup_wq
 * @destroy_work: destroys the connection id of a queue that has failed, and frees the queue, on
 *	rnbdt_linger_wq
 */
struct rnbdt_join {
	struct list_head entry;
	struct rnbdt_queue *q;
	struct rnbd_conn_req req;
	enum rnbdt_join_step step;
	u32 id;
	struct rnbd_join_text text;
	u8 mac[RNBD_MAC_SIZE];
	struct rnbdt_half_open half_open;
	struct work_struct verify_work;
	struct delayed_work expire_work;
	struct work_struct abort_work;
	struct work_struct destroy_work;
};

/**
 * struct rnbdt_accept - acceptance of a connection
 * @responder_resources: number of RDMA READs that the client requests to have in flight; constant
 * @accept_work: creates the ring and accepts the connection, on rnbdt_login_wq; holds a
 *	reference on the session and is counted in rnbdt_conn.connecting
 * @ended: completed when @accept_work no longer changes the queue pair
 */
struct rnbdt_accept {
	u8 responder_resources;
	struct work_struct accept_work;
	struct completion ended;
};

/**
 * struct rnbdt_queue - one connection of a session
 * @ring: control ring; its lock protects @done to @stats
 * @session: session of the queue; constant
 * @cm_id: connection id; the queue is its context
 * @index: index in rnbdt_session.queues; constant
 * @accept: acceptance of the connection
 * @join_state: enum rnbdt_join_state; changes at most once, by cmpxchg()
 * @join: admission to the session; NULL for queue 0; constant
 * @chunks: requests by tag, an array of chunks for the granted depth; NULL until the login
 *	(queue 0) or the join, which writes the first chunk. The slots work of @ring then writes
 *	further chunks before @ring allows their tags, and sets chunks to NULL after the client
 *	has reduced its number of tags
 * @nr_chunks: number of allocated chunks; written as @chunks
 * @done: completed requests whose reply is not in a frame yet
 * @nr_done: length of @done; written under ring->lock, read without
 * @done_inline: bytes of READ data of the requests in @done that the client accepts in a frame
 * @query: tag + 1 of the request that the client asks about (QUERY), or 0; written under
 *	ring->lock, read without
 * @query_id: id of that query, which the answer repeats; ring->lock
 * @stats: counters of completed requests
 * @replies_per_frame: number of replies that fit into one frame; constant once connected
 * @nr_slots: slots of @ring that are charged to the host; set by the login or the join, then
 *	written by the slots work of @ring
 * @charged: bytes of the queue that are charged to the host; host lock
 * @reserved: bytes of @charged that the session had reserved for the queue; host lock
 * @inflight: requests that were accepted and are not completed, plus one until the ring is drained
 * @begun: number of work items that requests of the present frame have queued; frame handler
 * @several: the latest frame has queued more than one work item; written by the frame
 *	handler, read by the work items
 * @reply_work: sends replies, on rnbdt_reply_wq
 * @idle: completed when @inflight is zero
 * @rcu: delays kfree() until no reader uses @stats
 *
 * The handler of a connection request allocates a queue. The teardown destroys @cm_id before it
 * frees the queue, so that no handler can use a freed queue.
 */
struct rnbdt_queue {
	struct rnbd_ring ring;
	struct rnbdt_session *session;
	struct rdma_cm_id *cm_id;
	u16 index;
	struct rnbdt_accept accept;
	u8 join_state;
	struct rnbdt_join *join;
	struct rnbdt_req_chunk **chunks;
	u32 nr_chunks;
	struct list_head done;
	u32 nr_done;
	u32 done_inline;
	u32 query;
	u32 query_id;
	struct rnbdt_stats stats;
	u32 replies_per_frame;
	u32 nr_slots;
	u64 charged;
	u64 reserved;
	atomic_t inflight;
	u32 begun;
	bool several;
	struct work_struct reply_work;
	struct completion idle;
	struct rcu_head rcu;
};

/**
 * rnbdt_queue_joined - test whether a queue belongs to its session
 * @q: queue
 *
 * Context: any.
 * Return: true for queue 0, and for a queue that has joined; false for a queue that has not joined
 * yet, or that failed before it joined.
 */
static inline bool rnbdt_queue_joined(const struct rnbdt_queue *q)
{
	/* pairs with the cmpxchg() that lets the queue join */
	return smp_load_acquire(&q->join_state) == RNBDT_JOINED;
}

/**
 * rnbdt_queue_req - find the request of a tag
 * @q: queue 0, or a queue that has joined
 * @tag: any number
 *
 * Context: completion handler of @q, or RCU or ring->lock held.
 * Return: the request, or NULL if the client may not use the tag at present.
 */
static inline struct rnbdt_req *rnbdt_queue_req(const struct rnbdt_queue *q, u16 tag)
{
	struct rnbdt_req_chunk *chunk;

	if (unlikely(tag >= READ_ONCE(q->ring.in.depth)))
		return NULL;
	/* pairs with the release in rnbdt_queue_grow() */
	chunk = smp_load_acquire(&q->chunks[tag / RNBDT_REQ_CHUNK]);
	return likely(chunk) ? &chunk->reqs[tag % RNBDT_REQ_CHUNK] : NULL;
}

#endif /* RNBDT_QUEUE_H */
