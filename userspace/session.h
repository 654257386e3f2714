/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_SESSION_H
#define RNBD_SESSION_H

#include "netlink_target.h"
#include "output.h"

struct json_object *session_json(const struct session *session);

#endif /* RNBD_SESSION_H */
