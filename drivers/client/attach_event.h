/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries: events about attachments. See attach_event.c.
 */
#ifndef RNBDC_ATTACH_EVENT_H
#define RNBDC_ATTACH_EVENT_H

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdc_session;

enum rnbd_proto_err rnbdc_handle_closed(struct rnbdc_session *sess,
					const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbdc_handle_capacity(struct rnbdc_session *sess,
					  const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_ATTACH_EVENT_H */
