/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of a pool by slot, and the requests that name them. See pool.c.
 */
#ifndef RNBDT_POOL_H
#define RNBDT_POOL_H

#include <rdma/ib_verbs.h>

struct rnbd_request;
struct rnbdt_pool;
struct rnbdt_req;
struct rnbdt_segment;
struct rnbdt_session;

/**
 * struct rnbdt_piece - iterator over the contiguous memory of a request
 * @pool: pool of the session
 * @req: request to iterate over
 * @seg: segment of the current extent
 * @run: index of the current extent in @req
 * @done: units of the current extent that the iterator has returned
 * @left: bytes of the request that the iterator has not returned yet
 */
struct rnbdt_piece {
	const struct rnbdt_pool *pool;
	const struct rnbd_request *req;
	const struct rnbdt_segment *seg;
	u32 run;
	u32 done;
	u32 left;
};

u32 rnbdt_pool_segment_units(struct ib_device *dev, u32 max_units);
u32 rnbdt_pool_slots(u32 segment_units, u32 floor_units, u32 max_units);
int rnbdt_pool_init(struct rnbdt_session *s, u32 segment_units, u32 nr_slots);
int rnbdt_pool_reserve(struct rnbdt_pool *pool, struct rnbdt_segment *seg);
void rnbdt_pool_cancel(struct rnbdt_pool *pool, struct rnbdt_segment *seg);
void rnbdt_pool_add(struct rnbdt_pool *pool, struct rnbdt_segment *seg);
void rnbdt_pool_remove(struct rnbdt_pool *pool, struct rnbdt_segment *seg);
struct rnbdt_segment *rnbdt_pool_find(const struct rnbdt_pool *pool, u32 slot);
struct rnbdt_segment *rnbdt_pool_next(const struct rnbdt_pool *pool, u32 *slot);
bool rnbdt_pool_allows(const struct rnbdt_pool *pool, const struct rnbd_request *req);
void rnbdt_pool_scan(struct rnbdt_session *s, bool deadlines);
bool rnbdt_pool_named(const struct rnbdt_pool *pool, const struct rnbdt_segment *seg);
u32 rnbdt_pool_slow(const struct rnbdt_pool *pool, const struct rnbdt_segment *seg);
void rnbdt_pool_free(struct rnbdt_pool *pool);
void rnbdt_piece_start(struct rnbdt_piece *it, const struct rnbdt_req *treq);
u32 rnbdt_piece_next(struct rnbdt_piece *it, struct page **page);
u32 rnbdt_piece_count(const struct rnbdt_req *treq);

#endif /* RNBDT_POOL_H */
