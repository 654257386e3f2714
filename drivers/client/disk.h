/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk: one attached export, as the block layer sees it.
 *
 * Operation: a disk has a tag set and a gendisk (gendisk.c), and two struct rnbdc_hwq for
 * each hardware queue (route.c). A struct rnbdc_hwq links a request of the block layer to
 * the disk, and to the queue of the session that carries the request.
 *
 * Ownership: the list of disks holds a reference to the disk from attach until detach; each
 * lookup and a queued event_work hold one more. The disk holds a reference to its session.
 * The hardware queues are freed with the tag set.
 *
 * Concurrency: a member is constant once the disk is visible, unless its kernel-doc names the
 * lock that protects it, the task that writes it or the event that changes it.
 */
#ifndef RNBDC_DISK_H
#define RNBDC_DISK_H

#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "../core/attach.h"
#include "../core/geometry.h"
#include "errmsg.h"
#include "options.h"
#include "space.h"

/**
 * enum rnbdc_state - state of a disk
 * @RNBDC_CONNECTING: the first attachment is being made, possibly over a new connection; the
 *	disk is not visible
 * @RNBDC_LIVE: attached; requests are submitted
 * @RNBDC_RECONNECTING: the connection or the attachment is lost and is being replaced
 * @RNBDC_FAILED: the client no longer tries to attach the disk, or the disk was deactivated;
 *	all its I/O fails until it is detached
 * @RNBDC_CLOSING: the disk is being detached, or its attach has failed
 */
enum rnbdc_state {
	RNBDC_CONNECTING,
	RNBDC_LIVE,
	RNBDC_RECONNECTING,
	RNBDC_FAILED,
	RNBDC_CLOSING,
};

/* Number of changes of state that can wait for event_work; a further one overwrites the oldest. */
#define RNBDC_CHANGES		16

#define RNBDC_DEACTIVATED_REASON	"deactivated by the administrator"

struct rnbdc_disk;
struct rnbdc_queue;
struct rnbdc_req;
struct rnbdc_session;

/* Least jiffies between two runs of resize_work: udev reads the disk after each new capacity. */
#define RNBDC_RESIZE_PAUSE	HZ

/* Bits of rnbdc_disk.flags */
#define RNBDC_DISK_ATTACHED	0	/* attach complete; while clear, I/O fails after a loss */
#define RNBDC_DISK_DETACH	1	/* a detach has begun, or the attach failed; opens fail */
#define RNBDC_DISK_QUIESCED	2	/* the disk's queues are quiesced */
#define RNBDC_DISK_FAIL_IO	3	/* I/O does not wait but fails until the disk is live */
#define RNBDC_DISK_RESIZED	4	/* event_work must report the disk's capacity */
#define RNBDC_DISK_DEACTIVATED	5	/* I/O fails permanently; set under the session's lock */
#define RNBDC_DISK_REVOKED	6	/* host fenced or not the owner; set before FAIL_IO */
#define RNBDC_DISK_DATA_LOST	7	/* acknowledged writes possibly lost; set before FAIL_IO */
#define RNBDC_DISK_OVERDUE	8	/* loss_timeout has passed since the loss */
#define RNBDC_DISK_ABORTED	9	/* the attach was aborted, see abort.c */
#define RNBDC_DISK_UNSETTLED	10	/* quiesced, but a task can still be in queue_rq */

/**
 * struct rnbdc_change - a change of state for event_work to report
 * @from: state before the change
 * @to: state after the change
 * @epoch: epoch of the session at the change
 * @attempt: value of rnbdc_disk.attempt at the change
 * @reason: copy of rnbdc_log.reason at the change
 * @when_ns: ktime_get_ns() of the change
 */
struct rnbdc_change {
	enum rnbdc_state from;
	enum rnbdc_state to;
	u32 epoch;
	u32 attempt;
	const char *reason;
	u64 when_ns;
};

/**
 * struct rnbdc_log - changes of state to report, and the latest error
 * @reason: constant text, reason of the latest change from RNBDC_LIVE to RNBDC_RECONNECTING or
 *	RNBDC_FAILED; NULL if there was none
 * @changes: ring of the changes of state that are not reported yet
 * @nr_changes: number of changes since the disk was allocated
 * @nr_reported: number of changes that were reported or overwritten
 * @last_error: reason of the latest loss of the connection or deactivation, or the message of a
 *	later failed attempt to connect or attach; empty if there was none
 * @event_work: reports @changes and the disk's capacity, see events.c; on
 *	rnbdc_event_wq
 *
 * The lock of the session protects all members except @event_work.
 */
struct rnbdc_log {
	const char *reason;
	struct rnbdc_change changes[RNBDC_CHANGES];
	u32 nr_changes;
	u32 nr_reported;
	char last_error[RNBDC_ERRMSG_SIZE];
	struct work_struct event_work;
};

