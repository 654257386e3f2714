/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of the modelled adapter.
 *
 * Operation: each object embeds the corresponding object of the RDMA core as its first member.
 * A device is called nasty if it behaves in ways that InfiniBand allows but adapters seldom
 * show (nasty.c). A device is called timed if its requests take the time of a real adapter
 * (timing.c).
 *
 * Ownership: the RDMA core frees devices, protection domains, address handles, queue pairs,
 * completion queues and shared receive queues. The model frees memory regions and DMA mappings.
 *
 * Concurrency: locks nest in three cases only. The lock of a vector is taken while the lock of a
 * completion queue is held. The locks of regions, mappings and random numbers are taken while
 * place_lock of a queue pair is held. The lock of mappings is also taken while the lock of a
 * completion queue, receive queue or queue pair is held. mdl_devices_lock is taken with bottom
 * halves disabled, all other locks with interrupts disabled, because a ULP may post, poll, map
 * and unmap in any context. Lookups of devices, queue pairs and regions use RCU.
 *
 * Errors: see the functions in model.h.
 */
#ifndef MDL_OBJECTS_H
#define MDL_OBJECTS_H

#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/refcount.h>
#include <linux/timer.h>
#include <rdma/ib_verbs.h>

#include "device.h"

/* The engine copies data in packets of at most this many bytes; the path MTU may be smaller. */
#define MDL_MAX_PACKET		4096
/* Bytes of the global route header in front of each received datagram. */
#define MDL_GRH_SIZE		40
/* Local key that covers all memory, for work requests of the kernel. */
#define MDL_LOCAL_DMA_LKEY	0x100
/* Number of the queue pair for management datagrams (GSI). */
#define MDL_GSI_QPN		1
/* Largest number of scatter/gather entries of a receive work request in any profile. */
#define MDL_MAX_RECV_SGE	64
/* Value of each byte in the undefined members of a work completion. */
#define MDL_UNDEFINED		0x5a

struct mdl_pd {
	struct ib_pd ib;
};

/**
 * struct mdl_av - address vector, copied from an address handle
 * @sgid: source GID
 * @dgid: destination GID
 * @dmac: MAC address of the destination, as resolved by the ULP
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
 * struct mdl_piece - consecutive DMA addresses in a memory region
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
 * @lock: protects all members below, except @is_dma, @max, @staged_nr and @staged
 * @is_dma: whether the region covers all memory
 * @valid: whether the region is registered and may be accessed
 * @used: whether the region was registered before; @key is then the key of the last
 *	registration
 * @key: local and remote key; the lowest byte is the variant
 * @access: allowed access, enum ib_access_flags
 * @iova: first address of the region
 * @length: length of the region, bytes
 * @nr: number of active pieces
 * @active: memory of the registered region, valid while @valid is set
 * @max: capacity of @active and of @staged, pieces
 * @staged_nr: number of staged pieces; the ULP serialises access
 * @staged: memory for the next REG_MR, written by map_mr_sg(); the ULP serialises access
 */
