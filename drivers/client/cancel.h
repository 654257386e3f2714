/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that end without their reply. See cancel.c.
 */
#ifndef RNBDC_CANCEL_H
#define RNBDC_CANCEL_H

#include <linux/blk-mq.h>

struct rnbdc_disk;

/**
 * struct rnbdc_in_flight - numbers of requests of a disk in flight on a connection
 * @all: number of all requests
 * @modifying: number of requests that modify the disk
 */
struct rnbdc_in_flight {
	u32 all;
	u32 modifying;
};

void rnbdc_disk_cancel_requests(struct rnbdc_disk *disk, bool replay, bool hold);
void rnbdc_disk_fail_requests(struct rnbdc_disk *disk, bool all);
void rnbdc_fail_request(struct request *rq);
void rnbdc_disk_poll(struct rnbdc_disk *disk);
struct rnbdc_in_flight rnbdc_disk_in_flight(struct rnbdc_disk *disk);

#endif /* RNBDC_CANCEL_H */
