/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exports: enable, disable and capacity. See export.c.
 */
#ifndef RNBDT_EXPORT_H
#define RNBDT_EXPORT_H

struct rnbdt_export;

void rnbdt_export_init(struct rnbdt_export *export);
int rnbdt_export_must_be_off(struct rnbdt_export *export, const char *what);
int rnbdt_export_enable(struct rnbdt_export *export);
bool rnbdt_export_resized(const struct rnbdt_export *export);
int rnbdt_export_update_capacity(struct rnbdt_export *export);
void rnbdt_export_disable(struct rnbdt_export *export);
int rnbdt_backend_init(void);
void rnbdt_backend_exit(void);

#endif /* RNBDT_EXPORT_H */
