/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reserve of zeroed memory for segments. See reserve.c.
 */
#ifndef RNBDT_RESERVE_H
#define RNBDT_RESERVE_H

#include <linux/types.h>

/*
 * Smallest and largest order of a block: the order of the smallest segment that is granted after
 * a login, and an order of which the page allocator often has free blocks
 */
#define RNBDT_RESERVE_MIN	6
#define RNBDT_RESERVE_MAX	9

struct page;

struct page *rnbdt_reserve_take(int node, unsigned int *order);
bool rnbdt_reserve_put(struct page *page, unsigned int order);
void rnbdt_reserve_fill(int node);
int rnbdt_reserve_init(void);
void rnbdt_reserve_exit(void);

#endif /* RNBDT_RESERVE_H */