struct mdl_mr {
	struct ib_mr ib;
	struct rcu_head rcu;
	spinlock_t lock;	/* members that engines use */
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
 * struct mdl_cqe - entry of a completion queue
 * @wc: completion for the ULP
 * @qp: queue pair; the entries of a destroyed queue pair are removed
 * @rq: receive queue of the work request, NULL for a send completion
 * @sq_index: send completion: index of the work request; polling frees the entries of the send
 *	queue up to this one
 * @solicited: whether the entry raises an event of a completion queue that is armed for
 *	solicited events
 */
struct mdl_cqe {
	struct ib_wc wc;
	struct mdl_qp *qp;
	struct mdl_rq *rq;
	u32 sq_index;
	bool solicited;
};

/* Completion that is not yet visible to the ULP; see delay.c. */
struct mdl_held {
	struct list_head entry;
	ktime_t due;
	struct mdl_cqe cqe;
};

enum mdl_arm { MDL_ARM_NONE, MDL_ARM_SOLICITED, MDL_ARM_NEXT };

/**
 * struct mdl_cq - completion queue
 * @ib: completion queue of the RDMA core
 * @lock: protects the members below up to @broken, except @requested and @owed
 * @ring: entries; ib.cqe of them
 * @head: index of the next entry to be written, counts up
 * @tail: index of the next entry to be polled, counts up
 * @requested: number of entries that the ULP requested; constant
 * @owed: number of posted work requests that are not retired (retire.c): each has added an
 *	entry or can still add one; atomic
 * @arm: kind of event for which the ULP armed the queue
 * @count: moderation: number of completions that raise an event before @period has passed
 * @period: moderation: longest delay of an event, us; on a timed device multiplied by the
 *	slowdown
 * @pending: number of completions since the last event
 * @broken: whether the queue has overflowed
 * @timer: moderation timer
 * @vector: completion vector
 * @vector_entry: entry of mdl_vector.cqs; protected by mdl_vector.lock
 * @held: struct mdl_held entries in the order of their due times; protected by @lock
 * @held_free: unused struct mdl_held entries; protected by @lock
 * @held_pool: array of all struct mdl_held entries, NULL if the device never holds completions
 * @held_timer: expires when the first entry of @held is due; unused on a timed device
 * @event_due: timed device: time of the next interrupt on the clock of clock.c, ns; U64_MAX if
 *	no interrupt is due; protected by @lock
 * @event_entry: timed device: entry of the list of interrupts in clock.c
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
 * @wr_id: identifier, as posted
 * @num_sge: number of scatter/gather entries
 * @sge: scatter/gather entries
 */
struct mdl_rwqe {
	u64 wr_id;
	u32 num_sge;
	struct ib_sge *sge;
};

/**
 * struct mdl_rq - receive queue, shared or of one queue pair
 * @lock: protects all members but @freed
 * @wqe: ring of work requests
 * @sge: scatter/gather entries of all work requests in the ring
 * @size: capacity, work requests
 * @max_sge: largest number of scatter/gather entries of one work request
 * @head: index of the next request to be posted, counts up
 * @next: index of the next request to be consumed, counts up
 * @freed: number of requests whose completions were polled; atomic
 * @limit: shared queue: an event is raised when fewer work requests than this are left; 0 if
 *	disabled
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
 * @wr_id: identifier, as posted
 * @opcode: enum ib_wr_opcode
 * @flags: enum ib_send_flags
 * @num_sge: number of scatter/gather entries
 * @length: bytes of the message: the sum of the lengths of @sge, or the bytes of inline data
 * @imm: immediate data, or the key to be invalidated
 * @remote_addr: RDMA: remote address
 * @rkey: RDMA: remote key
 * @mr_key: REG_MR: key of the region when the request was posted
 * @key: REG_MR: new key
 * @access: REG_MR: allowed access, enum ib_access_flags
 * @av: datagram: address vector
 * @remote_qpn: datagram: number of the destination queue pair
 * @qkey: datagram: Q_Key
 * @status: result, valid once @finished is set
 * @finished: whether execution has ended; used by the engine only, like @status and the members
 *	below up to @again
 * @due: time before which the engine does not start or continue the execution, 0 if there is
 *	none
 * @from: READ: offset of the next part to be executed, bytes
 * @bytes: READ: length of that part; other requests: same as @length
 * @missing: READ: bitmap of the parts that are not placed yet; 0 if there is none, or if the READ
 *	is not divided
 * @again: READ: whether the READ was executed once and is due for a second execution
 * @pages: REG_MR: number of pages, for the timing
 * @posted: timed device: time of posting
 * @arrives: timed device: time at which the message is complete at the responder
 * @ends: timed device: time at which the requester has the acknowledgment or the data
 * @sge: scatter/gather entries
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
 * @wqe: ring of work requests
 * @sge: scatter/gather entries of all work requests in the ring
 * @data: inline data of all work requests in the ring
 * @size: capacity, work requests
 * @max_sge: largest number of scatter/gather entries of one work request
 * @max_inline: largest inline data of one work request, bytes
 * @head: index of the next request to be posted; protected by mdl_qp.lock
 * @next: index of the next request to be issued; used by the engine only
 * @done: index of the oldest request that has not completed; used by the engine only
 * @freed: index of the oldest request whose entry is in use; written by polling under the lock
 *	of the completion queue
 * @reads: number of RDMA READs that are issued and not completed; used by the engine only
 * @stopped: whether a request failed, so that no further request is issued; used by the engine
 *	only
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
 * @refs: number of references; see mdl_qp_put()
 * @gone: completed when the last reference is dropped
 * @state: state
 * @attr: current attributes, as set by modify_qp()
 * @access_stays: access flags that modify_qp() cannot clear
 * @init: attributes at creation, with the granted capacities
 * @av: address vector of the connection
 * @sq: send queue
 * @rq: receive queue, unused if the queue pair has a shared one
 * @timer: timer of RNR delays and retries
 * @due_timer: wakes the engine when a request of the send queue is due
 * @cqe_due: due times of the last completions of the send queue (0) and of the receive queue
 *	(1); protected by the locks of their completion queues
 * @pace: timed device: progress of the send queue, otherwise NULL; used by the engine only
 * @place_lock: protects @places and @place_bytes
 * @places: deferred WRITEs of the peer, in the order of their arrival
 * @place_bytes: sum of the lengths of @places, bytes
 * @retries: number of retries of the current request after a missing answer; used by the engine
 *	only
 * @rnr_retries: number of retries of the current request after an RNR NAK; used by the engine
 *	only
 * @waiting: whether the send queue is stopped until @timer expires
 * @dying: whether the queue pair is being destroyed
 * @serving: whether the engine of the peer's device executes a request on this queue pair
 * @last_wqe: whether IB_EVENT_QP_LAST_WQE_REACHED was raised
 * @established: whether IB_EVENT_COMM_EST was raised
 * @active: whether the queue pair is in mdl_engine.active; protected by mdl_engine.lock
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
 * struct mdl_mem - position in the memory that a work request names
 * @dev: device that accesses the memory
 * @qp: queue pair whose protection domain is checked
 * @by: queue pair of the work request, for violation reports
 * @wr_id: identifier of the work request, for violation reports
 * @sge: current scatter/gather entry; for remote memory, an entry made of the remote address
 *	and key
 * @num_sge: number of entries from @sge on
 * @offset: offset of the position in the current entry, or in @data; bytes
 * @access: 0 for a local read, IB_ACCESS_LOCAL_WRITE for a local write, or a remote access flag
 * @data: inline data that replace the entries, or NULL
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
 * Status codes that only the engine uses: receiver not ready, and no answer. InfiniBand defines
 * these values for reliable datagrams, which the model does not implement.
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
