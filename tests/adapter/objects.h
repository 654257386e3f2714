/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of the modelled adapter.
 *
 * Operation: every object embeds the object of the RDMA core as its first member.
 *
 * Ownership: the RDMA core frees devices, protection domains, address handles, queue
 * pairs, and completion queues; the model frees regions and mappings.
 *
 * Concurrency: locks do not nest, with three exceptions. The lock of a vector is taken
 * inside the lock of a completion queue. The locks of regions, mappings and random
 * numbers are taken inside place_lock of a queue pair. The lock of mappings is taken
 * inside those of queues and queue pairs. mdl_devices_lock is taken with
 * bottom halves disabled, all other locks with interrupts disabled, because a ULP may
 * post, poll, map and unmap in any context. Lookups of devices, queue pairs and regions
 * use RCU.
 *
 * Errors: the errors of the functions are in model.h.
 */
#ifndef MDL_OBJECTS_H
#define MDL_OBJECTS_H

#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/refcount.h>
#include <linux/timer.h>
#include <rdma/ib_verbs.h>

#include "device.h"

/* Data move in pieces of at most one path MTU. */
#define MDL_MAX_PACKET		4096
/* Bytes of a global route header in front of each datagram. */
#define MDL_GRH_SIZE		40
/* Key of all memory, for local access by work requests of the kernel. */
#define MDL_LOCAL_DMA_LKEY	0x100
/* Number of the queue pair for management datagrams. */
#define MDL_GSI_QPN		1
/* Entries of a receive work request in any profile. */
#define MDL_MAX_RECV_SGE	64
/* Byte that fills what is undefined in a work completion. */
#define MDL_UNDEFINED		0x5a

struct mdl_pd {
	struct ib_pd ib;
};

/**
 * struct mdl_av - address vector, copied from an address handle
 * @sgid: source GID
 * @dgid: destination GID
 * @dmac: MAC address of the destination as the ULP resolved it
 * @smac: MAC address of the source
 * @hop_limit: hop limit
 * @tclass: traffic class
 */
struct mdl_av {
	union ib_gid sgid;
	union ib_gid dgid;
	u8 dmac[ETH_ALEN];
	u8 smac[ETH_ALEN];
	u8 hop_limit;
	u8 tclass;
};

struct mdl_ah {
	struct ib_ah ib;
	struct mdl_av av;
};

/**
 * struct mdl_piece - consecutive part of a memory region
 * @addr: DMA address
 * @len: length, bytes
 */
struct mdl_piece {
	u64 addr;
	u32 len;
};

/**
 * struct mdl_mr - memory region
 * @ib: region of the RDMA core
 * @rcu: defers freeing
 * @lock: protects all that follow, except @is_dma, @max and the staged pieces
 * @is_dma: whether it stands for all memory
 * @valid: whether it can be accessed
 * @used: whether it was registered before, with @key the last time
 * @key: local and remote key; the lowest byte is the variant
 * @access: enum ib_access_flags
 * @iova: first address in the region
 * @length: bytes
 * @nr: number of pieces
 * @active: pieces, used while @valid
 * @max: capacity of @active and @staged
 * @staged_nr: number of staged pieces; the ULP serialises access
 * @staged: pieces that map_mr_sg() left for the next REG_MR
 */
struct mdl_mr {
	struct ib_mr ib;
	struct rcu_head rcu;
	spinlock_t lock;	/* what an engine uses */
	bool is_dma;
	bool valid;
	bool used;
	u32 key;
	int access;
	u64 iova;
	u64 length;
	u32 nr;
	struct mdl_piece *active;
	u32 max;
	u32 staged_nr;
	struct mdl_piece *staged;
};

/**
 * struct mdl_cqe - work completion in a completion queue
 * @wc: completion for the ULP
 * @qp: queue pair; entries of a destroyed one are removed
 * @rq: receive queue of which polling frees an entry, NULL for a send completion
 * @sq_index: index of the send queue up to which polling frees the entries
 * @solicited: whether it raises an event for solicited completions
 */
struct mdl_cqe {
	struct ib_wc wc;
	struct mdl_qp *qp;
	struct mdl_rq *rq;
	u32 sq_index;
	bool solicited;
};

/* Completion that is delivered later; delay.c. */
struct mdl_held {
	struct list_head entry;
	ktime_t due;
	struct mdl_cqe cqe;
};

enum mdl_arm { MDL_ARM_NONE, MDL_ARM_SOLICITED, MDL_ARM_NEXT };

