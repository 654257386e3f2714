/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-open connections: clients that have not logged in, and queues that have not joined. See
 * half_open.c.
 */
#ifndef RNBDT_HALF_OPEN_H
#define RNBDT_HALF_OPEN_H

#include <linux/socket.h>
#include <rnbd/wire.h>

/* Number of slots, of both directions together, that a new queue has */
#define RNBDT_FIRST_SLOTS	(2 * RNBD_RING_SLOTS_MIN + 1)

struct rnbdt_half_open;
struct rnbdt_host;
struct rnbdt_session;

unsigned long rnbdt_login_timeout(void);
u32 rnbdt_login_frames(void);
bool rnbdt_same_address(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b);
u64 rnbdt_ring_bytes(u32 slots, u32 slot_size);
u16 rnbdt_limits_connect(struct rnbdt_host *host, const struct sockaddr_storage *peer);
void rnbdt_limits_opened(struct rnbdt_half_open *half, struct rnbdt_host *host,
			 const struct sockaddr_storage *peer);
void rnbdt_half_open_end(struct rnbdt_half_open *half);
void rnbdt_half_open_login(struct rnbdt_session *s);
void rnbdt_half_open_freed(struct rnbdt_half_open *half, bool accepted);
void rnbdt_half_open_gone(struct rnbdt_half_open *half);
void rnbdt_half_open_forget(struct rnbdt_host *host);

#endif /* RNBDT_HALF_OPEN_H */
