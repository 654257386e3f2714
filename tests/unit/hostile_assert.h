/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assertions of cmocka for tests/lib/hostile. Unit tests do not protect the bytes of a message
 * against later reads, so hostile_forbid() does nothing.
 */
#ifndef RNBD_HOSTILE_ASSERT_H
#define RNBD_HOSTILE_ASSERT_H

#include "unit.h"

#define hostile_original(at)		(at)
#define hostile_forbid(at, bytes)	((void)(at), (void)(bytes))

#endif /* RNBD_HOSTILE_ASSERT_H */