/**
 * struct rnbdc_hwq - a hardware queue of a disk, on one queue of the session
 * @disk: disk; constant
 * @queue: queue that carries the requests; constant
 * @hctx: hardware queue of blk-mq; constant
 * @last_write_ns: ktime_get_ns() when the latest write that needs a flush to be durable was
 *	acknowledged
 * @in_use: @hctx submits its requests through this rnbdc_hwq, and not through its other one
 *	(route.c)
 * @tags: number of wire tags that requests submitted through this rnbdc_hwq hold, orphans included
 * @units: number of pool units that these requests hold; read without the lock
 * @lacks: number of units that the next request needs, while @hctx holds no units and is
 *	stopped because other hardware queues of the disk hold its share of the pool; else 0
 * @refused_units: size of the pool in units when @hctx was last stopped because its disk held
 *	its share of the pool; 0 if @hctx was started since
 * @refused_tags: number of wire tags of @queue when @hctx was last stopped because it held its
 *	share of them; 0 if @hctx was started since
 * @waiter: wait of @hctx for pool space, see waiter.c
 * @stalled: @hctx is stopped and is in the list of stalled hardware queues of @queue
 * @next_stalled: next entry of the list of stalled hardware queues of @queue
 * @next_start: next entry of a list that rnbdc_restart_hw_queues() returns; used only by the
 *	task that starts the hardware queues of this list
 *
 * The lock of @queue's ring protects the members from @last_write_ns to @next_stalled,
 * except @waiter.
 */
struct rnbdc_hwq {
	struct rnbdc_disk *disk;
	struct rnbdc_queue *queue;
	struct blk_mq_hw_ctx *hctx;
	u64 last_write_ns;
	bool in_use;
	u32 tags;
	u32 units;
	u32 lacks;
	u32 refused_units;
	u32 refused_tags;
	struct rnbdc_waiter waiter;
	bool stalled;
	struct rnbdc_hwq *next_stalled;
	struct rnbdc_hwq *next_start;
};

/**
 * struct rnbdc_resize - latest capacity that the target has reported
 * @capacity: bytes of the export, as the target last reported; read and written without a
 *	lock
 * @resize_work: sets the disk's capacity to @capacity, at most once in
 *	RNBDC_RESIZE_PAUSE; on rnbdc_attach_wq
 * @resized_at: jiffies when @resize_work last ran
 */
struct rnbdc_resize {
	u64 capacity;
	struct delayed_work resize_work;
	unsigned long resized_at;
};

/**
 * struct rnbdc_disk_stats - counters of a disk
 * @target_restarts: number of times that the disk attached again and the export had another
 *	incarnation than before; protected by recovery.lock
 * @resent_requests: number of requests that the client put back to send them again after the
 *	loss of the connection or of the attachment
 */
struct rnbdc_disk_stats {
	u64 target_restarts;
	atomic64_t resent_requests;
};

