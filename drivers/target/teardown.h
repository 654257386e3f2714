/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Teardown of a session: stop its queues, drain them, free its memory. See teardown.c.
 */
#ifndef RNBDT_TEARDOWN_H
#define RNBDT_TEARDOWN_H

#include <linux/workqueue.h>

void rnbdt_linger_work(struct work_struct *work);
void rnbdt_release_work(struct work_struct *work);
void rnbdt_teardown_work(struct work_struct *work);
void rnbdt_wait_work(struct work_struct *work);

#endif /* RNBDT_TEARDOWN_H */
