/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of a session, its requests and its counters.
 *
 * Operation: While it is connected, a queue has one RDMA queue pair and blocks of the pool.
 * A queue carries the requests of at most one blk-mq hardware queue of each disk. Queue 0 also
 * carries the requests of hardware queues whose own queue is not connected (route.c).
 * Requests pass through submit.c, stage.c and complete.c.
 *
 * Concurrency: ring.lock protects the state of a queue that requests use. It is taken once
 * per submission (twice for a write in transfer mode "copy"), and once per reply frame or
 * completion. Queues share only the segments, free blocks and waiters of the pool, which
 * rnbdc_space.lock protects.
 */
#ifndef RNBDC_QUEUE_H
#define RNBDC_QUEUE_H

#include <linux/blk-mq.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/io.h"
#include "../core/ring.h"
#include "space.h"

struct rnbdc_hwq;
struct rnbdc_orphan;
struct rnbdc_queue;
struct rnbdc_session;

/* Gather entries in the driver data of a request; one with more pieces uses a table, see data.c. */
#define RNBDC_INLINE_SGES	8

/**
 * enum rnbdc_req_state - state of a request in the client
 * @RNBDC_REQ_IDLE: not yet put into a frame, or finished
 * @RNBDC_REQ_SENT: in the open frame, or in a frame that was sent; not answered
 * @RNBDC_REQ_WAIT_SENT: answered or ended early, but the SEND of its frame has not
 *	completed, so the device can still read its pages
 * @RNBDC_REQ_FETCHING: answered; its RDMA READ is staged or posted
 * @RNBDC_REQ_HELD: held: its connection is lost, but the target can still execute it
 */
enum rnbdc_req_state {
	RNBDC_REQ_IDLE,
	RNBDC_REQ_SENT,
	RNBDC_REQ_WAIT_SENT,
	RNBDC_REQ_FETCHING,
	RNBDC_REQ_HELD,
};

/**
 * struct rnbdc_req - driver data of a block request
 * @hwq: hardware queue through which the request was submitted
 * @queue: queue that carries the request
 * @state: enum rnbdc_req_state
 * @status: result for the block layer
 * @frame_seq: number of the frame that carries the request
 * @wrs: send-queue entries reserved for the request
 * @replay: requeue the request to send it again, instead of completing it
 * @orphaned: an orphan has taken over the wire tag and the pool space, see orphan.c
 * @slow: number of time-outs since the frame with the request was posted, at most 255, see slow.c
 * @ask: the client must query the target about the request
 * @stuck: the request has timed out after it was answered or ended early
 * @sent_at: jiffies when the request was put into its frame
 * @flush_ns: ktime_get_ns() when a FLUSH was put into its frame
 * @wire: request as sent, with its wire tag and its pool extents
 * @read_cqe: completion of the signalled RDMA READ of a batch of reads; used in the last read of
 *	the batch
 * @next: next request in a list of finished, waiting, fetched or held requests
 * @batch: requests whose data have arrived when @read_cqe completes, this one included
 * @nr_sge: used members of @sge
 * @sge: gather entries of the data: @inline_sge, or a table from rnbdc_session.tables
 * @inline_sge: gather entries of a request with few pieces of memory
 *
 * The lock of @queue's ring protects all members while the request is in flight.
 * Before that the submitter owns the request and maps @sge.
 */
struct rnbdc_req {
	struct rnbdc_hwq *hwq;
	struct rnbdc_queue *queue;
	u8 state;
	bool replay;
	bool orphaned;
	blk_status_t status;
	u8 slow;
	bool ask;
	bool stuck;
	unsigned long sent_at;
	u64 flush_ns;
	u32 frame_seq;
	u32 wrs;
	struct rnbd_request wire;
	struct ib_cqe read_cqe;
	struct rnbdc_req *next;
	struct rnbdc_req *batch;
	u32 nr_sge;
	struct ib_sge *sge;
	struct ib_sge inline_sge[RNBDC_INLINE_SGES];
};

/**
 * struct rnbdc_stage - RDMA operations to be posted in one call; protected by ring.lock
 * @wrs: work requests, linked in order
 * @sges: gather or scatter entries of @wrs, in order
 * @nr_wrs: used members of @wrs
 * @nr_sges: used members of @sges
 * @end: remote address after the data of the last work request
 * @bytes: bytes that the last work request transfers
 */