/**
 * struct mdl_cq - completion queue
 * @ib: completion queue of the RDMA core
 * @lock: protects the following members up to @broken
 * @ring: entries
 * @head: index of the next entry to be written, counts up
 * @tail: index of the next entry to be polled, counts up
 * @requested: number of entries that the ULP requested; not protected
 * @owed: number of work requests that may still add an entry; atomic
 * @arm: event that the ULP requested
 * @count: moderation: completions per event
 * @period: moderation: longest delay of an event, us; timed: with the slowdown
 * @pending: completions since the last event
 * @broken: whether it overflowed
 * @timer: moderation timer
 * @vector: completion vector
 * @vector_entry: entry of mdl_vector.cqs
 * @held: struct mdl_held entries by their time; protected by @lock, like @held_free
 * @held_free: unused struct mdl_held entries
 * @held_pool: array of all struct mdl_held
 * @held_timer: expires when the first of @held is due; not if timed
 * @event_due: timed: when it interrupts, U64_MAX if it does not; protected by @lock
 * @event_entry: timed: entry of the list of clock.c
 */
struct mdl_cq {
	struct ib_cq ib;
	spinlock_t lock;	/* ring and events */
	struct mdl_cqe *ring;
	u32 head;
	u32 tail;
	u32 requested;
	atomic_t owed;
	enum mdl_arm arm;
	u16 count;
	u32 period;
	u32 pending;
	bool broken;
	struct hrtimer timer;
	struct mdl_vector *vector;
	struct list_head vector_entry;
	struct list_head held;
	struct list_head held_free;
	struct mdl_held *held_pool;
	struct hrtimer held_timer;
	u64 event_due;
	struct list_head event_entry;
};

/**
 * struct mdl_rwqe - receive work request
 * @wr_id: as posted
 * @num_sge: number of entries
 * @sge: entries
 */
struct mdl_rwqe {
	u64 wr_id;
	u32 num_sge;
	struct ib_sge *sge;
};

/**
 * struct mdl_rq - receive queue of a queue pair, or shared
 * @lock: protects all members but @freed
 * @wqe: ring
 * @sge: entries of the ring
 * @size: capacity
 * @max_sge: entries of one work request
 * @head: index of the next request to be posted, counts up
 * @next: index of the next request to be consumed, counts up
 * @freed: number of requests whose completions were polled
 * @limit: shared: event if fewer requests are left, 0 without
 */
struct mdl_rq {
	spinlock_t lock;	/* ring */
	struct mdl_rwqe *wqe;
	struct ib_sge *sge;
	u32 size;
	u32 max_sge;
	u32 head;
	u32 next;
	atomic_t freed;
	u32 limit;
};

struct mdl_srq {
	struct ib_srq ib;
	struct mdl_rq rq;
};

/**
 * struct mdl_swqe - send work request
 * @wr_id: as posted
 * @opcode: enum ib_wr_opcode
 * @flags: enum ib_send_flags
 * @num_sge: number of entries
 * @length: sum of their lengths, or bytes of inline data
 * @imm: immediate data or key to be invalidated
 * @remote_addr: RDMA: address
 * @rkey: RDMA: remote key
 * @mr_key: REG_MR: key of the region while it is not registered
 * @key: REG_MR: new key
 * @access: REG_MR: access
 * @av: datagram: address
 * @remote_qpn: datagram: queue pair
 * @qkey: datagram: Q_Key
 * @status: result, once @finished
 * @finished: whether it was executed to its end; the engine's, like those up to @again
 * @due: time before which it is not executed, or not executed further
 * @from: READ: offset of the part to be executed next
 * @bytes: READ: length of that part; otherwise the same as @length
 * @missing: READ: bit per part whose data were not placed, 0 if they are moved at once
 * @again: READ: whether its data were placed and it will be executed once more
 * @pages: REG_MR: number of pages
 * @posted: timed: when it was posted
 * @arrives: timed: when its message is complete at the responder
 * @ends: timed: when the requester knows that
 * @sge: entries
 * @data: inline data
 */
struct mdl_swqe {
	u64 wr_id;
	u32 opcode;
	u32 flags;
	u32 num_sge;
	u32 length;
	union {
		__be32 imm_data;
		u32 invalidate_rkey;
	} imm;
	union {
		struct {
			u64 remote_addr;
			u32 rkey;
		};
		struct {
			u32 mr_key;
			u32 key;
			int access;
		};
		struct {
			struct mdl_av av;
			u32 remote_qpn;
			u32 qkey;
		};
	};
	enum ib_wc_status status;
	bool finished;
	ktime_t due;
	u32 from;
	u32 bytes;
	u64 missing;
	bool again;
	u32 pages;
	u64 posted;
	u64 arrives;
	u64 ends;
	struct ib_sge *sge;
	void *data;
};

