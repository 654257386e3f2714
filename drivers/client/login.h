/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Login: the request, the reply, and the check of the offer of the target. See login.c.
 */
#ifndef RNBDC_LOGIN_H
#define RNBDC_LOGIN_H

#include <linux/list.h>
#include <linux/types.h>

#include "../core/proto_err.h"
#include "disk.h"
#include "session.h"

struct rnbd_frame;
struct rnbdc_errmsg;
struct rnbdc_queue;

/**
 * rnbdc_login_disk - get the disk whose export a login names
 * @sess: session
 *
 * Context: any; the disk of a connection that is being made, or stands, stays.
 * Return: the disk, or NULL if the session is that of a discovery.
 */
static inline struct rnbdc_disk *rnbdc_login_disk(struct rnbdc_session *sess)
{
	return list_first_entry_or_null(&sess->disks, struct rnbdc_disk, entry);
}

void rnbdc_handle_login_reply(struct rnbdc_queue *q, const struct rnbd_frame *frame,
			      enum rnbd_proto_err *perr);
enum rnbd_proto_err rnbdc_handle_resize(struct rnbdc_queue *q, const struct rnbd_frame *frame);
int rnbdc_login_to_export(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
int rnbdc_login(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
void rnbdc_accept_offer(struct rnbdc_session *sess, struct rnbdc_disk *disk);
bool rnbdc_restarted(const struct rnbdc_disk *disk);
int rnbdc_check_offer(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);

#endif /* RNBDC_LOGIN_H */
