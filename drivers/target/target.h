/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock order and work queues of the target module.
 *
 * Locks, outermost first:
 *
 *	rnbdt_export.lock, rnbdt_port.lock	writers of one object in configfs; never both held
 *	rnbdt_io_mutex				list of the work queues for storage
 *	handler mutex of an rdma_cm_id		event handlers of one connection or listener
 *	rnbdt_cgroup_lock			cgroups of all hosts
 *	rnbdt_lock				read-write semaphore; held for writing to change the
 *						configuration: graph, fences, owners, capacities
 *	rnbdt_host.lock				a host, its sessions and attachments;
 *						rnbdt_host_lock() takes rnbdt_lock for reading
 *						before it. A task locks one host at a time
 *	rnbd_ring.lock				a queue; interrupts disabled
 *	rnbdt_sched.lock			requests waiting for a storage; interrupts disabled
 *	rnbdt_io_set.lock			workers of a shared work queue; interrupts disabled
 *
 * Spinlocks of data that hosts share, within rnbdt_host.lock. No two of them are held together:
 * rnbdt_budget_lock (accounts of the memory of pools), rnbdt_attached_lock (attachments of
 * exports, and their table), rnbdt_group_lock (hosts and sessions at a storage), rnbdt_half_lock
 * (half-open connections), rnbdt_claims_lock (claims by session and by time),
 * rnbdt_sessions_lock (lists of sessions), rnbdt_lookup_lock (sessions by host and id).
 *
 * Within all of these: rnbdt_session.state_lock (state of a session; interrupts disabled) and
 * rnbdt_reserve_lock (zeroed memory for segments). configfs and sysfs hold their own locks
 * around their callbacks, outside of all of these.
 *
 * A change of the configuration excludes all code that locks a host. Tasks that lock the same host
 * exclude each other. Tasks that lock different hosts wait for each other only at spinlocks.
 *
 * Code that holds rnbdt_lock must not wait for a teardown or for a handler of the connection
 * manager, because both lock a host. Code that holds rnbdt_lock for writing or a host lock must
 * not allocate memory, except for a link in configfs, must not change a queue pair, and must not
 * walk a list that grows with the number of hosts, sessions or exports, except to end the members
 * of the list, or for an operation of the administrator. A work item that looks at all sessions
 * locks one host at a time (share.c). Before a host or an export is freed, rnbdt_lock is taken for
 * writing. So code that has found a host or an export may use and unlock it while it holds
 * rnbdt_lock for reading.
 */
#ifndef RNBDT_TARGET_H
#define RNBDT_TARGET_H

#include <linux/rwsem.h>
#include <linux/workqueue.h>

/* Limit on concurrent work items of rnbdt_ctl_wq: clients can send many control requests. */
#define RNBDT_CTL_ACTIVE	8

extern struct rw_semaphore rnbdt_lock;
extern struct workqueue_struct *rnbdt_login_wq;
extern struct workqueue_struct *rnbdt_ctl_wq;
extern struct workqueue_struct *rnbdt_timer_wq;
extern struct workqueue_struct *rnbdt_teardown_wq;
extern struct workqueue_struct *rnbdt_hangup_wq;
extern struct workqueue_struct *rnbdt_linger_wq;
extern struct workqueue_struct *rnbdt_disable_wq;
extern struct workqueue_struct *rnbdt_attach_wq;
extern struct workqueue_struct *rnbdt_lease_wq;
extern struct workqueue_struct *rnbdt_reply_wq;

#endif /* RNBDT_TARGET_H */
