// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work-arounds for RDMA devices: the decisions and numbers of each.
 *
 * Operation: a ring fills struct rnbd_quirks when its queue pair is made, the client
 * one per connection, to which it adds port and paths. Ring and client read the
 * members and never ask which device they use.
 *
 * Only soft-RoCE (rxe) has quirks, all seen in Linux 6.12:
 *
 * - It reports a message that is longer than its receive slot with
 *   IB_WC_LOC_QP_OP_ERR, which stands for a local error on other devices.
 * - It queues a packet for a queue pair and then schedules the work of the queue pair
 *   with no reference but the packet's own. If the work runs at once on another
 *   processor and frees the packet while the queue pair is destroyed, it schedules
 *   freed memory.
 * - It cannot resume an RDMA READ in its middle. If a packet of the response is lost,
 *   it completes the READ with success although data are missing, and only then moves
 *   the queue pair to the error state. A READ of one packet is safe. So the client
 *   fetches the last packet of a longer READ by a READ of its own, the guard: it is
 *   flushed when the queue pair fails. An empty RDMA WRITE would not do as a guard,
 *   because read_reply() looks at the length of the latest request when it replays.
 * - For the same reason a long READ never gets through where many packets are lost.
 *   A client whose connections are short-lived limits READs to one packet.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: the caller serialises the functions that fill a struct.
 * Errors: errno from the device.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "quirks.h"

/* Packets may get lost where a connection lives shorter than that. */
#define RNBD_SHORT_LIFE		(10 * HZ)
/* A connection that lives longer than that proves that few get lost. */
#define RNBD_LONG_LIFE		(60 * HZ)

/**
 * rnbd_quirks_init - fill in the quirks of a device
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
 * rnbd_quirks_add_port - fill in the numbers that depend on the port
 * @quirks: from rnbd_quirks_init()
 * @dev: device
 * @port: of the connection
 * @lossy: packets get lost, see rnbd_quirks_lossy()
 *
 * Context: process context, may sleep.
 * Return: 0, or -EIO if the port does not tell its MTU.
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
 * rnbd_quirks_add_path - lower the numbers to the MTU of a path
 * @quirks: from rnbd_quirks_add_port()
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
 * rnbd_quirks_lossy - judge by a lost connection whether packets get lost
 * @lossy: the judgement so far
 * @live_at: jiffies when the connection was established
 *
 * Context: any.
 * Return: the judgement for the next connection.
 */
bool rnbd_quirks_lossy(bool lossy, unsigned long live_at)
{
	if (time_before(jiffies, live_at + RNBD_SHORT_LIFE))
		return true;
	if (time_after(jiffies, live_at + RNBD_LONG_LIFE))
		return false;
	return lossy;
}
EXPORT_SYMBOL_GPL(rnbd_quirks_lossy);

/**
 * rnbd_quirks_reset_qp - reset a queue pair if the device needs that before its end
 * @quirks: of the device
 * @qp: drained queue pair that is about to be destroyed
 *
 * In the reset state the queue pair gets no more packets. Those on their way are
 * handled in soft interrupts, which an RCU grace period waits for. Every device
 * permits the change from the error state to the reset state.
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
