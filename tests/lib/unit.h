/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the unit tests.
 */
#ifndef RNBD_UNIT_H
#define RNBD_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"

#endif /* RNBD_UNIT_H */
