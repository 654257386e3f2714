/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for binding an attachment to an export. See bind.c.
 */
#ifndef RNBDT_BIND_H
#define RNBDT_BIND_H

#include <linux/types.h>

struct rnbd_attach_info;
struct rnbdt_attach;
struct rnbdt_export;
struct rnbdt_session;

void rnbdt_close_restarted(const struct rnbdt_session *s);
bool rnbdt_is_draining(const struct rnbdt_session *s, const char *name);
u16 rnbdt_bind_check(const struct rnbdt_session *s, const struct rnbd_attach_info *info,
		     struct rnbdt_export **export);
bool rnbdt_bind_is_config(const struct rnbdt_session *s, const struct rnbdt_export *export);
void rnbdt_bind(struct rnbdt_attach *att, struct rnbdt_export *export, u16 flags);

#endif /* RNBDT_BIND_H */
