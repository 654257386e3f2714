// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns: limit on the number of disks of a session that attach again at the same time.
 *
 * Operation: The target accepts at most RNBD_CTL_OPEN_MAX unanswered ATTACH requests of a
 * session. The attach_work of a disk waits for the answer, and occupies a worker until then.
 * If a thousand disks of a session waited so, other sessions would lack workers. Therefore at
 * most RNBD_CTL_OPEN_MAX disks of a session have a turn, and of the disks that attach again
 * only these send a request. The others wait in a list and occupy no worker.
 *
 * Ownership: The list holds no references. A disk leaves the list before it is freed.
 *
 * Concurrency: The lock of the session protects the number of turns and the list.
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
 * rnbdc_turn_take - take a turn, or add the disk to the list of waiting disks
 * @disk: disk whose attach_work runs
 *
 * rnbdc_turn_end() of another disk queues the attach_work of a waiting disk.
 *
 * Context: attach_work; takes the lock of the session.
 * Return: true if the disk has a turn; the caller must then call rnbdc_turn_end().
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
 * rnbdc_turn_end - end a turn, and queue the attach_work of the disk that has waited longest
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
 * rnbdc_turn_leave - remove a disk from the list of waiting disks
 * @disk: disk in state RNBDC_CLOSING
 *
 * After this call no function of this file queues the attach_work of the disk.
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
