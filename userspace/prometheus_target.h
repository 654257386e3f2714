/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_PROMETHEUS_TARGET_H
#define RNBD_PROMETHEUS_TARGET_H

#include <stdio.h>

#include "target_stat.h"

void prometheus_target_print(FILE *out, const struct target_stats *stats);

#endif /* RNBD_PROMETHEUS_TARGET_H */
