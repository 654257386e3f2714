/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of the client to attach and detach exports. See attach_ctl.c.
 */
#ifndef RNBDT_ATTACH_CTL_H
#define RNBDT_ATTACH_CTL_H

#include <linux/workqueue.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdt_session;

void rnbdt_ctl_work(struct work_struct *work);
enum rnbd_proto_err rnbdt_session_handle_attach(struct rnbdt_session *s,
						const struct rnbd_ctl_entry *entry);

#endif /* RNBDT_ATTACH_CTL_H */
