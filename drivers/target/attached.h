/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attachments of an export. See attached.c.
 */
#ifndef RNBDT_ATTACHED_H
#define RNBDT_ATTACHED_H

struct rnbdt_attach;
struct rnbdt_export;
struct rnbdt_host;
struct rnbdt_port;

void rnbdt_attached_add(struct rnbdt_attach *att, struct rnbdt_export *export);
void rnbdt_attached_remove(struct rnbdt_attach *att);
void rnbdt_attached_close(struct rnbdt_export *export, const struct rnbdt_host *host,
			  const struct rnbdt_port *port, const char *reason);
void rnbdt_attached_wait(struct rnbdt_export *export);

#endif /* RNBDT_ATTACHED_H */
