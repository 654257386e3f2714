// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work-arounds for RDMA devices.
 *
 * Operation: a ring fills struct rnbd_quirks when it creates its queue pair. The client fills
 * another one when it connects, and adds the properties of port and path. Ring and client read
 * the members and never test the type of the device.
 *
 * Only soft-RoCE (rxe) has quirks, all observed in Linux 6.12:
 *
 * - It reports a message that is longer than its receive slot with IB_WC_LOC_QP_OP_ERR, which
 *   means a local error on other devices.
 * - It queues a packet for a queue pair and then schedules the work of the queue pair. At that
 *   time it holds only the reference on the queue pair that belongs to the packet. If the work
 *   already runs on another CPU, it can free the packet, and with it the last reference on a
 *   queue pair that is being destroyed. Then rxe schedules work in freed memory.
 * - It cannot resume an RDMA READ in its middle. If a packet of the response is lost, it
 *   completes the READ with success although data are missing, and moves the queue pair to the
 *   error state afterwards. A READ of one packet is safe. So the client makes the last READ of
 *   each batch of READs that short: it fetches the last packet of a longer READ by a separate
 *   READ, the guard. If the queue pair fails, the guard completes with an error, so that the
 *   client does not use incomplete data. An empty RDMA WRITE cannot be the guard, because
 *   read_reply() of rxe uses the length of the latest request when it replays a READ.
 * - Because rxe cannot resume a READ, a long READ cannot succeed where many packets are lost. A
 *   client whose connections are short-lived limits each READ to the MTU of the port.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: the caller serialises the functions that fill a struct.
 * Errors: errno of the device.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "quirks.h"

/* A connection that is lost after a shorter time indicates that many packets get lost. */
#define RNBD_SHORT_UPTIME	(10 * HZ)
/* A connection that is lost only after a longer time shows that few packets get lost. */
#define RNBD_LONG_UPTIME	(60 * HZ)

/**
 * rnbd_quirks_init - set the quirks of a device
 * @quirks: result
 * @dev: device
 *
 * Context: any.
 */
void rnbd_quirks_init(struct rnbd_quirks *quirks, const struct ib_device *dev)
{
	bool rxe = dev->ops.driver_id == RDMA_DRIVER_RXE;

	*quirks = (struct rnbd_quirks) {
		.too_long = rxe ? IB_WC_LOC_QP_OP_ERR : IB_WC_LOC_LEN_ERR,
		.reset_first = rxe,
		.guard_reads = rxe,
		.guard_over = U32_MAX,
		.read_limit = U32_MAX,
	};
}
EXPORT_SYMBOL_GPL(rnbd_quirks_init);

/**
 * rnbd_quirks_add_port - set the limits that depend on the port
 * @quirks: quirks from rnbd_quirks_init()
 * @dev: device
 * @port: port of the connection
 * @lossy: many packets get lost, see rnbd_quirks_lossy()
 *
 * Context: process context, may sleep.
 * Return: 0, or -EIO if the MTU of the port is unknown.
 */
int rnbd_quirks_add_port(struct rnbd_quirks *quirks, struct ib_device *dev,
			 u32 port, bool lossy)
{
	struct ib_port_attr attr;

	if (!quirks->guard_reads)
		return 0;
	if (ib_query_port(dev, port, &attr))
		return -EIO;
	quirks->guard_over = ib_mtu_enum_to_int(attr.active_mtu);
	if (lossy)
		quirks->read_limit = quirks->guard_over;
	return 0;
}
EXPORT_SYMBOL_GPL(rnbd_quirks_add_port);

/**
 * rnbd_quirks_add_path - reduce quirks->guard_over to the MTU of a path, if that is smaller
 * @quirks: quirks from rnbd_quirks_add_port()
 * @qp: connected queue pair
 *
 * Context: process context, may sleep.
 * Return: 0 or an error of the device.
 */
int rnbd_quirks_add_path(struct rnbd_quirks *quirks, struct ib_qp *qp)
{
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;
	int ret;

	if (!quirks->guard_reads)
		return 0;
	ret = ib_query_qp(qp, &attr, IB_QP_PATH_MTU, &init_attr);
	if (!ret)
		quirks->guard_over = min_t(u32, quirks->guard_over,
					   ib_mtu_enum_to_int(attr.path_mtu));
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_quirks_add_path);

/**
 * rnbd_quirks_lossy - judge by the duration of a lost connection whether many packets get lost
 * @lossy: assumption so far
 * @live_at: jiffies when the connection was established
 *
 * Context: any.
 * Return: assumption for the next connection.
 */
bool rnbd_quirks_lossy(bool lossy, unsigned long live_at)
{
	if (time_before(jiffies, live_at + RNBD_SHORT_UPTIME))
		return true;
	if (time_after(jiffies, live_at + RNBD_LONG_UPTIME))
		return false;
	return lossy;
}
EXPORT_SYMBOL_GPL(rnbd_quirks_lossy);

/**
 * rnbd_quirks_reset_qp - reset a queue pair if the device needs that before it is destroyed
 * @quirks: quirks of the device
 * @qp: drained queue pair that is about to be destroyed
 *
 * A queue pair in the reset state accepts no more packets. Soft interrupts that handle earlier
 * packets end within an RCU grace period, for which the function waits. Every device permits
 * the transition from the error state to the reset state.
 *
 * Context: process context, may sleep.
 */
void rnbd_quirks_reset_qp(const struct rnbd_quirks *quirks, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	if (!quirks->reset_first)
		return;
	ib_modify_qp(qp, &attr, IB_QP_STATE);
	synchronize_rcu_expedited();
}
EXPORT_SYMBOL_GPL(rnbd_quirks_reset_qp);
