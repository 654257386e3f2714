// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: admission of connection requests.
 *
 * Operation
 *
 * A connection request for queue 0 creates a session if its host is allowed to use an export on
 * the port, its epoch is the newest and no limit is reached. The first control entry of the client
 * must be LOGIN or LIST (login.c). A connection request for another queue names a live session,
 * which the queue joins when the client has proven the session key (join.c). accept.c creates the
 * queue pair of an admitted request and accepts the connection.
 *
 * Ownership
 *
 * A connection id belongs to its queue as soon as rnbdt_session_begin() has begun the session, or a
 * further queue is in s->conn.joins: from then on the handler returns 0, and the teardown of the
 * session or queue destroys the id. Before that, the handler returns an error, and the connection
 * manager destroys the id. A session takes references on host, port and module, which
 * rnbdt_finish_teardown() drops.
 *
 * Concurrency
 *
 * Connection requests are handled in the handler of the new id, one at a time for each listener,
 * with the host locked. A request is checked before memory is allocated, so that a flood of
 * refused requests costs no memory. The request is checked again after the allocation, because
 * the host was unlocked in between. Memory is allocated without the lock, and without I/O, because
 * memory reclaim can wait for a disk of a client on this machine.
 *
 * Errors
 *
 * A refused connection gets a reject with the status. Hosts that may use no export on the port,
 * not even a disabled one, get RNBD_ST_HOST_DENIED.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/rdma_cm.h>

#include "../core/cm.h"
#include "../core/inject.h"
#include "../core/names.h"
#include "accept.h"
#include "attach_ctl.h"
#include "connect.h"
#include "ctl.h"
#include "epoch.h"
#include "graph.h"
#include "half_open.h"
#include "inject.h"
#include "join.h"
#include "lease.h"
#include "login.h"
#include "lookup.h"
#include "netlink.h"
#include "queue.h"
#include "queue_alloc.h"
#include "rate.h"
#include "reach.h"
#include "session.h"
#include "state.h"
#include "sysfs.h"
#include "target.h"
#include "teardown.h"
#include "timers.h"

/* Find the host of a connection request for queue 0, and check that it may use the port. */
static u16 rnbdt_session_find_host(struct rnbdt_port *port, const struct rnbd_conn_req *req,
				   struct rnbdt_host **host)
{
	uuid_t host_id;

	lockdep_assert_held(&rnbdt_lock);

	if (port->state != RNBDT_PORT_LISTENING)
		return RNBD_ST_SHUTDOWN;
	/* A session has one path. */
	if (req->path)
		return RNBD_ST_QUEUE;
	import_uuid(&host_id, req->host_id);
	*host = rnbdt_host_find(&host_id);
	if (!*host || !rnbdt_port_knows_host(port, *host))
		return RNBD_ST_HOST_DENIED;
	return RNBD_ST_OK;
}

static u16 rnbdt_session_admit(struct rnbdt_port *port, struct rnbdt_host *host,
			       const struct rdma_cm_id *id, const struct rnbd_conn_req *req,
			       const struct rnbdt_session *s)
{
	u16 status = rnbdt_rate_logins(host);

	if (status)
		return status;
	/* A host with a secret gets this answer only to an ATTACH, which follows its proof. */
	if (!host->secret && !rnbdt_port_has_export(port, host))
		return RNBD_ST_NO_EXPORT;
	status = rnbdt_is_newest_epoch(host, req, s);
	if (status)
		return status;
	return rnbdt_limits_connect(host, &id->route.addr.dst_addr);
}

