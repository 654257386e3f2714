// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports: addresses that listen for clients.
 *
 * Operation: an enabled port has one listening connection id. This file checks the form and the
 * device of a connection request, then passes it to connect.c.
 *
 * Ownership: the context that sets port->cm_id to NULL under rnbdt_lock destroys the listener.
 * This context is rnbdt_port_disable(), an attempt to listen that fails, or the event handler
 * when the device is removed or the address moves to another device. The event handler then
 * returns non-zero, so that the connection manager destroys the id. For a refused connection the
 * event handler returns non-zero, too. The id of an accepted connection belongs to its session or
 * joining queue.
 *
 * Concurrency: port->lock serialises enabling and disabling. Handlers run under the handler
 * mutex of the listener and take rnbdt_lock, never port->lock. So a context that holds port->lock
 * can destroy the listener, which waits for the handlers.
 *
 * Errors: a malformed request is refused before memory is allocated. A port that has lost its
 * listener keeps its configuration and tries to listen every RNBDT_PORT_RETRY until it succeeds
 * or is disabled. Memory reclaim can wait for the disk of a client that waits for the port, so
 * this file allocates memory without I/O.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/inet.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/cm.h"
#include "../core/names.h"
#include "../core/proto_err.h"
#include "accept.h"
#include "connect.h"
#include "counters.h"
#include "graph.h"
#include "port.h"
#include "state.h"
#include "target.h"

/* Jiffies between two attempts to listen again after the listener was lost */
#define RNBDT_PORT_RETRY	(HZ / 2)

#define RNBDT_BACKLOG	128

/* RNR retry count that means no limit */
#define RNBDT_RNR_FOREVER	7

static int rnbdt_port_reject(struct rdma_cm_id *id, u16 status, const char *reason)
{
	pr_warn_ratelimited("connection from %pISpc refused: %s\n",
			    &id->route.addr.dst_addr, reason);
	rnbdt_reject(id, status, 0);
	return -ECONNREFUSED;
}

static int rnbdt_port_connect(struct rnbdt_port *port, struct rdma_cm_id *id,
			      const struct rdma_conn_param *conn)
{
	struct ib_device *dev = id->device;
	struct rnbd_conn_req req;
	enum rnbd_proto_err perr;

	perr = rnbd_decode_cm_req(conn->private_data, conn->private_data_len,
				  &req);
	if (perr) {
		rnbdt_count(RNBDT_COUNT_PROTO_ERRS, perr);
		return rnbdt_port_reject(id, perr == RNBD_PERR_VERSION ?
					 RNBD_ST_VERSION : RNBD_ST_MALFORMED,
					 rnbd_proto_err_text(perr));
	}
	if (!(dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return rnbdt_port_reject(id, RNBD_ST_DEVICE,
					 "the device has no fast registration");
	/* On iWARP the client would have to allow remote writes to the sink of an RDMA READ. */
	if (rdma_protocol_iwarp(dev, id->port_num))
		return rnbdt_port_reject(id, RNBD_ST_DEVICE,
					 "iWARP is not supported");
	/* The target's queue pair uses this count: without a posted receive, no SEND would fail. */
	if (conn->rnr_retry_count == RNBDT_RNR_FOREVER)
		return rnbdt_port_reject(id, RNBD_ST_MALFORMED,
					 "the RNR retry count is unlimited");
	if (req.ring_slots * req.slot_size > RNBDT_RING_BYTES_MAX)
		return rnbdt_port_reject(id, RNBD_ST_RING,
					 "the rings would be too large");

	return req.conn ? rnbdt_session_add_queue(port, id, &req, conn) :
			   rnbdt_session_connect(port, id, &req, conn);
}

/*
 * Handle a listener that has lost its device or its address: detach it from the port, and let
 * rnbdt_port_retry() create another one. Return 1 if the connection manager must destroy @id.
 */
static int rnbdt_port_lost(struct rnbdt_port *port, struct rdma_cm_id *id, const char *reason)
{
	bool ours;

	/*
	 * Once port->cm_id is NULL, rnbdt_port_disable() does not wait for this handler. So the
	 * port can be freed as soon as rnbdt_lock is released.
	 */
	down_write(&rnbdt_lock);
	ours = port->cm_id == id;
	if (ours) {
		port->cm_id = NULL;
		if (port->state == RNBDT_PORT_LISTENING)
			port->state = RNBDT_PORT_NO_DEVICE;
		queue_delayed_work(rnbdt_login_wq, &port->retry_work,
				   RNBDT_PORT_RETRY);
		pr_warn("port %s: %s\n", rnbdt_port_name(port), reason);
	}
	up_write(&rnbdt_lock);
	/* If this is false, another context destroys the listener. */
	return ours;
}

/* Handle events of a listener. @id of a connection request is the id of the new connection. */
static int rnbdt_port_cm_event(struct rdma_cm_id *id,
			       struct rdma_cm_event *event)
{
	struct rnbdt_port *port = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rnbdt_port_connect(port, id, &event->param.conn);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return rnbdt_port_lost(port, id, "the RDMA device was removed");
	case RDMA_CM_EVENT_ADDR_CHANGE:
		/* The listener stays bound to the device that had the address before. */
		return rnbdt_port_lost(port, id, "the address has moved to another device");
	default:
		pr_debug("port %s: %s\n", rnbdt_port_name(port),
			 rdma_event_msg(event->event));
		return 0;
	}
}

static void rnbdt_port_set_state(struct rnbdt_port *port,
				 enum rnbdt_port_state state)
{
	down_write(&rnbdt_lock);
	port->state = state;
	up_write(&rnbdt_lock);
}

static struct rdma_cm_id *rnbdt_port_swap_id(struct rnbdt_port *port,
					     struct rdma_cm_id *id)
{
	down_write(&rnbdt_lock);
	swap(port->cm_id, id);
	up_write(&rnbdt_lock);
	return id;
}

static int rnbdt_port_listen(struct rnbdt_port *port,
			     struct sockaddr_storage *addr)
{
	unsigned int noio = memalloc_noio_save();
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, rnbdt_port_cm_event, port, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto restore;
	}

	/*
	 * After the id is bound, the removal of its device can set port->cm_id to NULL. Block the
	 * handler until the id listens.
	 */
	rdma_lock_handler(id);
	rnbdt_port_swap_id(port, id);
	ret = rdma_set_reuseaddr(id, 1);
	if (!ret)
		ret = rdma_set_afonly(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, (struct sockaddr *)addr);
	if (!ret)
		ret = rdma_listen(id, RNBDT_BACKLOG);
	rdma_unlock_handler(id);
	if (ret) {
		id = rnbdt_port_swap_id(port, NULL);
		if (id)
			rdma_destroy_id(id);
	}
restore:
	memalloc_noio_restore(noio);
	return ret;
}

