/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the states of a session. See names.c.
 */
#ifndef RNBDT_NAMES_H
#define RNBDT_NAMES_H

#include "session.h"

const char *rnbdt_state_text(enum rnbdt_state state);

#endif /* RNBDT_NAMES_H */