struct rnbdc_stage {
	struct ib_rdma_wr *wrs;
	struct ib_sge *sges;
	u32 nr_wrs;
	u32 nr_sges;
	u64 end;
	u32 bytes;
};

/**
 * struct rnbdc_query - query about a request that the target has not answered
 * @open: the query was sent and is not answered
 * @tag: wire tag of the request in question
 * @req: request that has the tag; NULL once the request has finished or was orphaned, or the
 *	query is answered
 * @sent_at: jiffies when the query was sent
 *
 * Protected by the lock of the queue's ring.
 */
struct rnbdc_query {
	bool open;
	u16 tag;
	struct rnbdc_req *req;
	unsigned long sent_at;
};

/**
 * enum rnbdc_join_step - progress of a queue other than 0 in joining its session
 * @RNBDC_JOIN_NONE: no JOIN is in flight
 * @RNBDC_JOIN_SENT: JOIN is sent; the client awaits CHALLENGE
 * @RNBDC_JOIN_CHALLENGED: CHALLENGE has arrived; the connecting thread must send PROOF
 * @RNBDC_JOIN_ANSWERED: PROOF is sent; the client awaits JOIN_REPLY
 */
enum rnbdc_join_step {
	RNBDC_JOIN_NONE,
	RNBDC_JOIN_SENT,
	RNBDC_JOIN_CHALLENGED,
	RNBDC_JOIN_ANSWERED,
};

/**
 * struct rnbdc_join - authentication of a queue other than 0 that joins its session
 * @step: enum rnbdc_join_step; hands this struct from the connecting thread to the
 *	completion handler of the queue, or back, with release and acquire
 * @text: data that the proofs authenticate
 * @mac: expected MAC of the target's proof
 */
struct rnbdc_join {
	enum rnbdc_join_step step;
	struct rnbd_join_text text;
	u8 mac[RNBD_MAC_SIZE];
};

/**
 * struct rnbdc_queue_stats - counters of a queue; protected by its ring's lock
 * @requests: requests put into frames
 * @rdma_writes: RDMA WRITEs posted
 * @rdma_reads: RDMA READs posted
 * @rdma_write_bytes: bytes transferred by @rdma_writes
 * @rdma_read_bytes: bytes transferred by @rdma_reads
 * @coalesced: requests whose data joined the RDMA operation of another request
 * @gathered: number of times that the open frame was kept to gather more requests
 * @send_fences: SENDs and RDMA WRITEs posted with a send fence
 * @read_guards: RDMA READs posted as guards, see struct rnbd_quirks
 * @inline_reads: reads whose data came inside the reply frame
 * @inline_writes: writes whose data went inside the request frame
 * @credit_stalls: stops of hardware queues for lack of credits, send slots or wire tags
 * @sq_stalls: stops of hardware queues for lack of send-queue entries
 * @pool_stalls: stops of hardware queues for lack of pool space
 * @queue_starts: restarts of hardware queues that reached the low watermarks or got a turn for
 *	space
 * @fragmented: requests whose pool space has more than one extent
 * @nomem_retries: replies with RNBD_ST_NOMEM, after which the client sends the request again
 * @slow_requests: requests that the target did not answer within io_timeout
 * @orphans: requests that ended before the target answered them
 */
struct rnbdc_queue_stats {
	u64 requests;
	u64 rdma_writes;
	u64 rdma_reads;
	u64 rdma_write_bytes;
	u64 rdma_read_bytes;
	u64 coalesced;
	u64 gathered;
	u64 send_fences;
	u64 read_guards;
	u64 inline_reads;
	u64 inline_writes;
	u64 credit_stalls;
	u64 sq_stalls;
	u64 pool_stalls;
	u64 queue_starts;
	u64 fragmented;
	u64 nomem_retries;
	u64 slow_requests;
	u64 orphans;
};

