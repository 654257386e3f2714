/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the states of disks and sessions. See names.c.
 */
#ifndef RNBDC_NAMES_H
#define RNBDC_NAMES_H

#include "disk.h"
#include "session.h"

const char *rnbdc_state_text(enum rnbdc_state state);
const char *rnbdc_session_state_text(enum rnbdc_session_state state);

#endif /* RNBDC_NAMES_H */
