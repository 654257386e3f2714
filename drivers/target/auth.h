/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Authentication: secrets of hosts, challenges and proofs. See auth.c.
 */
#ifndef RNBDT_AUTH_H
#define RNBDT_AUTH_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdt_secret;
struct rnbdt_session;

struct rnbdt_secret *rnbdt_secret_alloc(const u8 *bytes);
struct rnbdt_secret *rnbdt_secret_get(struct rnbdt_secret *secret);
void rnbdt_secret_put(struct rnbdt_secret *secret);
bool rnbdt_secret_same(const struct rnbdt_secret *a, const struct rnbdt_secret *b);
int rnbdt_auth_challenge(struct rnbdt_session *s);
enum rnbd_proto_err rnbdt_auth_handle_proof(struct rnbdt_session *s,
					    const struct rnbd_ctl_entry *entry);
bool rnbdt_auth_stale_secret(const struct rnbdt_session *s);
u16 rnbdt_auth_check(struct rnbdt_session *s);
int rnbdt_auth_send_proof(struct rnbdt_session *s);
u16 rnbdt_auth_make_key(struct rnbdt_session *s, u8 *join_key);
void rnbdt_auth_free(struct rnbdt_session *s);

#endif /* RNBDT_AUTH_H */
