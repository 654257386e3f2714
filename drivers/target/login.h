/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Login: authentication, negotiation and the reply. See login.c.
 */
#ifndef RNBDT_LOGIN_H
#define RNBDT_LOGIN_H

#include <linux/workqueue.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdt_session;

void rnbdt_session_login_work(struct work_struct *work);
void rnbdt_login_continue_list(struct rnbdt_session *s);
enum rnbd_proto_err rnbdt_session_handle_login(struct rnbdt_session *s,
					       const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbdt_session_handle_proof(struct rnbdt_session *s,
					       const struct rnbd_ctl_entry *entry);

#endif /* RNBDT_LOGIN_H */
