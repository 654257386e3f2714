/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exports that have a backend. See opened.c.
 */
#ifndef RNBDT_OPENED_H
#define RNBDT_OPENED_H

struct inode;
struct rnbdt_export;

int rnbdt_opened_check(const struct rnbdt_export *export, const struct inode *inode);
int rnbdt_opened_add(struct rnbdt_export *export);
void rnbdt_opened_remove(struct rnbdt_export *export);

#endif /* RNBDT_OPENED_H */
