/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Binding of a login to an export, and the other sessions of its host. See bind.c.
 */
#ifndef RNBDT_BIND_H
#define RNBDT_BIND_H

#include <linux/types.h>

struct rnbdt_session;

u16 rnbdt_bind(struct rnbdt_session *s);

#endif /* RNBDT_BIND_H */
