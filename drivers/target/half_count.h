/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of half-open connections. See half_count.c.
 */
#ifndef RNBDT_HALF_COUNT_H
#define RNBDT_HALF_COUNT_H

#include "session.h"

extern struct rnbdt_half_sum rnbdt_half_sums[RNBDT_PEER_CLASSES];
void rnbdt_half_count_open(struct rnbdt_half_open *half);
void rnbdt_half_count_closing(struct rnbdt_half_open *half);
void rnbdt_half_count_end(struct rnbdt_half_open *half);

#endif /* RNBDT_HALF_COUNT_H */
