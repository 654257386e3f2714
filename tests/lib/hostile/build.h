/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files which build messages share.
 */
#ifndef RNBD_HOSTILE_BUILD_H
#define RNBD_HOSTILE_BUILD_H

#include "hostile.h"

/* A status other than RNBD_ST_OK. */
u16 draw_refusal(void);

/* Build the body of an entry about logins or lists of exports; return its length. */
u32 build_login_body(u16 type, void *body);

/* Build the body of an entry about segments of the pool; return its length. */
u32 build_lease_body(u16 type, void *body);

#endif /* RNBD_HOSTILE_BUILD_H */
