// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports: addresses that listen for clients.
 *
 * Operation: an enabled port has one listening connection id. A connection
 * request is checked for form and device here, then it goes to session.c.
 * Ownership: the listener belongs to whoever takes it out of port->cm_id under
 * rnbdt_lock: rnbdt_port_disable(), or the handler when the device is removed,
 * whose non-zero return makes the connection manager destroy it. The id of a
 * refused connection is destroyed the same way, that of an accepted one
 * belongs to its session.
 * Concurrency: port->lock serialises enabling and disabling. Handlers run
 * under the listener's handler mutex and take rnbdt_lock, never port->lock, so
 * destroying the listener under port->lock is safe.
 * Errors: a malformed request is refused before anything is allocated. A port
 * whose device went away keeps its configuration and tries to listen again
 * until it can or is disabled.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/inet.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "target.h"

#define RNBDT_BACKLOG	128

static int rnbdt_port_reject(struct rdma_cm_id *id, u16 status, const char *why)
{
	pr_warn_ratelimited("connection from %pISpc refused: %s\n",
			    &id->route.addr.dst_addr, why);
	rnbdt_reject(id, status);
	return -ECONNREFUSED;
}

static int rnbdt_port_connect(struct rnbd_tport *port, struct rdma_cm_id *id,
			      const struct rdma_conn_param *conn)
{
	struct ib_device *dev = id->device;
	struct rnbd_conn_req req;
	enum rnbd_fault fault;

	fault = rnbd_decode_cm_req(conn->private_data, conn->private_data_len,
				   &req);
	if (fault) {
		rnbdt_count(RNBDT_COUNT_VIOLATIONS, fault);
		return rnbdt_port_reject(id, fault == RNBD_FAULT_VERSION ?
					 RNBD_ST_VERSION : RNBD_ST_MALFORMED,
					 rnbd_fault_text(fault));
	}
	if (!(dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return rnbdt_port_reject(id, RNBD_ST_DEVICE,
					 "the device has no fast registration");
	/* A READ there needs a sink that the peer could write to. */
	if (rdma_protocol_iwarp(dev, id->port_num))
		return rnbdt_port_reject(id, RNBD_ST_DEVICE,
					 "iWARP is not supported");
	if (req.ring_slots * req.slot_size > RNBDT_RING_BYTES_MAX)
		return rnbdt_port_reject(id, RNBD_ST_RING,
					 "the rings would be too large");

	return req.queue ? rnbdt_session_add_queue(port, id, &req, conn) :
			   rnbdt_session_connect(port, id, &req, conn);
}

static int rnbdt_port_device_removal(struct rnbd_tport *port,
				     struct rdma_cm_id *id)
{
	bool ours;

	/*
	 * Once the listener is taken out, rnbdt_port_disable() waits no more
	 * for this handler, but it takes the lock: the port stays till then.
	 */
	mutex_lock(&rnbdt_lock);
	ours = port->cm_id == id;
	if (ours) {
		port->cm_id = NULL;
		if (port->state == RNBDT_PORT_LISTENING)
			port->state = RNBDT_PORT_NO_DEVICE;
		queue_delayed_work(rnbdt_login_wq, &port->retry_work,
				   RNBDT_PORT_RETRY);
		pr_warn("port %s: the RDMA device was removed\n",
			rnbdt_port_name(port));
	}
	mutex_unlock(&rnbdt_lock);
	/* Otherwise somebody else is destroying it already. */
	return ours;
}

/* Events of the listener, and the first one of every connection. */
static int rnbdt_port_cm_event(struct rdma_cm_id *id,
			       struct rdma_cm_event *event)
{
	struct rnbd_tport *port = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rnbdt_port_connect(port, id, &event->param.conn);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return rnbdt_port_device_removal(port, id);
	default:
		pr_debug("port %s: %s\n", rnbdt_port_name(port),
			 rdma_event_msg(event->event));
		return 0;
	}
}

static void rnbdt_port_set_state(struct rnbd_tport *port,
				 enum rnbd_tport_state state)
{
	mutex_lock(&rnbdt_lock);
	port->state = state;
	mutex_unlock(&rnbdt_lock);
}

static struct rdma_cm_id *rnbdt_port_swap_id(struct rnbd_tport *port,
					     struct rdma_cm_id *id)
{
	mutex_lock(&rnbdt_lock);
	swap(port->cm_id, id);
	mutex_unlock(&rnbdt_lock);
	return id;
}

static int rnbdt_port_listen(struct rnbd_tport *port,
			     struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, rnbdt_port_cm_event, port, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);

	/*
	 * Once it is bound the device may be removed, whose handler takes the
	 * listener away. Keep the handler out until it listens.
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
	if (!ret)
		return 0;

	id = rnbdt_port_swap_id(port, NULL);
	if (id)
		rdma_destroy_id(id);
	return ret;
}

static int rnbdt_port_address(struct rnbd_tport *port,
			      struct sockaddr_storage *addr)
{
	char service[8];

	snprintf(service, sizeof(service), "%u", port->port);
	return inet_pton_with_scope(&init_net, AF_UNSPEC, port->addr, service,
				    addr);
}

/* Listen; if that fails the state is @otherwise. */
static int rnbdt_port_try(struct rnbd_tport *port, struct sockaddr_storage *addr,
			  enum rnbd_tport_state otherwise)
{
	int ret;

	lockdep_assert_held(&port->lock);

	/* A request may come before rdma_listen() returns. */
	rnbdt_port_set_state(port, RNBDT_PORT_LISTENING);
	ret = rnbdt_port_listen(port, addr);
	if (ret) {
		rnbdt_port_set_state(port, otherwise);
		rnbdt_sessions_end(NULL, NULL, port, "the port was disabled");
		return ret;
	}
	pr_info("port %s: listening on %pISpc\n", rnbdt_port_name(port), addr);
	return 0;
}

/* Look for the device that went away, or another one with this address. */
static void rnbdt_port_retry(struct work_struct *work)
{
	struct rnbd_tport *port = container_of(to_delayed_work(work),
					       struct rnbd_tport, retry_work);
	struct sockaddr_storage addr;
	bool again = true;

	/* Whoever holds it may be disabling the port, or waiting for storage. */
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
 * rnbdt_port_init - prepare a port
 * @port: zeroed
 */
void rnbdt_port_init(struct rnbd_tport *port)
{
	INIT_DELAYED_WORK(&port->retry_work, rnbdt_port_retry);
}

/**
 * rnbdt_port_exit - nothing of a port goes on after this
 * @port: disabled
 *
 * Context: process context without port->lock.
 */
void rnbdt_port_exit(struct rnbd_tport *port)
{
	cancel_delayed_work_sync(&port->retry_work);
}

/**
 * rnbdt_port_enable - listen
 * @port: port that is not listening
 *
 * Context: port->lock held.
 * Return: 0 or an error, which has been logged.
 */
int rnbdt_port_enable(struct rnbd_tport *port)
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
 * rnbdt_port_disable - stop listening and end all sessions of the port
 * @port: port
 *
 * Context: port->lock held; waits for the storage.
 */
void rnbdt_port_disable(struct rnbd_tport *port)
{
	struct rdma_cm_id *id;

	lockdep_assert_held(&port->lock);

	rnbdt_port_set_state(port, RNBDT_PORT_DISABLED);
	id = rnbdt_port_swap_id(port, NULL);
	if (id)
		rdma_destroy_id(id);
	rnbdt_sessions_end(NULL, NULL, port, "the port was disabled");
}
