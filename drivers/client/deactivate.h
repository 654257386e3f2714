/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deactivation of a disk by the administrator. See deactivate.c.
 */
#ifndef RNBDC_DEACTIVATE_H
#define RNBDC_DEACTIVATE_H

struct rnbdc_disk;

void rnbdc_recover_deactivate(struct rnbdc_disk *disk);

#endif /* RNBDC_DEACTIVATE_H */
