/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock order and work queues of the client module.
 *
 * Locks, outermost first. A task that holds one of them takes only locks
 * that are listed below it:
 *
 *	rnbdc_jobs_lock			the list of jobs
 *	gendisk.open_mutex		the block layer's, and the claim of a detach
 *	rnbdc_disks_lock		the lists of disks
 *	rnbdc_disk.ctl_lock		requests to attach and detach a disk
 *	rnbdc_session.recovery.lock	going live, recovery and deactivation
 *	rnbdc_session.conn_lock		resources of the connection
 *	rnbd_ring.poll_lock		the polled completion queue of one queue
 *	rnbd_ring.lock			state of one queue; those of others are only tried
 *	rnbdc_abort.lock		request to end an attach
 *	rnbdc_session.lock		state of one session
 *	rnbdc_space.lock		free blocks of the pool, waiters
 *
 * rnbdc_disks_lock and recovery.lock are never held together. Recovery
 * never takes open_mutex, because its holder may wait for I/O of the disk.
 *
 * A writer of the sysfs file "deactivate" takes recovery.lock, and removal of
 * the disk waits for that writer: del_gendisk() is called without a lock of
 * this list. The connection manager calls its event handler under a mutex of
 * the cm_id, for which rdma_destroy_id() waits. The handler takes only
 * rnbd_ring.lock and rnbdc_session.lock.
 *
 * Work queues: rnbdc_wq runs recovery, which may block for seconds. rnbdc_attach_wq attaches
 * the disks of live sessions again and connects their further queues, both of which wait for
 * the target; without memory for workers one thread does that for all sessions, which must not
 * delay recovery. rnbdc_timer_wq runs keep-alive and fast_io_fail, and starts hardware queues
 * that wait for pool space, all of which recovery must not delay. All have WQ_MEM_RECLAIM,
 * because writeback may wait for them.
 * rnbdc_event_wq runs reports, which may themselves wait for memory and thus
 * for I/O of the disk. The work queue of job.c runs attach, detach and
 * discovery, which may do the same.
 */
#ifndef RNBDC_CLIENT_H
#define RNBDC_CLIENT_H

#include <linux/workqueue.h>

extern struct workqueue_struct *rnbdc_wq;
extern struct workqueue_struct *rnbdc_attach_wq;
extern struct workqueue_struct *rnbdc_timer_wq;
extern struct workqueue_struct *rnbdc_event_wq;

#endif /* RNBDC_CLIENT_H */
