/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries: attach an export, and events about attachments. See attach_ctl.c.
 */
#ifndef RNBDC_ATTACH_CTL_H
#define RNBDC_ATTACH_CTL_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdc_disk;
struct rnbdc_errmsg;
struct rnbdc_queue;
struct rnbdc_session;

int rnbdc_export_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
int rnbdc_renew_index(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
void rnbdc_export_detach(struct rnbdc_disk *disk, bool keep_owner);
void rnbdc_export_release(struct rnbdc_disk *disk);
void rnbdc_forget_detached(struct rnbdc_session *sess);
enum rnbd_proto_err rnbdc_handle_attach(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_ATTACH_CTL_H */
