/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries of the target about attachments: answers, and events. See attach_event.c.
 */
#ifndef RNBDC_ATTACH_EVENT_H
#define RNBDC_ATTACH_EVENT_H

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdc_queue;
struct rnbdc_session;

void rnbdc_forget_detached(struct rnbdc_session *sess);
enum rnbd_proto_err rnbdc_handle_attach(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_ATTACH_EVENT_H */
