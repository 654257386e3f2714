/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headroom below the limits, and logins that are put off until there is more of it. See
 * headroom.c.
 */
#ifndef RNBDT_HEADROOM_H
#define RNBDT_HEADROOM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "counters.h"

struct rnbdt_awaited;
struct rnbdt_host;

/**
 * struct rnbdt_closing - resources that closing sessions of a host still hold
 * @sessions: at least one of them counts against the limit on sessions
 * @pools: at least one of them is charged for a pool
 * @queues: at least one of them is charged for queues
 */
struct rnbdt_closing {
	bool sessions;
	bool pools;
	bool queues;
};

/**
 * rnbdt_limit_bytes - convert a module parameter to a limit in bytes
 * @mb: value of the module parameter in MiB, 0 for a part of the memory of this machine
 * @share_of_ram: divisor of the memory of this machine if @mb is 0
 *
 * Context: any.
 * Return: bytes.
 */
static inline u64 rnbdt_limit_bytes(u32 mb, u32 share_of_ram)
{
	return mb ? (u64)mb << 20 : ((u64)totalram_pages() << PAGE_SHIFT) / share_of_ram;
}

/**
 * rnbdt_limit_left - return the unused part of a limit
 * @limit: limit, which the administrator has possibly reduced
 * @used: used part of the limit, perhaps more than @limit
 *
 * Context: any.
 * Return: the difference, or 0 if @used is not less than @limit.
 */
static inline u64 rnbdt_limit_left(u64 limit, u64 used)
{
	return limit > used ? limit - used : 0;
}

/**
 * rnbdt_host_share - return the part of a limit that one host may use
 * @bytes: limit in bytes
 *
 * Context: any.
 * Return: seven eighths of @bytes.
 */
static inline u64 rnbdt_host_share(u64 bytes)
{
	return bytes - bytes / 8;
}

struct rnbdt_closing rnbdt_headroom_closing(const struct rnbdt_host *host);
u16 rnbdt_limit_status(enum rnbdt_limit limit, bool closing);
u64 rnbdt_headroom_elastic(u64 limit, const struct rnbdt_awaited *awaited);
u64 rnbdt_headroom_lacks(u64 limit, u64 used, const struct rnbdt_awaited *awaited);
bool rnbdt_headroom_await(struct rnbdt_awaited *awaited, u64 bytes);
void rnbdt_headroom_served(struct rnbdt_awaited *awaited, u64 floor);

#endif /* RNBDT_HEADROOM_H */
