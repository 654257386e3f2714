/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device of the modelled adapter and the parts that it owns.
 *
 * Operation: each device has one struct mdl_dev. Each part of it belongs to one source file.
 * Ownership: the RDMA core frees a device together with all its parts.
 * Concurrency: each part names its lock; objects.h documents the lock order.
 * Errors: see model.h.
 */
#ifndef MDL_DEVICE_H
#define MDL_DEVICE_H

#include <linux/prandom.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "profile.h"
#include "timing.h"

struct dentry;
struct mdl_dev;
struct mdl_qp;
struct platform_device;

/*
 * Kinds of nasty behaviour, which InfiniBand allows; see nasty.c. mdl_nasty_names holds their
 * names. The kinds from MDL_NASTY_ERROR on make requests fail, so "all" does not include them.
 */
enum mdl_nasty {
	MDL_NASTY_DELAY,
	MDL_NASTY_MERGE,
	MDL_NASTY_LATE,
	MDL_NASTY_AGAIN,
	MDL_NASTY_DEFER,
	MDL_NASTY_RNR,
	MDL_NASTY_EVENT,
	MDL_NASTY_REGISTER,
	MDL_NASTY_MODIFY,
	MDL_NASTY_ERROR,
	MDL_NASTY_FATAL,
	MDL_NASTY_COUNT
};

/* Objects whose number the profile limits. */
enum mdl_object {
	MDL_OBJECT_PD,
	MDL_OBJECT_CQ,
	MDL_OBJECT_QP,
	MDL_OBJECT_SRQ,
	MDL_OBJECT_MR,
	MDL_OBJECT_COUNT
};

/* Counters of a device; mdl_stat_names holds their names. */
enum mdl_stat {
	MDL_STAT_POST_SEND,
	MDL_STAT_POST_RECV,
	MDL_STAT_SEND,
	MDL_STAT_SEND_INV,
	MDL_STAT_WRITE,
	MDL_STAT_WRITE_IMM,
	MDL_STAT_READ,
	MDL_STAT_REG_MR,
	MDL_STAT_LOCAL_INV,
	MDL_STAT_DATAGRAM,
	MDL_STAT_RECV,
	MDL_STAT_SERVED_SEND,
	MDL_STAT_SERVED_WRITE,
	MDL_STAT_SERVED_READ,
	MDL_STAT_BYTES_OUT,
	MDL_STAT_BYTES_IN,
	MDL_STAT_CQE,
	MDL_STAT_INTERRUPT,
	MDL_STAT_RNR,
	MDL_STAT_NO_RECEIVE,
	MDL_STAT_RETRY,
	MDL_STAT_FENCE_WAIT,
	MDL_STAT_READ_WAIT,
	MDL_STAT_MAP,
	MDL_STAT_UNMAP,
	MDL_STAT_SYNC,
	MDL_STAT_MAPPED,
	MDL_STAT_JOINED,
	MDL_STAT_WQE_BLOCK,
	MDL_STAT_VIOLATION,
	/* Effects of nasty behaviour; from MDL_STAT_NASTY on, one counter per kind. */
	MDL_STAT_PASSED,
	MDL_STAT_PIECE,
	MDL_STAT_DROPPED,
	MDL_STAT_NASTY,
	MDL_STAT_COUNT = MDL_STAT_NASTY + MDL_NASTY_COUNT
};

/**
 * struct mdl_dice - choices of a nasty device
 * @lock: protects @rnd and @rnr_next
 * @rnd: random number generator, seeded by the parameter "seed"
 * @kinds: enabled kinds, a bitmap of 1 << enum mdl_nasty
 * @rate: on average, one opportunity in @rate is taken
 * @rnr_next: time before which no further RNR NAK is sent without a reason
 * @event: work item that reports the next asynchronous event
 * @events: number of asynchronous events so far
 * @failed: whether the kind "fatal" has happened
 */
struct mdl_dice {
	spinlock_t lock;	/* random numbers */
	struct rnd_state rnd;
	u32 kinds;
	u32 rate;
	ktime_t rnr_next;
	struct delayed_work event;
	u32 events;
	bool failed;
};

/**
 * struct mdl_dma - DMA mappings of one device
 * @lock: protects all members, the mappings and their shadow pages
 * @root: mappings by address
 * @next: address at which the search for free addresses begins
 * @end: first address that the device cannot use
 */
struct mdl_dma {
	spinlock_t lock;	/* mappings and shadow pages */
	struct rb_root root;
	u64 next;
	u64 end;
};

/**
 * struct mdl_engine - execution of the send queues of one device
 * @lock: protects @active and mdl_qp.active
 * @active: queue pairs with work; the list holds a reference to each
 * @work: bottom half; runs on at most one processor at a time
 * @packet: buffer for one packet; used by the engine only
 * @sge: scatter/gather entries of a receive work request; used by the engine only
 */
struct mdl_engine {
	spinlock_t lock;	/* list of queue pairs */
	struct list_head active;
	struct work_struct work;
	void *packet;
	struct ib_sge *sge;
};

/**
 * struct mdl_vector - completion vector
 * @lock: protects @cqs and mdl_cq.vector_entry
 * @cqs: completion queues with an event to be delivered
 * @work: bottom half on @cpu, stands for the interrupt handler
 * @dev: device
 * @cpu: processor that handles the interrupt
 * @interrupts: number of interrupts
 */
struct mdl_vector {
	spinlock_t lock;	/* list of completion queues */
	struct list_head cqs;
	struct work_struct work;
	struct mdl_dev *dev;
	int cpu;
	atomic_t interrupts;
};

/**
 * struct mdl_dev - device
 * @ib: device of the RDMA core
 * @pdev: parent device, which has the DMA operations of the model
 * @ndev: network device; the device holds a reference until it is freed
 * @profile: limits, features and timing
 * @link: entry of mdl_devices
 * @gids: struct mdl_gid entries; read under RCU, written under mdl_devices_lock
 * @qps: queue pairs by number
 * @mrs: regions by index, which is the key without its variant byte
 * @next_qp: hint for the next number of a queue pair; protected by the lock of @qps
 * @next_mr: hint for the next index of a region; protected by the lock of @mrs
 * @dma: DMA mappings
 * @engine: execution of send queues
 * @vectors: completion vectors, ib.num_comp_vectors of them
 * @events: ordered workqueue on which asynchronous events are delivered
 * @stats: counters
 * @debugfs: debugfs folder of the device
 * @objects: number of existing objects of each kind
 * @dice: choices of nasty behaviour
 * @busy: timed device: times at which its parts are in use
 * @window: counters of a measurement; see window.c
 * @writes: number of deferred WRITEs to memory of this device
 * @port_down: whether nasty behaviour keeps the port down; written under RTNL
 * @active: whether the port was last reported as active
 * @bounce: whether DMA mappings have shadow pages
 */
struct mdl_dev {
	struct ib_device ib;
	struct platform_device *pdev;
	struct net_device *ndev;
	const struct mdl_profile *profile;
	struct list_head link;
	struct list_head gids;
	struct xarray qps;
	struct xarray mrs;
	u32 next_qp;
	u32 next_mr;
	struct mdl_dma dma;
	struct mdl_engine engine;
	struct mdl_vector *vectors;
	struct workqueue_struct *events;
	atomic64_t stats[MDL_STAT_COUNT];
	struct dentry *debugfs;
	atomic_t objects[MDL_OBJECT_COUNT];
	struct mdl_dice dice;
	struct mdl_busy busy;
	s64 window[MDL_STAT_COUNT];
	atomic_t writes;
	bool port_down;
	bool active;
	bool bounce;
};

#endif
