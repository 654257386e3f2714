/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_SESSION_H
#define RNBD_SESSION_H

#include "netlink_client.h"
#include "netlink_target.h"
#include "output.h"

/**
 * struct client_session - session of the client
 * @disk: one disk of the session; struct disk also has the attributes of its session
 * @disks: names of all disks of the session
 */
struct client_session {
	const struct disk *disk;
	struct strlist disks;
};

/**
 * struct client_sessions - growing array of sessions
 * @session: array
 * @nr: number of sessions
 */
struct client_sessions {
	struct client_session *session;
	size_t nr;
};

void client_sessions(const struct disks *disks, struct client_sessions *sessions);
void client_sessions_free(struct client_sessions *sessions);
struct json_object *client_session_json(const struct client_session *session);
struct json_object *session_json(const struct session *session);

#endif /* RNBD_SESSION_H */
