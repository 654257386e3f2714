/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_APPLY_H
#define RNBD_APPLY_H

#include "config.h"

int config_read(struct config *config);
int config_compare(const struct config *want);
int config_apply(const struct config *want, const struct strlist *late);
int config_clear(void);

#endif /* RNBD_APPLY_H */
