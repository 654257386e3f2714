/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device of the modelled adapter and the parts that it owns.
 *
 * Operation: one struct mdl_dev per device; its parts belong to the files that objects.h
 * and model.h name.
 * Ownership: the RDMA core frees a device, and with it all parts.
 * Concurrency: each part names its lock; objects.h has the order of locks.
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
 * Kinds of legal but nasty behaviour; mdl_nasty_names holds their names. The last ones
 * do harm and are not part of "all".
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

/* Objects whose number a profile limits. */
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
	/* What became of nastiness, and, from MDL_STAT_NASTY on, one per kind. */
	MDL_STAT_PASSED,
	MDL_STAT_PIECE,
	MDL_STAT_DROPPED,
	MDL_STAT_NASTY,
	MDL_STAT_COUNT = MDL_STAT_NASTY + MDL_NASTY_COUNT
};

/**
 * struct mdl_dice - what decides when a device is nasty
 * @lock: protects @rnd and @rnr_next
 * @rnd: random numbers, from the parameter "seed"
 * @kinds: bits 1 << enum mdl_nasty
 * @rate: one opportunity in so many is taken
 * @rnr_next: time before which no further RNR NAK is sent
 * @event: next asynchronous event
 * @events: number of events so far
 * @failed: the device has failed
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
 * struct mdl_dma - the mappings of one device
 * @lock: protects all members and the shadow pages
 * @root: mappings by address
 * @next: address from which the next mapping is looked for
 * @end: first address that the device cannot use
 */
struct mdl_dma {
	spinlock_t lock;	/* mappings and shadow pages */
	struct rb_root root;
	u64 next;
	u64 end;
};

/**
 * struct mdl_engine - what executes the send queues of one device
 * @lock: protects @active and mdl_qp.active
 * @active: queue pairs with work, each with a reference
 * @work: bottom half; never runs on two processors
 * @packet: data of one packet on their way; used by @work only
 * @sge: entries of a receive work request; used by @work only
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
 * @work: bottom half on @cpu, the interrupt handler
 * @dev: device
 * @cpu: processor of the interrupt
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
 * @pdev: parent, whose DMA operations are those of the model
 * @ndev: network device; a reference until the device is freed
 * @profile: limits
 * @link: entry of mdl_devices
 * @gids: struct mdl_gid entries; RCU, protected by mdl_devices_lock
 * @qps: queue pairs by number
 * @mrs: regions by key without its variant byte
 * @next_qp: hint for the next number of a queue pair; protected by the lock of @qps
 * @next_mr: hint for the next index of a region; protected by the lock of @mrs
 * @dma: mappings
 * @engine: execution of send queues
 * @vectors: completion vectors, ib.num_comp_vectors of them
 * @events: ordered workqueue on which asynchronous events are delivered
 * @stats: counters
 * @debugfs: folder of the device
 * @objects: numbers of objects
 * @dice: nastiness
 * @busy: what a timed device is busy with
 * @window: counters of a measurement; window.c
 * @writes: number of WRITEs to memory of this device that are deferred
 * @port_down: whether the port is down though the network device is not; RTNL
 * @active: whether the port was reported as active
 * @bounce: whether mappings have shadow pages
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
