/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The delegated pool: memory of the target that one client manages. See pool.c.
 */
#ifndef RNBDT_POOL_H
#define RNBDT_POOL_H

#include <rdma/ib_verbs.h>

struct rnbd_request;
struct rnbdt_pool;
struct rnbdt_req;
struct rnbdt_session;

/* Send-queue entries for registrations; as many are posted together. */
#define RNBDT_REG_BATCH		16

/**
 * struct rnbdt_piece - iterator over the contiguous memory of a request
 * @pool: pool of the session
 * @req: request
 * @run: index of the current extent in @req
 * @done: units of the current extent that were returned
 * @left: bytes of the request that were not returned yet
 */
struct rnbdt_piece {
	const struct rnbdt_pool *pool;
	const struct rnbd_request *req;
	u32 run;
	u32 done;
	u32 left;
};

u32 rnbdt_pool_segment_units(struct ib_device *dev);
int rnbdt_pool_alloc(struct rnbdt_session *s, u32 units, u32 segment_units);
int rnbdt_pool_register(struct rnbdt_session *s);
void rnbdt_pool_free(struct rnbdt_pool *pool);
void rnbdt_piece_start(struct rnbdt_piece *it, const struct rnbdt_req *treq);
u32 rnbdt_piece_next(struct rnbdt_piece *it, struct page **page);
u32 rnbdt_piece_count(const struct rnbdt_req *treq);

#endif /* RNBDT_POOL_H */
