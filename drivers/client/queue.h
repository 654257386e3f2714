/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of a session, its requests and its counters.
 *
 * A queue pairs one blk-mq hardware queue with one RDMA queue pair and has blocks
 * of the pool. Requests pass through submit.c, stage.c and complete.c.
 *
 * Concurrency: ring.lock protects all state of a queue and is taken once per
 * submission and once per completion. Queues share only the free blocks of the pool.
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

/**
 * enum rnbdc_req_state - state of a request in the client
 * @RNBDC_REQ_IDLE: owned by the block layer
 * @RNBDC_REQ_SENT: in a frame that was sent, or in the open frame
 * @RNBDC_REQ_WAIT_SENT: answered, but the SEND of its frame has not completed, so the
 *	device may still read its pages
 * @RNBDC_REQ_FETCHING: answered, its RDMA READ is posted
 * @RNBDC_REQ_HELD: its connection is lost, and the target may still execute it
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
 * @hwq: hardware queue of the disk that the request is for
 * @queue: queue that carries the request
 * @state: enum rnbdc_req_state
 * @status: result for the block layer
 * @frame_seq: number of the frame that carries the request
 * @wrs: send-queue entries reserved for the request
 * @replay: requeue the request instead of completing it
 * @orphaned: an orphan has the wire tag and the pool space of the request
 * @slow: time-outs since the request was sent, see slow.c
 * @ask: the target is to be asked about the request
 * @stuck: the request was answered, and then timed out
 * @sent_at: jiffies when the request was put into its frame
 * @flush_ns: ktime_get_ns() when a FLUSH was sent
 * @wire: request as sent, with the wire tag and the pool extents that it holds
 * @read_cqe: completion of the RDMA READ that is signalled for its batch
 * @next: next in a list of finished, waiting or fetched requests
 * @batch: list of requests that @read_cqe covers; this request is the last one
 * @nr_sge: used members of @sge
 * @sge: memory of the data as mapped for the device
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
	struct ib_sge sge[];
};

/**
 * struct rnbdc_stage - RDMA operations to be posted in one call
 * @wrs: work requests, linked in order
 * @sges: gather or scatter entries of @wrs, in order
 * @nr_wrs: used members of @wrs
 * @nr_sges: used members of @sges
 * @end: remote address that follows the data of the last work request
 * @bytes: bytes of the last work request
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
 * @open: the answer is awaited
 * @tag: tag that was asked for
 * @req: request that had the tag; NULL once it was answered
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
 * enum rnbdc_join_step - progress of a queue other than 0 into its session
 * @RNBDC_JOIN_NONE: nothing is sent or awaited
 * @RNBDC_JOIN_SENT: the challenge of the target is awaited
 * @RNBDC_JOIN_CHALLENGED: the connecting thread must answer the challenge
 * @RNBDC_JOIN_ANSWERED: the reply of the target is awaited
 */
enum rnbdc_join_step {
	RNBDC_JOIN_NONE,
	RNBDC_JOIN_SENT,
	RNBDC_JOIN_CHALLENGED,
	RNBDC_JOIN_ANSWERED,
};

/**
 * struct rnbdc_join - the way of a queue other than 0 into its session
 * @step: enum rnbdc_join_step; says whether the connecting thread or the completion handler
 *	of the queue acts next, and is handed over with release and acquire
 * @text: what the proofs authenticate
 * @mac: expected proof of the target
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
 * @rdma_write_bytes: bytes moved by @rdma_writes
 * @rdma_read_bytes: bytes moved by @rdma_reads
 * @coalesced: requests whose data joined the RDMA operation of another request
 * @gathered: times that a frame waited for more requests
 * @send_fences: SENDs and RDMA WRITEs posted with a send fence
 * @read_guards: RDMA READs posted as guards, see struct rnbd_quirks
 * @inline_reads: reads whose data came inside the reply
 * @inline_writes: writes whose data went inside the request
 * @credit_stalls: stops of the hardware queue for lack of credits, send slots or wire
 *	tags
 * @sq_stalls: stops of the hardware queue for lack of send-queue entries
 * @pool_stalls: stops of the hardware queue for lack of pool space
 * @starts: restarts of the hardware queue at the low watermarks
 * @fragmented: requests that took more than one extent
 * @nomem_retries: requests to be sent again because the target lacked memory
 * @slow_requests: requests that were not answered within the time-out
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
	u64 starts;
	u64 fragmented;
	u64 nomem_retries;
	u64 slow_requests;
	u64 orphans;
};

/**
 * struct rnbdc_queue - one hardware queue and its queue pair
 * @ring: control ring; ring.lock protects the members from @cache on
 * @sess: session; constant
 * @index: number of the queue in the session; constant
 * @attempt: number of the attempt that makes or made the connection
 * @cm_id: connection, NULL if there is none
 * @cm_done: the awaited event has happened; released by rnbdc_queue_wake()
 * @cm_error: result of the awaited event: 0 or a negative errno
 * @cm_status: enum rnbd_status of a refusal by the target
 * @cm_reason: constant text, reason of @cm_error, or NULL
 * @join: the way into the session
 * @established: the target has accepted the connection. Before that only the
 *	connection manager reports the result, even if the queue pair fails.
 * @used: a disk uses the queue, so that replies may arrive; set when it is created
 * @cache: blocks of the pool that this queue has
 * @reqs: requests in flight, by wire tag
 * @orphans: wire tags and pool space of requests that have ended early, by wire tag, see
 *	orphan.c; NULL while the queue has no connection
 * @max_orphans: members of @orphans
 * @free_tags: stack of the wire tags that no request has
 * @nr_free_tags: used members of @free_tags
 * @nr_tags: number of wire tags
 * @out: RDMA WRITEs of the open frame
 * @in: RDMA READs of the reply frame that is being handled
 * @data_cqe: completion of RDMA operations that are not signalled
 * @frame_wrs: data work requests that the SEND of each send slot covers
 * @open_wrs: data work requests staged or posted for the open frame
 * @open_bytes: bytes that @open_wrs move
 * @open_reqs: requests in the open frame
 * @sq_free: send-queue entries for data work requests that are not reserved
 * @sq_size: send-queue entries for data work requests
 * @max_req_wrs: send-queue entries that the largest request can need
 * @in_flight: wire tags in use
 * @sent_seq: the SENDs of all frames before this number have completed
 * @waiting: requests in RNBDC_REQ_WAIT_SENT
 * @send_fence: last request whose RDMA READ the next SEND or RDMA WRITE must not
 *	overtake, or NULL
 * @nr_idle: hardware queues of disks that use this queue and have no wire tag of it
 * @stalled: hardware queues that are stopped at a high watermark, in the order in
 *	which they were stopped
 * @stalled_tail: end of @stalled
 * @ready: requests may be submitted: the session is live, or about to be
 * @query: the query that is in flight
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
	u32 *frame_wrs;
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
 * @req: request that is in a frame of the present or latest connection
 *
 * A frame takes the number send_seq when it is posted.
 *
 * Context: ring.lock held, or the queue is drained.
 * Return: true if so.
 */
static inline bool rnbdc_req_posted(const struct rnbdc_req *req)
{
	return (s32)(req->frame_seq - req->queue->ring.send_seq) < 0;
}

#endif /* RNBDC_QUEUE_H */
