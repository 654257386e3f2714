/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the files that build messages.
 */
#ifndef RNBD_HOSTILE_BUILD_H
#define RNBD_HOSTILE_BUILD_H

#include "hostile.h"

/* A status other than RNBD_ST_OK. */
u16 draw_refusal(void);

/* The body of a login entry of @type at @body; returns its length. */
u32 build_login_body(u16 type, void *body);

/* The same for an entry about a segment of the pool. */
u32 build_lease_body(u16 type, void *body);

#endif /* RNBD_HOSTILE_BUILD_H */
