/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the session of a disk. See session_get.c.
 */
#ifndef RNBDC_SESSION_GET_H
#define RNBDC_SESSION_GET_H

#include <linux/types.h>

struct rnbdc_errmsg;
struct rnbdc_options;
struct rnbdc_session;

struct rnbdc_session *rnbdc_session_alloc(const struct rnbdc_options *opt,
					  struct rnbdc_errmsg *errmsg);
struct rnbdc_session *rnbdc_session_get(const struct rnbdc_options *opt, bool *created,
					struct rnbdc_errmsg *errmsg);
void rnbdc_session_leave(struct rnbdc_session *sess, bool created);

#endif /* RNBDC_SESSION_GET_H */
