/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk during the loss of its attachment. See disk_recover.c.
 */
#ifndef RNBDC_DISK_RECOVER_H
#define RNBDC_DISK_RECOVER_H

#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_session;

void rnbdc_disk_recover_init(struct rnbdc_disk *disk);
void rnbdc_disk_recover_end(struct rnbdc_disk *disk);
void rnbdc_disk_suspend(struct rnbdc_disk *disk);
void rnbdc_disks_suspend(struct rnbdc_session *sess);
void rnbdc_disk_settle(struct rnbdc_disk *disk);
void rnbdc_disk_resume(struct rnbdc_disk *disk);
void rnbdc_disk_wait(struct rnbdc_disk *disk);
void rnbdc_disk_lost(struct rnbdc_disk *disk);
void rnbdc_disk_give_up(struct rnbdc_disk *disk);
unsigned long rnbdc_loss_timeout(const struct rnbdc_disk *disk);
unsigned long rnbdc_silent_since(struct rnbdc_disk *disk);
unsigned long rnbdc_loss_left(struct rnbdc_disk *disk);
void rnbdc_disk_check_time(struct rnbdc_disk *disk);
void rnbdc_apply_capacity(struct rnbdc_disk *disk);

#endif /* RNBDC_DISK_RECOVER_H */