/**
 * struct mdl_sq - send queue
 * @wqe: ring
 * @sge: entries of the ring
 * @data: inline data of the ring
 * @size: capacity
 * @max_sge: entries of one work request
 * @max_inline: inline data of one work request, bytes
 * @head: index of the next request to be posted; protected by mdl_qp.lock
 * @next: index of the next request to be issued; the engine's
 * @done: index of the oldest request without completion; the engine's
 * @freed: index of the oldest request whose entry is in use; written by polling
 *	under the lock of the completion queue
 * @reads: RDMA READs issued and not completed; the engine's
 * @stopped: whether a request failed, so that no further one is issued; the engine's
 */
struct mdl_sq {
	struct mdl_swqe *wqe;
	struct ib_sge *sge;
	void *data;
	u32 size;
	u32 max_sge;
	u32 max_inline;
	u32 head;
	u32 next;
	u32 done;
	u32 freed;
	u32 reads;
	bool stopped;
};

/**
 * struct mdl_qp - queue pair
 * @ib: queue pair of the RDMA core
 * @lock: protects @state, @attr, @av, @waiting, @dying, @serving and mdl_sq.head
 * @refs: references; mdl_qp_put()
 * @gone: completed with the last reference
 * @state: state
 * @attr: attributes as modified so far
 * @access_stays: access flags that modify_qp() does not take back
 * @init: attributes of the creation, with the granted capacities
 * @av: path of a connected queue pair
 * @sq: send queue
 * @rq: receive queue, unused with a shared one
 * @timer: RNR and retry timer
 * @due_timer: has the engine go on with requests that are due later
 * @cqe_due: times of the last completions of send and receive queue; protected by the
 *	locks of their completion queues
 * @pace: timed: how far the send queue is, otherwise NULL; the engine's
 * @place_lock: protects @places and @place_bytes
 * @places: deferred WRITEs of the peer, in their order
 * @place_bytes: bytes of them
 * @retries: retries of the current request without an answer; the engine's
 * @rnr_retries: retries of the current request by a receiver not ready; the engine's
 * @waiting: whether @timer holds the send queue
 * @dying: whether it is being destroyed
 * @serving: whether the peer's engine executes a request on it
 * @last_wqe: whether the event of the last receive request was delivered
 * @established: whether the first message in state RTR was reported
 * @active: whether it is in mdl_engine.active; protected by mdl_engine.lock
 * @engine_entry: entry of mdl_engine.active
 */
struct mdl_qp {
	struct ib_qp ib;
	spinlock_t lock;	/* state, attributes, head of the send queue */
	refcount_t refs;
	struct completion gone;
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	int access_stays;
	struct ib_qp_init_attr init;
	struct mdl_av av;
	struct mdl_sq sq;
	struct mdl_rq rq;
	struct timer_list timer;
	struct hrtimer due_timer;
	ktime_t cqe_due[2];
	struct mdl_pace *pace;
	spinlock_t place_lock;	/* deferred WRITEs */
	struct list_head places;
	u32 place_bytes;
	u32 retries;
	u32 rnr_retries;
	bool waiting;
	bool dying;
	bool serving;
	bool last_wqe;
	bool established;
	bool active;
	struct list_head engine_entry;
};

/**
 * struct mdl_mem - position in memory that a work request names
 * @dev: device whose memory it is
 * @qp: queue pair whose protection domain is used
 * @by: queue pair of the work request, for reports
 * @wr_id: work request, for reports
 * @sge: entries; one with remote address and key for remote memory
 * @num_sge: number of entries left
 * @offset: bytes of the first entry that are behind
 * @access: 0 to read, IB_ACCESS_LOCAL_WRITE to write, or a remote access
 * @data: inline data instead of entries
 */
struct mdl_mem {
	struct mdl_dev *dev;
	struct mdl_qp *qp;
	struct mdl_qp *by;
	u64 wr_id;
	const struct ib_sge *sge;
	u32 num_sge;
	u32 offset;
	int access;
	const void *data;
};

/*
 * Status inside the engine: the receiver was not ready, or did not answer. The values
 * are those of reliable datagrams, which do not exist here.
 */
#define MDL_STATUS_RNR		IB_WC_INV_EEC_STATE_ERR
#define MDL_STATUS_NO_ANSWER	IB_WC_INV_EECN_ERR

#define mdl_dev_of(ibdev)	container_of(ibdev, struct mdl_dev, ib)
#define mdl_ah_of(ibah)		container_of(ibah, struct mdl_ah, ib)
#define mdl_mr_of(ibmr)		container_of(ibmr, struct mdl_mr, ib)
#define mdl_cq_of(ibcq)		container_of(ibcq, struct mdl_cq, ib)
#define mdl_srq_of(ibsrq)	container_of(ibsrq, struct mdl_srq, ib)
#define mdl_qp_of(ibqp)		container_of(ibqp, struct mdl_qp, ib)

#endif