/**
 * struct rnbdc_disk - a disk of a session
 * @ref: references of the list, of lookups and of a queued event_work
 * @sess: session, to which the disk holds a reference
 * @entry: entry of rnbdc_session.disks
 * @state: enum rnbdc_state; written by state.c only; protected by the lock of @sess
 * @state_ns: ktime_get_ns() of the latest change of @state; written under the lock of @sess
 * @log: changes of state to report, and the latest error
 * @list: entry of rnbdc_disks; protected by rnbdc_disks_lock
 * @named: entry of rnbdc_disks_named; protected by rnbdc_disks_lock
 * @opt: options of the disk; constant
 * @flags: RNBDC_DISK_* bits, changed with atomic bit operations
 * @tag_set: tag set of blk-mq
 * @hwqs: hardware queues: @nr_queues by index, followed by @nr_queues spare ones (route.c)
 * @geo: properties of the export; replaced only while the queues are quiesced, except
 *	the capacity, which is written under recovery.lock and read without a lock
 * @handle: handle of the attachment that requests carry; changes when @geo is replaced, and in
 *	rnbdc_renew_index()
 * @ctl_lock: serialises requests to attach and to detach
 * @answered: the reply to the latest request to attach has arrived; set with a release
 * @answer: enum rnbd_status of that reply, valid once @answered is set
 * @offer: reply to the latest request to attach; written under the lock of @sess. Once
 *	@answered is set, the task that waits for the reply also reads it without the lock
 * @granted: handle that the target has granted on the present connection, or can still
 *	grant; generation 0 if there is none; protected by the lock of @sess
 * @guessed: @granted is not known to be granted: the request to attach was sent, but its reply
 *	has not come in time; protected by the lock of @sess
 * @lost_at: jiffies of the latest change to RNBDC_RECONNECTING; written under the lock of @sess
 * @busy_at: jiffies of the latest change to RNBDC_RECONNECTING, or of the latest reply BUSY
 *	after it; written under the lock of @sess at the change, and under recovery.lock at BUSY
 * @attempt: number of attempts to connect or attach since the disk was live; reset under the
 *	lock of @sess when the disk leaves RNBDC_LIVE, otherwise changed under recovery.lock
 * @asked: recovery has sent a request to attach on the present connection since @lost_at;
 *	cleared under the lock of @sess at @lost_at, otherwise changed under recovery.lock
 * @detached: rnbdc_export_detach() has ended the attachment, and the disk no longer has the
 *	index of @handle; protected by recovery.lock
 * @disowned: the target has confirmed that the host no longer owns the export; written by
 *	rnbdc_export_release()
 * @next_try: jiffies of the next attempt to attach; written by @attach_work
 * @made_live: the disk has been live at least once; protected by recovery.lock
 * @attach_work: attaches the export again, see recover.c; on rnbdc_attach_wq
 * @turn: entry of rnbdc_recovery.turns while the disk waits for a turn, see turn.c;
 *	protected by the lock of @sess
 * @quiesces: number of times that the queues were quiesced; protected by recovery.lock
 * @nr_lacking: number of hardware queues with rnbdc_hwq.lacks set
 * @nr_queues: number of hardware queues
 * @nr_poll: number of polled hardware queues; they are the last ones
 * @incarnation: incarnation of the export; changes when @geo is replaced
 * @export_uuid: UUID of the export, which identifies its data; does not change at reconnects
 * @fence_generation: fence generation of this host, which the next request to attach
 *	sends; 0 until the disk is attached for the first time
 * @owner_generation: owner generation of the export, which the next request to attach sends;
 *	0 until the disk is attached for the first time, or if the export is not exclusive
 * @gd: gendisk; NULL until rnbdc_disk_create() sets it under recovery.lock
 * @made_ns: ktime_get_ns() when the disk was created
 * @parent: parent device of the disk; NULL unless the parent device is registered
 * @index: N of the disk name rnbdN, or -1
 * @flushed_ns: ktime_get_ns() when the latest successful FLUSH was sent; written
 *	with cmpxchg
 * @retry_work: makes the block layer dispatch requeued requests again, see complete.c; on
 *	rnbdc_timer_wq
 * @fail_io_work: makes I/O fail fast_io_fail seconds after a loss; on rnbdc_timer_wq
 * @held: requests of a lost connection that the target can still execute, linked by
 *	rnbdc_req.next, see hold.c; protected by recovery.lock
 * @nr_held: length of @held; written under recovery.lock
 * @resize: latest capacity that the target has reported
 * @stats: counters
 */
struct rnbdc_disk {
	struct kref ref;
	struct rnbdc_session *sess;
	struct list_head entry;
	enum rnbdc_state state;
	u64 state_ns;
	struct rnbdc_log log;
	struct list_head list;
	struct list_head named;
	struct rnbdc_disk_options opt;
	unsigned long flags;
	struct blk_mq_tag_set tag_set;
	struct rnbdc_hwq *hwqs;
	struct rnbd_geometry geo;
	struct rnbd_handle handle;
	struct mutex ctl_lock;		/* requests to attach and detach */
	bool answered;
	u16 answer;
	struct rnbd_attach_grant offer;
	struct rnbd_handle granted;
	bool guessed;
	unsigned long lost_at;
	unsigned long busy_at;
	u32 attempt;
	bool asked;
	bool detached;
	bool disowned;
	unsigned long next_try;
	bool made_live;
	struct delayed_work attach_work;
	struct list_head turn;
	u32 quiesces;
	atomic_t nr_lacking;
	u32 nr_queues;
	u32 nr_poll;
	u8 incarnation[16];
	u8 export_uuid[UUID_SIZE];
	u32 fence_generation;
	u32 owner_generation;
	struct gendisk *gd;
	u64 made_ns;
	struct device *parent;
	int index;
	u64 flushed_ns;
	struct delayed_work retry_work;
	struct delayed_work fail_io_work;
	struct rnbdc_req *held;
	u32 nr_held;
	struct rnbdc_resize resize;
	struct rnbdc_disk_stats stats;
};

/**
 * rnbdc_next_hwq - get the next hardware queue of a disk, spare ones included
 * @disk: disk, with or without hardware queues
 * @hwq: hardware queue of the disk, or NULL
 *
 * Context: any.
 * Return: the hardware queue after @hwq, or the first one if @hwq is NULL; NULL at the end.
 */
static inline struct rnbdc_hwq *rnbdc_next_hwq(const struct rnbdc_disk *disk,
					       const struct rnbdc_hwq *hwq)
{
	u32 i = hwq ? hwq - disk->hwqs + 1 : 0;

	return disk->hwqs && i < 2 * disk->nr_queues ? &disk->hwqs[i] : NULL;
}

#endif /* RNBDC_DISK_H */