static int rnbdt_port_address(struct rnbdt_port *port,
			      struct sockaddr_storage *addr)
{
	char service[8];

	snprintf(service, sizeof(service), "%u", port->port);
	return inet_pton_with_scope(&init_net, AF_UNSPEC, port->addr, service,
				    addr);
}

/* Start to listen; on failure set the state to @otherwise, and close all sessions of the port. */
static int rnbdt_port_try(struct rnbdt_port *port, struct sockaddr_storage *addr,
			  enum rnbdt_port_state otherwise)
{
	int ret;

	lockdep_assert_held(&port->lock);

	/* Set the state first: a connection request can arrive before rdma_listen() returns. */
	rnbdt_port_set_state(port, RNBDT_PORT_LISTENING);
	ret = rnbdt_port_listen(port, addr);
	if (ret) {
		rnbdt_port_set_state(port, otherwise);
		rnbdt_sessions_close(NULL, port, "the port was disabled");
		return ret;
	}
	pr_info("port %s: listening on %pISpc\n", rnbdt_port_name(port), addr);
	return 0;
}

/* Try to listen again after the listener was lost. */
static void rnbdt_port_retry(struct work_struct *work)
{
	struct rnbdt_port *port = container_of(to_delayed_work(work),
					       struct rnbdt_port, retry_work);
	struct sockaddr_storage addr;
	bool again = true;

	/* If another context enables or disables the port, retry later: do not block a worker. */
	if (mutex_trylock(&port->lock)) {
		again = port->state == RNBDT_PORT_NO_DEVICE &&
			(rnbdt_port_address(port, &addr) ||
			 rnbdt_port_try(port, &addr, RNBDT_PORT_NO_DEVICE));
		mutex_unlock(&port->lock);
	}
	if (again)
		queue_delayed_work(rnbdt_login_wq, &port->retry_work,
				   RNBDT_PORT_RETRY);
}

/**
 * rnbdt_port_init - initialise the retry work of a port
 * @port: zeroed port
 *
 * Context: any.
 */
void rnbdt_port_init(struct rnbdt_port *port)
{
	INIT_DELAYED_WORK(&port->retry_work, rnbdt_port_retry);
}

/**
 * rnbdt_port_exit - stop the retry work of a port
 * @port: disabled port
 *
 * Context: process context without port->lock; may sleep.
 */
void rnbdt_port_exit(struct rnbdt_port *port)
{
	cancel_delayed_work_sync(&port->retry_work);
}

/**
 * rnbdt_port_enable - listen for connections
 * @port: port that is not listening
 *
 * Context: process context, port->lock held, rnbdt_lock not held; may sleep.
 * Return: 0, or a negative errno after the error was logged.
 */
int rnbdt_port_enable(struct rnbdt_port *port)
{
	struct sockaddr_storage addr;
	int ret;

	lockdep_assert_held(&port->lock);

	if (!port->addr[0]) {
		pr_err("port %s: set addr before enabling it\n",
		       rnbdt_port_name(port));
		return -EINVAL;
	}
	ret = rnbdt_port_address(port, &addr);
	if (ret) {
		pr_err("port %s: %s is not an address of this machine's network\n",
		       rnbdt_port_name(port), port->addr);
		return ret;
	}
	ret = rnbdt_port_try(port, &addr, RNBDT_PORT_DISABLED);
	if (ret)
		pr_err("port %s: cannot listen on %pISpc: error %d%s\n",
		       rnbdt_port_name(port), &addr, ret,
		       ret == -ENODEV || ret == -EADDRNOTAVAIL ?
		       "; is there an RDMA device with this address?" : "");
	return ret;
}

/**
 * rnbdt_port_disable - stop listening and close all sessions of the port
 * @port: port
 *
 * Context: process context, port->lock held, rnbdt_lock not held; sleeps until the
 * handlers of the listener have returned, but does not wait for storage.
 */
void rnbdt_port_disable(struct rnbdt_port *port)
{
	struct rdma_cm_id *id;

	lockdep_assert_held(&port->lock);

	rnbdt_port_set_state(port, RNBDT_PORT_DISABLED);
	id = rnbdt_port_swap_id(port, NULL);
	if (id)
		rdma_destroy_id(id);
	rnbdt_sessions_close(NULL, port, "the port was disabled");
}
