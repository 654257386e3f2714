/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attach and detach of disks. See attach.c.
 */
#ifndef RNBDC_ATTACH_H
#define RNBDC_ATTACH_H

struct rnbdc_errmsg;
struct rnbdc_options;
struct rnbdc_session;

struct rnbdc_session *rnbdc_session_alloc(const struct rnbdc_options *opt,
					  struct rnbdc_errmsg *errmsg);
struct rnbdc_session *rnbdc_session_attach(const struct rnbdc_options *opt,
					   struct rnbdc_errmsg *errmsg);
int rnbdc_session_detach(struct rnbdc_session *sess, bool force, struct rnbdc_errmsg *errmsg);
struct rnbdc_session *rnbdc_session_find(const char *disk);
void rnbdc_sessions_detach_all(void);

#endif /* RNBDC_ATTACH_H */
