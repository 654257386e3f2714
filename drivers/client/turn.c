// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns of the disks of a session that attach again.
 *
 * Operation: a target has a number of requests to attach of a session at a time. A disk that
 * attaches waits for its answer in a work item, and a session may have a thousand disks: if
 * all of them waited, they would occupy the workers that other sessions need to reconnect.
 * So only as many disks as the target accepts have a turn, and the others wait in a list.
 *
 * Ownership: the list holds no reference; a disk leaves it before it is freed.
 *
 * Concurrency: the lock of the session protects the number of turns and the list.
 *
 * Errors: none.
 */

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/ctl.h"
#include "client.h"
#include "disk.h"
#include "session.h"
#include "turn.h"

/**
 * rnbdc_turn_take - take a turn, or let the disk wait for one
 * @disk: disk whose attach_work runs
 *
 * A disk that waits has its attach_work queued when a turn may be free.
 *
 * Context: attach_work; takes the lock of the session.
 * Return: true if the disk has a turn, which rnbdc_turn_end() ends.
 */
bool rnbdc_turn_take(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	bool taken;

	spin_lock_irq(&sess->lock);
	taken = sess->recovery.nr_turns < RNBD_CTL_OPEN_MAX;
	if (taken)
		sess->recovery.nr_turns++;
	else if (disk->state != RNBDC_CLOSING && list_empty(&disk->turn))
		list_add_tail(&disk->turn, &sess->recovery.turns);
	spin_unlock_irq(&sess->lock);
	return taken;
}

/**
 * rnbdc_turn_end - end a turn, and let the disk that waits longest try again
 * @sess: session of a disk that has a turn
 *
 * Context: attach_work; takes the lock of the session.
 */
void rnbdc_turn_end(struct rnbdc_session *sess)
{
	struct rnbdc_disk *next;

	spin_lock_irq(&sess->lock);
	sess->recovery.nr_turns--;
	next = list_first_entry_or_null(&sess->recovery.turns, struct rnbdc_disk, turn);
	if (next) {
		list_del_init(&next->turn);
		mod_delayed_work(rnbdc_attach_wq, &next->attach_work, 0);
	}
	spin_unlock_irq(&sess->lock);
}

/**
 * rnbdc_turn_leave - let a disk no longer wait for a turn
 * @disk: disk in state RNBDC_CLOSING
 *
 * Nothing of this file queues its attach_work any more.
 *
 * Context: process context; takes the lock of the session.
 */
void rnbdc_turn_leave(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;

	spin_lock_irq(&sess->lock);
	list_del_init(&disk->turn);
	spin_unlock_irq(&sess->lock);
}
