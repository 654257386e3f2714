/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of a session: transitions, reasons, errors and protocol errors. See state.c.
 */
#ifndef RNBDC_STATE_H
#define RNBDC_STATE_H

#include <linux/mutex.h>
#include <linux/uuid.h>

#include "../core/proto_err.h"
#include "session.h"

extern u8 rnbdc_boot_id[UUID_SIZE];
extern struct list_head rnbdc_disks;
extern struct list_head rnbdc_disks_named;
extern struct mutex rnbdc_disks_lock;
const char *rnbdc_session_name(const struct rnbdc_session *sess);
void rnbdc_schedule_events(struct rnbdc_session *sess);
void rnbdc_session_set_error(struct rnbdc_session *sess, const char *text);
void rnbdc_session_last_error(struct rnbdc_session *sess, char *text);
bool rnbdc_session_advance(struct rnbdc_session *sess, enum rnbdc_state state);
void rnbdc_session_fail(struct rnbdc_session *sess, const char *reason);
bool rnbdc_session_ending(const struct rnbdc_session *sess);
extern atomic64_t rnbdc_proto_err_counts[RNBD_PERR_KINDS];
void rnbdc_count_proto_err(struct rnbdc_session *sess, enum rnbd_proto_err perr);

#endif /* RNBDC_STATE_H */
