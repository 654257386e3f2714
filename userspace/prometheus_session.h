/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_PROMETHEUS_SESSION_H
#define RNBD_PROMETHEUS_SESSION_H

#include <stdio.h>

#include "session.h"

void prometheus_client_sessions(FILE *out, const struct client_sessions *sessions);
void prometheus_target_sessions(FILE *out, const struct sessions *sessions);

#endif /* RNBD_PROMETHEUS_SESSION_H */
