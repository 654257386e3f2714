/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replacement of <linux/minmax.h> for module files that are tested in user space.
 */
#ifndef UNIT_LINUX_MINMAX_H
#define UNIT_LINUX_MINMAX_H

#include "portable.h"

#define min3(a, b, c)	min(min(a, b), c)

#endif /* UNIT_LINUX_MINMAX_H */
