// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of the states of a session.
 */

#include "names.h"
#include "session.h"

static const char * const rnbdc_state_names[] = {
	[RNBDC_CONNECTING]	= "connecting",
	[RNBDC_LIVE]		= "live",
	[RNBDC_RECONNECTING]	= "reconnecting",
	[RNBDC_FAILED]		= "failed",
	[RNBDC_CLOSING]		= "closing",
};

/**
 * rnbdc_state_text - get the name of a state, as sysfs and netlink show it
 * @state: state
 *
 * Context: any.
 * Return: constant text.
 */
const char *rnbdc_state_text(enum rnbdc_state state)
{
	return rnbdc_state_names[state];
}