static struct rnbdt_session *rnbdt_session_alloc(struct rnbdt_port *port,
						 struct rdma_cm_id *id,
						 const struct rnbd_conn_req *req)
{
	struct rnbdt_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	if (rnbdt_lookup_reserve(s))
		goto free;
	s->port_name = kstrdup(rnbdt_port_name(port), GFP_KERNEL);
	if (!s->port_name)
		goto release;
	s->queue0 = rnbdt_queue_alloc(s, 0, id);
	if (!s->queue0)
		goto free_name;
	rnbdt_accept_init(s->queue0);
	s->queues = &s->queue0;
	s->nr_slots = 1;
	kref_init(&s->ref);
	import_uuid(&s->host_id, req->host_id);
	import_uuid(&s->session_id, req->session_id);
	s->epoch = req->epoch;
	s->newest_epoch = req->epoch;
	s->newest_attempt = req->attempt;
	s->auth.req = *req;
	s->port = port;
	s->peer = id->route.addr.dst_addr;
	s->conn.dev = id->device;
	s->state = RNBDT_CONNECTING;
	spin_lock_init(&s->state_lock);
	seqlock_init(&s->ended_lock);
	init_waitqueue_head(&s->conn.wait);
	init_completion(&s->teardown.drained);
	init_completion(&s->teardown.gone);
	init_completion(&s->conn.reg_done);
	INIT_LIST_HEAD(&s->account.half_open.entry);
	s->account.half_open.session = s;
	INIT_LIST_HEAD(&s->conn.joins);
	INIT_WORK(&s->login.login_work, rnbdt_session_login_work);
	INIT_WORK(&s->teardown.teardown_work, rnbdt_teardown_work);
	INIT_WORK(&s->teardown.release_work, rnbdt_release_work);
	INIT_DELAYED_WORK(&s->teardown.wait_work, rnbdt_wait_work);
	INIT_WORK(&s->teardown.linger_work, rnbdt_linger_work);
	INIT_DELAYED_WORK(&s->login.timeout_work, rnbdt_session_timeout);
	INIT_DELAYED_WORK(&s->login.keepalive_work, rnbdt_session_keepalive);
	xa_init(&s->attaches);
	rnbdt_ctl_init(s);
	rnbdt_lease_init(s);
	INIT_WORK(&s->ctl.ctl_work, rnbdt_ctl_work);
	rnbdt_netlink_init_session(s);
	return s;

free_name:
	kfree(s->port_name);
release:
	rnbdt_lookup_release(s);
free:
	kfree(s);
	return NULL;
}

/* Free a session that has not begun. */
static void rnbdt_session_free(struct rnbdt_session *s)
{
	rnbdt_queue_free(s->queue0);
	kfree(s->port_name);
	rnbdt_lookup_release(s);
	kfree(s);
}

/* Begin a session whose connection request is admitted. */
static void rnbdt_session_begin(struct rnbdt_session *s, struct rnbdt_host *host)
{
	rnbdt_assert_host(host);

	/* This cannot fail: the port is in configfs, which pins the module. */
	__module_get(THIS_MODULE);
	config_item_get(&host->group.cg_item);
	config_item_get(&s->port->group.cg_item);
	s->host = host;
	s->auth.target_uuid = rnbdt_target_uuid;
	s->conn.connecting = 1;
	rnbdt_session_add(s);
	rnbdt_limits_opened(&s->account.half_open, host, &s->peer);
	queue_delayed_work(rnbdt_timer_wq, &s->login.timeout_work, rnbdt_login_timeout());
}

/*
 * Admit a connection request for queue 0, and begin the session @s. If @s is NULL, only check
 * the request. A refusal sets @retry_ms to the time after which the client should retry.
 */
static u16 rnbdt_session_try_host(struct rnbdt_port *port, struct rnbdt_host *host,
				  const struct rdma_cm_id *id, const struct rnbd_conn_req *req,
				  struct rnbdt_session *s, u32 *retry_ms)
{
	u16 status;

	if (s) {
		s->auth.required = host->secret;
		s->auth.authenticated = !s->auth.required;
	}
	status = rnbdt_session_admit(port, host, id, req, s);
	if (status)
		*retry_ms = rnbdt_rate_retry_ms(host, status);
	else if (s)
		rnbdt_session_begin(s, host);
	if (status == RNBD_ST_BUSY)
		rnbdt_rate_deferred(host);
	return status;
}

