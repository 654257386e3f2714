/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attach and detach of disks. See attach.c.
 */
#ifndef RNBDC_ATTACH_H
#define RNBDC_ATTACH_H

struct rnbdc_disk;
struct rnbdc_errmsg;
struct rnbdc_options;
struct rnbdc_session;

struct rnbdc_disk *rnbdc_disk_attach(const struct rnbdc_options *opt,
				     struct rnbdc_errmsg *errmsg);
int rnbdc_disk_detach(struct rnbdc_disk *disk, bool force, struct rnbdc_errmsg *errmsg);
struct rnbdc_disk *rnbdc_disk_find(const char *name);
void rnbdc_disks_detach_all(void);

#endif /* RNBDC_ATTACH_H */
