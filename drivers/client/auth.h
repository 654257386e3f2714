/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Authentication: this host and the target prove that they know the secret. See auth.c.
 */
#ifndef RNBDC_AUTH_H
#define RNBDC_AUTH_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbd_grant;
struct rnbdc_errmsg;
struct rnbdc_queue;
struct rnbdc_session;

int rnbdc_auth_set_secret(struct rnbdc_session *sess, const u8 *secret,
			  struct rnbdc_errmsg *errmsg);
void rnbdc_auth_login(struct rnbdc_session *sess);
enum rnbd_proto_err rnbdc_auth_handle_challenge(struct rnbdc_queue *q,
						const struct rnbd_ctl_entry *entry);
int rnbdc_auth_make_proof(struct rnbdc_session *sess, u8 *mac);
enum rnbd_proto_err rnbdc_auth_handle_proof(struct rnbdc_queue *q,
					    const struct rnbd_ctl_entry *entry);
bool rnbdc_auth_accepts_reply(struct rnbdc_queue *q, u16 status, enum rnbd_proto_err *perr);
int rnbdc_auth_make_key(struct rnbdc_session *sess);
enum rnbd_proto_err rnbdc_auth_accepts_grant(const struct rnbdc_session *sess,
					     const struct rnbd_grant *grant);

#endif /* RNBDC_AUTH_H */