/* Find the host of a connection request for queue 0, and call rnbdt_session_try_host(). */
static u16 rnbdt_session_try(struct rnbdt_port *port, const struct rdma_cm_id *id,
			     const struct rnbd_conn_req *req, struct rnbdt_session *s,
			     u32 *retry_ms)
{
	struct rnbdt_host *host = NULL;
	u16 status;

	/* While rnbdt_lock is held, the host is not freed and the state of the port is constant. */
	down_read(&rnbdt_lock);
	status = rnbdt_session_find_host(port, req, &host);
	if (!status) {
		mutex_lock(&host->lock);
		status = rnbdt_session_try_host(port, host, id, req, s, retry_ms);
		mutex_unlock(&host->lock);
	}
	up_read(&rnbdt_lock);
	return status;
}

static int rnbdt_refuse(struct rdma_cm_id *id, const struct rnbd_conn_req *req,
			u16 status, u32 retry_ms)
{
	/* Do not log BUSY: a client that reconnects gets it many times. */
	if (status != RNBD_ST_BUSY)
		pr_warn_ratelimited("host %pUb at %pISpc: queue %u refused: %s\n", req->host_id,
				    &id->route.addr.dst_addr, req->conn,
				    rnbd_status_text(status));
	rnbdt_reject(id, status, retry_ms);
	return -ECONNREFUSED;
}

/**
 * rnbdt_session_connect - handle a connection request for queue 0
 * @port: port that received the request
 * @id: connection
 * @req: decoded request
 * @conn: connection parameters with the limits of the client's device
 *
 * Context: handler of @id; locks the host, may sleep.
 * Return: value for the handler to return: 0 if the session owns @id, or
 * -ECONNREFUSED after a reject.
 */
int rnbdt_session_connect(struct rnbdt_port *port, struct rdma_cm_id *id,
			  const struct rnbd_conn_req *req,
			  const struct rdma_conn_param *conn)
{
	struct rnbdt_session *s;
	unsigned int noio;
	u32 retry_ms = 0;
	u16 status;

	status = rnbdt_session_try(port, id, req, NULL, &retry_ms);
	if (status)
		return rnbdt_refuse(id, req, status, retry_ms);

	/* Allocate without I/O: memory reclaim can wait for a disk of a client on this machine. */
	noio = memalloc_noio_save();
	s = rnbdt_session_alloc(port, id, req);
	memalloc_noio_restore(noio);
	if (!s)
		return rnbdt_refuse(id, req, RNBD_ST_NOMEM, 0);

	status = rnbdt_session_try(port, id, req, s, &retry_ms);
	if (status) {
		rnbdt_session_free(s);
		return rnbdt_refuse(id, req, status, retry_ms);
	}
	rnbdt_sysfs_add_session(s);
	rnbdt_accept(s->queue0, conn);
	return 0;
}

/*
 * Find the session that a request for a queue other than 0 names, and take a reference. The peer
 * is not authenticated and can make up ids, so the lookup takes no lock and costs little.
 */
static struct rnbdt_session *rnbdt_session_of_queue(const struct rnbdt_port *port,
						    const struct rnbd_conn_req *req)
{
	struct rnbdt_session *s = NULL;

	rcu_read_lock();
	while ((s = rnbdt_lookup_next(req, s))) {
		/* pairs with the release in rnbdt_session_set_state() */
		if (smp_load_acquire(&s->state) == RNBDT_LIVE && s->port == port &&
		    kref_get_unless_zero(&s->ref))
			break;
	}
	rcu_read_unlock();
	return s;
}

