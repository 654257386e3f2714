/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control requests of disks: attach an export, and detach it. See attach_ctl.c.
 */
#ifndef RNBDC_ATTACH_CTL_H
#define RNBDC_ATTACH_CTL_H

#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_errmsg;

int rnbdc_export_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
int rnbdc_renew_index(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
void rnbdc_export_detach(struct rnbdc_disk *disk, bool keep_owner);
void rnbdc_export_release(struct rnbdc_disk *disk);

#endif /* RNBDC_ATTACH_CTL_H */