/**
 * struct rnbdc_queue - a queue of a session
 * @ring: control ring with the queue pair; ring.lock protects the members from @cache on
 * @sess: session; constant
 * @index: number of the queue in the session; constant
 * @attempt: number of the attempt that makes or made the connection
 * @cm_id: id of the connection in the connection manager, or NULL
 * @cm_done: the awaited event has happened; set with a release by rnbdc_queue_wake()
 * @cm_error: result of the awaited event: 0 or a negative errno
 * @cm_status: enum rnbd_status of a refusal by the target
 * @cm_reason: constant text, reason of @cm_error, or NULL
 * @join: authentication of a queue other than 0
 * @retry_ms: milliseconds that the target requests until the next attempt; 0 if it requests
 *	no pause
 * @timeouts: connection requests in a row that the target did not answer in time; written
 *	by the connecting thread
 * @joined: the queue has joined the session, so that a failure of the queue ends all
 *	connections of the session; queues other than 0 only; protected by the lock of the
 *	session
 * @failures: failed attempts in a row; used by further_work, and reset before it starts
 * @warned: a failure was logged, and there was no success since; used by further_work only
 * @next_try: jiffies of the next attempt; used by further_work, and reset before it starts
 * @established: the target has accepted the connection. Until then a failure of the queue
 *	pair does not wake the connecting thread; only the connection manager does.
 * @used: a disk uses or has used the queue, so reply frames are valid; set when the disk is
 *	created
 * @cache: blocks of the pool that belong to this queue
 * @reqs: requests in flight, by wire tag
 * @orphans: wire tags and pool space of requests that have ended early, by wire tag, see
 *	orphan.c; NULL before the first connection
 * @max_orphans: members of @orphans
 * @free_tags: stack of the free wire tags, which are all below @nr_tags
 * @nr_free_tags: used members of @free_tags
 * @nr_tags: number of wire tags for which the target has memory now
 * @out: RDMA WRITEs of the open frame
 * @in: RDMA READs for the reply frame that is being handled
 * @data_cqe: completion of RDMA operations that are not signalled
 * @open_wrs: data work requests staged or posted for the open frame
 * @open_bytes: bytes that @open_wrs transfer
 * @open_reqs: requests in the open frame
 * @sq_free: send-queue entries for data that no request has reserved
 * @sq_size: send-queue entries for data
 * @max_req_wrs: send-queue entries that the largest request can need
 * @in_flight: wire tags in use
 * @sent_seq: frame number; the SENDs of all frames with lower numbers have completed
 * @waiting: requests in RNBDC_REQ_WAIT_SENT
 * @send_fence: last request of the latest READ batch whose extents were released early; the
 *	next SEND or RDMA WRITE must carry a send fence. NULL if none is needed
 * @nr_idle: number of hardware queues that submit to this queue and hold none of its tags
 * @stalled: stopped hardware queues in the order in which they were stopped, except those
 *	that wait in rnbdc_space.waiters
 * @stalled_tail: end of @stalled
 * @ready: requests may be submitted: the queue is connected, and the session is live or about to
 *	be live
 * @query: query in flight
 * @stats: counters
 */
struct rnbdc_queue {
	struct rnbd_ring ring;
	struct rnbdc_session *sess;
	u32 index;

	u32 attempt;
	struct rdma_cm_id *cm_id;
	bool cm_done;
	int cm_error;
	u16 cm_status;
	const char *cm_reason;
	struct rnbdc_join join;
	u32 retry_ms;
	u32 timeouts;
	bool joined;
	u32 failures;
	bool warned;
	unsigned long next_try;
	bool established;

	bool used;
	struct rnbdc_cache cache;
	struct rnbdc_req **reqs;
	struct rnbdc_orphan *orphans;
	u32 max_orphans;
	u16 *free_tags;
	u32 nr_free_tags;
	u32 nr_tags;
	struct rnbdc_stage out;
	struct rnbdc_stage in;
	struct ib_cqe data_cqe;
	u32 open_wrs;
	u32 open_bytes;
	u32 open_reqs;
	u32 sq_free;
	u32 sq_size;
	u32 max_req_wrs;
	u32 in_flight;
	u32 sent_seq;
	struct rnbdc_req *waiting;
	struct rnbdc_req *send_fence;
	u32 nr_idle;
	struct rnbdc_hwq *stalled;
	struct rnbdc_hwq **stalled_tail;
	bool ready;
	struct rnbdc_query query;
	struct rnbdc_queue_stats stats;
};

/**
 * rnbdc_req_posted - test whether the frame with a request was posted
 * @req: request in a frame of the current or latest connection
 *
 * Posting the open frame, which has the number ring.send_seq, increments ring.send_seq.
 *
 * Context: ring.lock held, or the queue is drained.
 * Return: true if the frame was posted.
 */
static inline bool rnbdc_req_posted(const struct rnbdc_req *req)
{
	return (s32)(req->frame_seq - req->queue->ring.send_seq) < 0;
}

#endif /* RNBDC_QUEUE_H */
