/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What limits leave, and what a login may wait for. See headroom.c.
 */
#ifndef RNBDT_HEADROOM_H
#define RNBDT_HEADROOM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "counters.h"

struct rnbdt_host;

/**
 * struct rnbdt_closing - what closing sessions of a host still hold
 * @sessions: at least one is counted as a session
 * @pools: at least one has a pool
 * @queues: at least one has queues
 */
struct rnbdt_closing {
	bool sessions;
	bool pools;
	bool queues;
};

/**
 * rnbdt_limit_bytes - return the bytes of a limit
 * @mb: value of its module parameter, MiB, or 0
 * @share_of_ram: part of the memory of this machine that replaces 0
 *
 * Context: any.
 * Return: bytes.
 */
static inline u64 rnbdt_limit_bytes(u32 mb, u32 share_of_ram)
{
	return mb ? (u64)mb << 20 : ((u64)totalram_pages() << PAGE_SHIFT) / share_of_ram;
}

/**
 * rnbdt_limit_left - return what is left of a limit
 * @limit: limit
 * @used: what is used of it, perhaps more than @limit, which may have changed
 *
 * Context: any.
 * Return: 0 or the rest.
 */
static inline u64 rnbdt_limit_left(u64 limit, u64 used)
{
	return limit > used ? limit - used : 0;
}

/**
 * rnbdt_host_share - return the part of a limit that one host may use
 * @bytes: limit
 *
 * Context: any.
 * Return: seven eighths.
 */
static inline u64 rnbdt_host_share(u64 bytes)
{
	return bytes - bytes / 8;
}

struct rnbdt_closing rnbdt_headroom_closing(const struct rnbdt_host *host);
u16 rnbdt_limit_status(enum rnbdt_limit limit, bool closing);

#endif /* RNBDT_HEADROOM_H */
