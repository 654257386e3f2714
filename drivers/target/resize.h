/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resize: reports of a changed capacity to the clients. See resize.c.
 */
#ifndef RNBDT_RESIZE_H
#define RNBDT_RESIZE_H

#include <linux/workqueue.h>

struct rnbdt_attach;
struct rnbdt_export;

/* Shortest time in jiffies between two reports of a capacity for one attachment */
#define RNBDT_RESIZE_PAUSE	HZ

void rnbdt_attach_resize(struct rnbdt_attach *att);
void rnbdt_attach_resize_work(struct work_struct *work);
void rnbdt_sessions_resize(const struct rnbdt_export *export);

#endif /* RNBDT_RESIZE_H */
