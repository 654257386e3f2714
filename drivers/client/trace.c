// SPDX-License-Identifier: GPL-2.0-only
/*
 * Definitions of the tracepoints of the client.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
