/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: the hosts that may use an export. See configfs_allow.c.
 */
#ifndef RNBDT_CONFIGFS_ALLOW_H
#define RNBDT_CONFIGFS_ALLOW_H

struct rnbdt_export;

void rnbdt_allow_init(struct rnbdt_export *export);

#endif /* RNBDT_CONFIGFS_ALLOW_H */
