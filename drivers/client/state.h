/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of sessions and disks: transitions, reasons, errors and protocol errors. See
 * state.c.
 */
#ifndef RNBDC_STATE_H
#define RNBDC_STATE_H

#include <linux/mutex.h>
#include <linux/uuid.h>

#include "../core/proto_err.h"
#include "disk.h"

struct rnbdc_session;

extern u8 rnbdc_boot_id[UUID_SIZE];
extern struct list_head rnbdc_disks;
extern struct list_head rnbdc_disks_named;
extern struct mutex rnbdc_disks_lock;
const char *rnbdc_disk_name(const struct rnbdc_disk *disk);
void rnbdc_schedule_events(struct rnbdc_disk *disk);
bool rnbdc_disk_advance(struct rnbdc_disk *disk, enum rnbdc_state state);
void rnbdc_disk_set_error(struct rnbdc_disk *disk, const char *text);
void rnbdc_disk_last_error(struct rnbdc_disk *disk, char *text);
u32 rnbdc_next_try_ms(const struct rnbdc_disk *disk);
bool rnbdc_disk_live(struct rnbdc_disk *disk);
void rnbdc_disk_closed(struct rnbdc_disk *disk, const char *reason);
struct rnbdc_disk *rnbdc_next_disk(struct rnbdc_session *sess, struct rnbdc_disk *disk);
bool rnbdc_disk_ending(const struct rnbdc_disk *disk);
void rnbdc_session_set_error(struct rnbdc_session *sess, const char *text);
bool rnbdc_session_live(struct rnbdc_session *sess);
void rnbdc_session_close(struct rnbdc_session *sess);
bool rnbdc_session_end_unused(struct rnbdc_session *sess);
void rnbdc_session_fail(struct rnbdc_session *sess, const char *reason);
bool rnbdc_session_ending(struct rnbdc_session *sess);
extern atomic64_t rnbdc_proto_err_counts[RNBD_PERR_KINDS];
void rnbdc_count_proto_err(struct rnbdc_session *sess, enum rnbd_proto_err perr);

#endif /* RNBDC_STATE_H */
