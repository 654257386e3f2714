/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock order and work queues of the client module.
 *
 * Locks, outermost first. A task that holds one of these locks takes only locks that are
 * listed below it:
 *
 *	rnbdc_jobs_lock			the list of jobs
 *	gendisk.open_mutex		opens of the disk, and the claim of a detach
 *	rnbdc_disks_lock		the lists of disks and of sessions
 *	rnbdc_disk.ctl_lock		requests to attach and detach a disk
 *	rnbdc_session.recovery.lock	going live, recovery and deactivation
 *	rnbdc_session.conn_lock		resources of the connection
 *	rnbd_ring.poll_lock		the polled completion queue of one queue
 *	rnbd_ring.lock			state of one queue; a second one only by trylock
 *	rnbdc_abort.lock		request to end an attach or a discovery
 *	rnbdc_session.lock		state of one session
 *	rnbdc_space.lock		free blocks of the pool, waiters
 *
 * No task holds both rnbdc_disks_lock and recovery.lock. Recovery never takes open_mutex,
 * because the holder of open_mutex can wait for I/O of the disk.
 *
 * A writer of the sysfs file "deactivate" takes recovery.lock, and the removal of the disk
 * waits for that writer. Therefore del_gendisk() is called without any of these locks. The
 * connection manager calls the event handler (cm.c) under a mutex of the cm_id, for which
 * rdma_destroy_id() waits. The handler takes only rnbd_ring.lock and rnbdc_session.lock.
 *
 * Work queues: rnbdc_wq runs recovery, which can block for seconds. rnbdc_attach_wq attaches
 * the disks of live sessions again, resizes disks and connects further queues. Work items of
 * rnbdc_attach_wq can wait for the target. Recovery does not share this work queue, because
 * without memory for workers a single rescuer thread runs all items of a work queue one after
 * the other, and recovery would wait for them. rnbdc_timer_wq runs keep-alives and
 * fast_io_fail, sends requests again after a pause, starts hardware queues that wait for pool
 * space, and resizes pools; recovery must not delay these. The three work queues have
 * WQ_MEM_RECLAIM, because writeback can wait for their work items. rnbdc_event_wq runs
 * reports, which can wait for memory and thus for I/O of the disk. The work queue of job.c
 * runs the commands of users, such as attach, detach and discovery, which can also wait for
 * memory and I/O.
 */
#ifndef RNBDC_CLIENT_H
#define RNBDC_CLIENT_H

#include <linux/workqueue.h>

extern struct workqueue_struct *rnbdc_wq;
extern struct workqueue_struct *rnbdc_attach_wq;
extern struct workqueue_struct *rnbdc_timer_wq;
extern struct workqueue_struct *rnbdc_event_wq;

#endif /* RNBDC_CLIENT_H */