static u16 rnbdt_session_admit_queue(struct rnbdt_session *s, struct rdma_cm_id *id,
				     const struct rnbd_conn_req *req, u32 *retry_ms)
{
	u16 status;

	rnbdt_assert_host(s->host);

	/*
	 * If the session is live here, its teardown waits for a queue that the caller counts in
	 * s->conn.connecting before it unlocks the host.
	 */
	if (READ_ONCE(s->state) != RNBDT_LIVE)
		return RNBD_ST_NO_SESSION;
	if (s->epoch != req->epoch || s->newest_epoch != s->epoch ||
	    req->attempt <= s->newest_attempt)
		return RNBD_ST_EPOCH;
	if (s->conn.dev != id->device) {
		pr_err_ratelimited("session %u: queue %u arrived on device %s, the session uses %s\n",
				   s->serial, req->conn, id->device->name, s->conn.dev->name);
		return RNBD_ST_DEVICE;
	}
	if (req->path || req->conn >= s->nr_slots || s->queues[req->conn])
		return RNBD_ST_QUEUE;
	if (rnbd_inject_at(&rnbdt_inject_refuse_queue, req->conn))
		return RNBD_ST_LIMIT;
	status = rnbdt_limits_connect(s->host, &id->route.addr.dst_addr);
	*retry_ms = rnbdt_rate_join_retry_ms(status);
	return status;
}

/*
 * Admit a connection request for a queue other than 0, and add the queue @q to the queues that
 * join. If @q is NULL, only check the request.
 */
static u16 rnbdt_session_try_queue(struct rnbdt_session *s, struct rdma_cm_id *id,
				   const struct rnbd_conn_req *req, struct rnbdt_queue *q,
				   u32 *retry_ms)
{
	u16 status;

	if (!rnbdt_session_lock(s))
		return RNBD_ST_NO_SESSION;
	status = rnbdt_session_admit_queue(s, id, req, retry_ms);
	if (!status && q) {
		/* Count before listing: a listed queue can be evicted, and its teardown begins. */
		s->conn.connecting++;
		rnbdt_join_opened(q, &id->route.addr.dst_addr);
	}
	rnbdt_host_unlock(s->host);
	return status;
}

/* Allocate a queue other than 0, without a ring. */
static struct rnbdt_queue *rnbdt_further_queue_alloc(struct rnbdt_session *s,
						     struct rdma_cm_id *id,
						     const struct rnbd_conn_req *req)
{
	struct rnbdt_queue *q = rnbdt_queue_alloc(s, req->conn, id);

	if (q && rnbdt_join_alloc(q, req)) {
		rnbdt_queue_free(q);
		return NULL;
	}
	if (q)
		rnbdt_accept_init(q);
	return q;
}

/**
 * rnbdt_session_add_queue - handle a connection request for a queue other than 0
 * @port: port that received the request
 * @id: connection
 * @req: decoded request
 * @conn: connection parameters with the limits of the client's device
 *
 * Context: handler of @id; locks the host, may sleep.
 * Return: value for the handler to return: 0 if the new queue owns @id, or -ECONNREFUSED after a
 * reject.
 */
int rnbdt_session_add_queue(struct rnbdt_port *port, struct rdma_cm_id *id,
			    const struct rnbd_conn_req *req,
			    const struct rdma_conn_param *conn)
{
	struct rnbdt_session *s = rnbdt_session_of_queue(port, req);
	struct rnbdt_queue *q;
	unsigned int noio;
	u32 retry_ms = 0;
	u16 status;

	if (!s)
		return rnbdt_refuse(id, req, RNBD_ST_NO_SESSION, 0);
	status = rnbdt_session_try_queue(s, id, req, NULL, &retry_ms);
	if (status)
		goto put;
	noio = memalloc_noio_save();
	q = rnbdt_further_queue_alloc(s, id, req);
	memalloc_noio_restore(noio);
	status = q ? rnbdt_session_try_queue(s, id, req, q, &retry_ms) : RNBD_ST_NOMEM;
	if (!status)
		rnbdt_accept(q, conn);
	else if (q)
		rnbdt_queue_free(q);
put:
	rnbdt_session_put(s);
	return status ? rnbdt_refuse(id, req, status, retry_ms) : 0;
}
