/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Life cycle of an attachment. See attached.c.
 */
#ifndef RNBDT_ATTACHED_H
#define RNBDT_ATTACHED_H

#include <linux/types.h>

struct rnbd_attach_info;
struct rnbdt_attach;
struct rnbdt_export;
struct rnbdt_host;
struct rnbdt_port;
struct rnbdt_session;

struct rnbdt_attach *rnbdt_attach_alloc(struct rnbdt_session *s,
					const struct rnbd_attach_info *info);
u64 rnbdt_attached_bytes(void);
u32 rnbdt_attach_bytes(const struct rnbdt_attach *att);
void rnbdt_attach_charge(struct rnbdt_attach *att);
void rnbdt_attach_forget(struct rnbdt_attach *att);
void rnbdt_attach_free(struct rnbdt_attach *att);
void rnbdt_attach_close(struct rnbdt_attach *att, u16 status);
struct rnbdt_attach *rnbdt_attached_next(const struct rnbdt_host *host, const char *name,
					 struct rnbdt_attach *att);
void rnbdt_attached_add(struct rnbdt_attach *att, struct rnbdt_export *export);
void rnbdt_attached_remove(struct rnbdt_attach *att);
void rnbdt_attached_close(struct rnbdt_export *export, const struct rnbdt_host *host,
			  const struct rnbdt_port *port, const char *reason);
void rnbdt_attached_revoke(struct rnbdt_export *export);
void rnbdt_session_export(struct rnbdt_session *s, char *name);

#endif /* RNBDT_ATTACHED_H */
