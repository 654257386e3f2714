/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replacement of <linux/jump_label.h> for module files that are tested in user space. Fault
 * points are never enabled, so their keys need not be defined.
 */
#ifndef UNIT_JUMP_LABEL_H
#define UNIT_JUMP_LABEL_H

#include <stdbool.h>

struct static_key_false {
	bool enabled;
};

#define static_branch_unlikely(key)	((void)sizeof(key), false)

#endif /* UNIT_JUMP_LABEL_H */
