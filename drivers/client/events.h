/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: log lines, uevents and netlink messages about changes of state. See events.c.
 */
#ifndef RNBDC_EVENTS_H
#define RNBDC_EVENTS_H

#include <linux/workqueue.h>
#include <net/genetlink.h>

void rnbdc_events_init(const struct genl_family *family, unsigned int group);
void rnbdc_event_work(struct work_struct *work);

#endif /* RNBDC_EVENTS_H */
