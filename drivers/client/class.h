/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /sys/class/rnbd/rnbdX: the parent device of a disk. See class.c.
 */
#ifndef RNBDC_CLASS_H
#define RNBDC_CLASS_H

#include "disk.h"
#include "session.h"

int rnbdc_class_add(struct rnbdc_disk *disk);
void rnbdc_class_event(struct rnbdc_disk *disk, enum rnbdc_state state);
void rnbdc_class_remove(struct rnbdc_disk *disk);
int rnbdc_class_init(void);
void rnbdc_class_exit(void);

#endif /* RNBDC_CLASS_H */
