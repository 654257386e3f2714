// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of the states of a session, as userspace sees them.
 */

#include "names.h"
#include "session.h"

static const char * const rnbdt_state_names[] = {
	[RNBDT_CONNECTING]	= "connecting",
	[RNBDT_AUTHENTICATING]	= "authenticating",
	[RNBDT_LOGIN]		= "login",
	[RNBDT_REFUSED]		= "refused",
	[RNBDT_LISTING]		= "listing",
	[RNBDT_LIVE]		= "live",
	[RNBDT_CLOSING]		= "closing",
	[RNBDT_DEAD]		= "dead",
};

/**
 * rnbdt_state_text - return the name of a state
 * @state: state of a session
 *
 * Context: any.
 * Return: constant name, as netlink, sysfs and tracepoints show it.
 */
const char *rnbdt_state_text(enum rnbdt_state state)
{
	return rnbdt_state_names[state];
}
