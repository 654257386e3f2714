/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_PROMETHEUS_H
#define RNBD_PROMETHEUS_H

#include <stdbool.h>
#include <stdio.h>

#include "sample.h"

void prometheus_print(FILE *out, const struct samples *samples, bool loaded);

#endif /* RNBD_PROMETHEUS_H */
