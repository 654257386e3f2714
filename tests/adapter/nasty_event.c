// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events of nasty devices.
 *
 * Operation: from time to time, a device with the kind "event" reports that its GIDs or
 * partition keys have changed, or that clients should register again with the subnet manager,
 * although nothing has changed. At other times its port fails for MDL_PORT_DOWN_MS; messages sent
 * during the failure are lost and retried. A device with the kind "fatal" fails once: at the
 * first event from number MDL_FATAL_EVENT on at which a queue pair is connected, all its RC queue
 * pairs enter the error state.
 *
 * Ownership: a device owns its work item.
 *
 * Concurrency: the work item of a device never runs concurrently with itself. While it runs, it
 * holds a reference to the registered device.
 *
 * Errors: none.
 */
#include <linux/rtnetlink.h>

#include "model.h"

/* Time between two events, ms: minimum, and upper bound of the random time that is added. */
#define MDL_EVENT_MIN_MS	50
#define MDL_EVENT_SPREAD_MS	400
/* Duration of a port failure, ms. */
#define MDL_PORT_DOWN_MS	2
/* One in this many events is a port failure: a ULP can wait for a second after a failure. */
#define MDL_PORT_EVENTS		16
/* The device does not fail before its event of this number. */
#define MDL_FATAL_EVENT		12

static void mdl_nasty_port(struct mdl_dev *dev, bool down)
{
	rtnl_lock();
	WRITE_ONCE(dev->port_down, down);
	mdl_port_changed(dev);
	rtnl_unlock();
}

/* Test for a connected queue pair: without one, no ULP would notice a failure of the device. */
static bool mdl_connected(struct mdl_dev *dev)
{
	bool connected = false;
	unsigned long index;
	struct mdl_qp *qp;

	rcu_read_lock();
	xa_for_each(&dev->qps, index, qp) {
		connected = qp->ib.qp_type == IB_QPT_RC && READ_ONCE(qp->state) == IB_QPS_RTS;
		if (connected)
			break;
	}
	rcu_read_unlock();
	return connected;
}

static void mdl_nasty_fatal(struct mdl_dev *dev)
{
	unsigned long index;
	struct mdl_qp *qp;

	dev->dice.failed = true;
	rcu_read_lock();
	xa_for_each(&dev->qps, index, qp) {
		if (qp->ib.qp_type != IB_QPT_RC || !refcount_inc_not_zero(&qp->refs))
			continue;
		mdl_qp_fail(qp);
		mdl_qp_put(qp);
	}
	rcu_read_unlock();
	mdl_nasty_count(dev, MDL_NASTY_FATAL);
}

/* Report an event or end a port failure; returns the time until the next such step, ms. */
static u32 mdl_nasty_next(struct mdl_dev *dev)
{
	static const enum ib_event_type events[] = {
		/*
		 * The RDMA core handles GID_CHANGE itself: it reads all GIDs and notifies no
		 * client.
		 */
		IB_EVENT_GID_CHANGE, IB_EVENT_PKEY_CHANGE, IB_EVENT_CLIENT_REREGISTER,
	};
	struct mdl_dice *dice = &dev->dice;
	struct ib_event event = { .device = &dev->ib, .element.port_num = 1 };

	if (dev->port_down) {
		mdl_nasty_port(dev, false);
		mdl_nasty_count(dev, MDL_NASTY_EVENT);
		return MDL_EVENT_MIN_MS + mdl_random(dev, MDL_EVENT_SPREAD_MS);
	}
	dice->events++;
	if (dice->kinds & BIT(MDL_NASTY_FATAL) && dice->events >= MDL_FATAL_EVENT &&
	    !dice->failed && mdl_connected(dev)) {
		mdl_nasty_fatal(dev);
		event.event = IB_EVENT_DEVICE_FATAL;
		ib_dispatch_event(&event);
	} else if (dice->kinds & BIT(MDL_NASTY_EVENT)) {
		if (dice->events % MDL_PORT_EVENTS == 2 && dev->active) {
			mdl_nasty_port(dev, true);
			return MDL_PORT_DOWN_MS;
		}
		event.event = events[mdl_random(dev, ARRAY_SIZE(events))];
		ib_dispatch_event(&event);
		mdl_nasty_count(dev, MDL_NASTY_EVENT);
	}
	return MDL_EVENT_MIN_MS + mdl_random(dev, MDL_EVENT_SPREAD_MS);
}

static void mdl_nasty_event_work(struct work_struct *work)
{
	struct mdl_dev *dev = container_of(to_delayed_work(work), struct mdl_dev, dice.event);
	u32 ms;

	/* Stop when the device is being removed. */
	if (!ib_device_try_get(&dev->ib))
		return;
	ms = mdl_nasty_next(dev);
	schedule_delayed_work(&dev->dice.event, msecs_to_jiffies(ms));
	ib_device_put(&dev->ib);
}

/**
 * mdl_nasty_events_start - start the asynchronous events of a device
 * @dev: device that is about to be registered
 *
 * Context: process context.
 */
void mdl_nasty_events_start(struct mdl_dev *dev)
{
	INIT_DELAYED_WORK(&dev->dice.event, mdl_nasty_event_work);
	if (dev->dice.kinds & (BIT(MDL_NASTY_EVENT) | BIT(MDL_NASTY_FATAL)))
		schedule_delayed_work(&dev->dice.event, msecs_to_jiffies(MDL_EVENT_MIN_MS));
}

/**
 * mdl_nasty_events_stop - stop the asynchronous events of a device
 * @dev: device that is no longer registered, or never was
 *
 * Context: process context, may sleep.
 */
void mdl_nasty_events_stop(struct mdl_dev *dev)
{
	if (dev->dice.event.work.func)
		cancel_delayed_work_sync(&dev->dice.event);
}
