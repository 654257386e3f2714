/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the states of a session. See names.c.
 */
#ifndef RNBDC_NAMES_H
#define RNBDC_NAMES_H

#include "disk.h"

const char *rnbdc_state_text(enum rnbdc_state state);

#endif /* RNBDC_NAMES_H */
