/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_APPLY_H
#define RNBD_TARGET_APPLY_H

#include "target_config.h"

int target_config_read(struct target_config *config);
int target_config_compare(const struct target_config *want);
int target_config_apply(const struct target_config *want, const struct strlist *late);
int target_config_clear(void);

#endif /* RNBD_TARGET_APPLY_H */
