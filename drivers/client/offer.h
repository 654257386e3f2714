/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Offer of a target: comparison of the offered export with the disk. See offer.c.
 */
#ifndef RNBDC_OFFER_H
#define RNBDC_OFFER_H

#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_errmsg;

bool rnbdc_restarted(const struct rnbdc_disk *disk);
int rnbdc_check_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
void rnbdc_accept_attach(struct rnbdc_disk *disk);

#endif /* RNBDC_OFFER_H */
