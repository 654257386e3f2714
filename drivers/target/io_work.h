/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work items that access the storage of an export. See io_work.c.
 */
#ifndef RNBDT_IO_WORK_H
#define RNBDT_IO_WORK_H

#include <linux/types.h>
#include <linux/workqueue.h>

#include "workers.h"

struct rnbdt_io_set;

/**
 * struct rnbdt_io_work - a work item that accesses the storage of an export
 * @work: work item, which io_work.c queues; its function ends with rnbdt_io_end()
 * @item: entry in the list of work items that wait for a worker; rnbdt_io_set.lock
 */
struct rnbdt_io_work {
	struct work_struct work;
	struct rnbdt_worker_item item;
};

/**
 * struct rnbdt_io - the use of a work queue by one export
 * @set: work queue and the exports that share it; constant
 * @user: workers of the export; rnbdt_io_set.lock
 */
struct rnbdt_io {
	struct rnbdt_io_set *set;
	struct rnbdt_worker_user user;
};

int rnbdt_io_open(struct rnbdt_io *io, bool unbound);
void rnbdt_io_close(struct rnbdt_io *io);
void rnbdt_io_queue(struct rnbdt_io *io, struct rnbdt_io_work *work);
void rnbdt_io_end(struct rnbdt_io *io);

#endif /* RNBDT_IO_WORK_H */
