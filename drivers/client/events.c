// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: log lines, uevents and netlink messages about changes of state.
 *
 * Operation: state.c records changes of state in a ring of the disk and queues event_work.
 * event_work reports them in the order in which they happened: to the log, to the listeners
 * of the netlink group, and to udev (class.c). event_work also reports a changed capacity
 * (gendisk.c). While a disk is added or removed, the kernel itself sends uevents about the
 * disk, so event_work sends none.
 *
 * Ownership: A queued event_work holds a reference to the disk, and drops it at the end of
 * its run.
 *
 * Concurrency: event_work runs on a work queue of its own, because a report can wait for
 * memory and thus for I/O of the disk, which recovery must never do. A detach flushes
 * event_work before another disk can get the disk's name.
 *
 * Errors: If changes were overwritten or a message cannot be allocated, the listeners get the
 * error ENOBUFS on their sockets; they should then list the disks to learn the states.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/netlink.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <rnbd/netlink.h>

#include "class.h"
#include "disk.h"
#include "errmsg.h"
#include "events.h"
#include "gendisk.h"
#include "nlattr.h"
#include "release.h"
#include "session.h"
#include "state.h"

/* Family whose listeners receive the events; set before the first session exists. */
static const struct genl_family *rnbdc_events_family;
static unsigned int rnbdc_events_group;

/**
 * rnbdc_events_init - set the netlink family and group that receive the events
 * @family: generic netlink family, registered or about to be
 * @group: number of its multicast group
 *
 * Context: module init, before the first session exists.
 */
void rnbdc_events_init(const struct genl_family *family, unsigned int group)
{
	rnbdc_events_family = family;
	rnbdc_events_group = group;
}

/**
 * rnbdc_netlink_event_lost - report to the listeners that an event was lost
 *
 * Context: any.
 */
static void rnbdc_netlink_event_lost(void)
{
	genl_set_err(rnbdc_events_family, &init_net, 0, rnbdc_events_group, -ENOBUFS);
}

/**
 * rnbdc_netlink_event - report a change of state to all listeners
 * @disk: disk
 * @change: change to report; all other attributes have their present values
 *
 * Context: process context, may sleep; allocates without waiting for I/O.
 */
static void rnbdc_netlink_event(struct rnbdc_disk *disk, const struct rnbdc_change *change)
{
	const struct genl_family *family = rnbdc_events_family;
	struct sk_buff *msg;
	void *hdr;

	if (!genl_has_listeners(family, &init_net, rnbdc_events_group))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_NOIO);
	if (!msg)
		goto lost;
	hdr = genlmsg_put(msg, 0, 0, family, 0, RNBD_CMD_EVENT);
	if (!hdr || rnbdc_put_disk(msg, disk, change, true))
		goto free;
	genlmsg_end(msg, hdr);
	genlmsg_multicast(family, msg, 0, rnbdc_events_group, GFP_NOIO);
	return;

free:
	nlmsg_free(msg);
lost:
	rnbdc_netlink_event_lost();
}

/* Test whether event_work sends uevents: not while the disk is being added or removed. */
static bool rnbdc_disk_has_events(const struct rnbdc_disk *disk)
{
	return test_bit(RNBDC_DISK_ATTACHED, &disk->flags) &&
	       !test_bit(RNBDC_DISK_DETACH, &disk->flags);
}

static void rnbdc_report_change(struct rnbdc_disk *disk, const struct rnbdc_change *change)
{
	const char *addr = disk->sess->opt.addr;
	const char *name = rnbdc_disk_name(disk);
	char error[RNBDC_ERRMSG_SIZE];

	switch (change->to) {
	case RNBDC_RECONNECTING:
		pr_warn("%s (%s at %s): connection lost: %s\n", name, disk->opt.export, addr,
			change->reason);
		break;
	case RNBDC_FAILED:
		rnbdc_disk_last_error(disk, error);
		pr_err("%s (%s at %s): given up, all I/O fails: %s\n", name,
		       disk->opt.export, addr, error);
		break;
	case RNBDC_LIVE:
		if (change->from == RNBDC_RECONNECTING)
			pr_info("%s (%s at %s): reconnected, attempt %u, epoch %u\n",
				name, disk->opt.export, addr, change->attempt,
				change->epoch);
		break;
	default:
		break;
	}
	rnbdc_netlink_event(disk, change);
	if (rnbdc_disk_has_events(disk))
		rnbdc_class_event(disk, change->to);
}

/* Get the next change. Returns false if there is none. Sets *@lost if some were overwritten. */
static bool rnbdc_disk_next_change(struct rnbdc_disk *disk, struct rnbdc_change *change,
				   bool *lost)
{
	struct rnbdc_session *sess = disk->sess;
	struct rnbdc_log *log = &disk->log;
	unsigned long flags;
	u32 waiting;

	spin_lock_irqsave(&sess->lock, flags);
	waiting = log->nr_changes - log->nr_reported;
	*lost = waiting > RNBDC_CHANGES;
	if (*lost)
		log->nr_reported = log->nr_changes - RNBDC_CHANGES;
	if (waiting)
		*change = log->changes[log->nr_reported++ % RNBDC_CHANGES];
	spin_unlock_irqrestore(&sess->lock, flags);
	return waiting;
}

/**
 * rnbdc_event_work - report the recorded changes of a disk
 * @work: rnbdc_disk.log.event_work, with a reference of the disk
 *
 * Context: rnbdc_event_wq, may sleep.
 */
void rnbdc_event_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(work, struct rnbdc_disk, log.event_work);
	struct rnbdc_change change;
	bool lost;

	while (rnbdc_disk_next_change(disk, &change, &lost)) {
		if (lost)
			rnbdc_netlink_event_lost();
		rnbdc_report_change(disk, &change);
	}
	if (rnbdc_disk_has_events(disk) &&
	    test_and_clear_bit(RNBDC_DISK_RESIZED, &disk->flags))
		rnbdc_disk_resized(disk);
	rnbdc_disk_put(disk);
}
