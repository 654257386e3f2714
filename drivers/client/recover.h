/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recovery: replacement of a lost connection. See recover.c.
 */
#ifndef RNBDC_RECOVER_H
#define RNBDC_RECOVER_H

struct rnbdc_disk;
struct rnbdc_errmsg;
struct rnbdc_session;

int rnbdc_recover_start(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
void rnbdc_recover_init(struct rnbdc_session *sess);
void rnbdc_recover_init_disk(struct rnbdc_disk *disk);
int rnbdc_recover_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
void rnbdc_recover_abort(struct rnbdc_disk *disk);
void rnbdc_disk_failed(struct rnbdc_disk *disk);
void rnbdc_recover_end(struct rnbdc_session *sess);

#endif /* RNBDC_RECOVER_H */
