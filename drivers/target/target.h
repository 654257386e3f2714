/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock order and work queues of the target module.
 *
 * Locks, outermost first:
 *
 *	rnbdt_export.lock, rnbdt_port.lock	one writer of an object at a time;
 *						the two are never held together
 *	rnbdt_io_mutex				the list of work queues for storage
 *	handler mutex of an rdma_cm_id		one event handler of a connection or
 *						listener at a time
 *	rnbdt_cgroup_lock			the cgroups of all hosts
 *	rnbdt_lock				for writing: the configuration, that is
 *						the graph, fences, owners, capacities;
 *						a read-write semaphore
 *	rnbdt_host.lock				a host, its sessions and attachments;
 *						within rnbdt_lock for reading, see
 *						rnbdt_host_lock(); one host at a time
 *	rnbd_ring.lock				of one queue; interrupts disabled
 *	rnbdt_sched.lock			requests that wait in front of one
 *						storage; interrupts disabled
 *	rnbdt_io_set.lock			workers of exports that share a work
 *						queue; interrupts disabled
 *
 * Spinlocks of what hosts share, each within rnbdt_host.lock and without another of them:
 *
 *	rnbdt_budget_lock			accounts of the memory of pools
 *	rnbdt_attached_lock			attachments of exports, and their table
 *	rnbdt_group_lock			hosts and sessions at a storage
 *	rnbdt_half_lock				half-open connections
 *	rnbdt_claims_lock			claims by session and by time
 *	rnbdt_sessions_lock			lists of sessions
 *	rnbdt_lookup_lock			sessions by host and id
 *
 * Within all of these:
 *
 *	rnbdt_session.state_lock		state of one session; interrupts
 *						disabled
 *	rnbdt_reserve_lock			zeroed memory for segments
 *
 * configfs and sysfs hold their own locks around their callbacks, outside of all
 * of these. A change of the configuration excludes everything that locks a host, so it finds
 * each login and each attachment either before it or after it. Connections, logins, requests,
 * grants and teardowns of one host exclude each other, and those of other hosts only for the
 * few instructions under a spinlock.
 *
 * No code that holds rnbdt_lock may wait for a teardown or for something that a teardown waits
 * for, or call a function of the connection manager that waits for a handler: handlers and
 * teardowns lock a host. Code that holds rnbdt_lock for writing, or a host, allocates no memory,
 * except for a link in configfs, changes no queue pair, and walks no list that grows with the
 * number of hosts, sessions or exports, except for those that it ends. A work item that must
 * look at all of them locks one host at a time (share.c). A host or an export is freed only
 * after rnbdt_lock was taken for writing: code that has found one may use it, and unlock it,
 * while it holds rnbdt_lock.
 */
#ifndef RNBDT_TARGET_H
#define RNBDT_TARGET_H

#include <linux/rwsem.h>
#include <linux/workqueue.h>

/* Work items of rnbdt_ctl_wq that run at a time: clients can send any number of requests. */
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
