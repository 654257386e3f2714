/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Login of a client: request, reply, and check of the limits that the target offers. See
 * login.c.
 */
#ifndef RNBDC_LOGIN_H
#define RNBDC_LOGIN_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdc_errmsg;
struct rnbdc_queue;
struct rnbdc_session;

enum rnbd_proto_err rnbdc_handle_login_reply(struct rnbdc_queue *q,
					     const struct rnbd_ctl_entry *entry);
bool rnbdc_login_open(const struct rnbdc_session *sess);
bool rnbdc_login_refused(const struct rnbdc_session *sess);
enum rnbd_proto_err rnbdc_handle_segment(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry);
void rnbdc_free_segments(struct rnbdc_session *sess);
int rnbdc_status_error(u16 status);
int rnbdc_login_to_target(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
int rnbdc_login(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
int rnbdc_check_offer(const struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);

#endif /* RNBDC_LOGIN_H */
