// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of the states of disks and sessions.
 */

#include "names.h"

static const char * const rnbdc_state_names[] = {
	[RNBDC_CONNECTING]	= "connecting",
	[RNBDC_LIVE]		= "live",
	[RNBDC_RECONNECTING]	= "reconnecting",
	[RNBDC_FAILED]		= "failed",
	[RNBDC_CLOSING]		= "closing",
};

/**
 * rnbdc_state_text - get the name of a state of a disk, as sysfs and netlink show it
 * @state: state
 *
 * Context: any.
 * Return: constant text.
 */
const char *rnbdc_state_text(enum rnbdc_state state)
{
	return rnbdc_state_names[state];
}

static const char * const rnbdc_session_state_names[] = {
	[RNBDC_SESS_NEW]	= "connecting",
	[RNBDC_SESS_LIVE]	= "live",
	[RNBDC_SESS_LOST]	= "reconnecting",
	[RNBDC_SESS_CLOSED]	= "closing",
};

/**
 * rnbdc_session_state_text - get the name of a state of a session, as netlink shows it
 * @state: state
 *
 * Context: any.
 * Return: constant text.
 */
const char *rnbdc_session_state_text(enum rnbdc_session_state state)
{
	return rnbdc_session_state_names[state];
}
