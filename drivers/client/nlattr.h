/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink attributes that describe a disk, its session, or an export. See nlattr.c.
 */
#ifndef RNBDC_NLATTR_H
#define RNBDC_NLATTR_H

struct rnbd_export_info;
struct rnbdc_change;
struct rnbdc_disk;

int rnbdc_put_disk(struct sk_buff *msg, struct rnbdc_disk *disk,
		   const struct rnbdc_change *change, bool admin);
int rnbdc_put_export(struct sk_buff *msg, const struct rnbd_export_info *export);

#endif /* RNBDC_NLATTR_H */
