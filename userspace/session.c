// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions of the client and of the target on this machine, and their JSON objects.
 *
 * Operation: each disk in the list of disks names its session, so client_sessions() derives
 * the sessions of the client from this list. rnbd session list and rnbd monitor print a session
 * of the target with the same JSON keys. The keys must not change.
 * Ownership: the caller owns JSON objects, and frees the sessions of the client.
 * Concurrency: one thread.
 * Errors: none.
 */
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "session.h"

/**
 * client_sessions() - collect the sessions of the client from the list of disks
 * @disks: all disks, sorted
 * @sessions: sessions to fill, sorted by session number
 *
 * @sessions refers to @disks and is valid as long as @disks is.
 */
void client_sessions(const struct disks *disks, struct client_sessions *sessions)
{
	size_t i, j;

	*sessions = (struct client_sessions) { };
	for (i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->disk[i];
		struct client_session *session;

		/* Search from the end: later disks in the list usually have later sessions. */
		for (j = sessions->nr; j; j--)
			if (sessions->session[j - 1].disk->session < disk->session)
				break;
		if (j == sessions->nr || sessions->session[j].disk->session != disk->session) {
			sessions->session = grow(sessions->session, sessions->nr,
						 sizeof(*sessions->session));
			memmove(&sessions->session[j + 1], &sessions->session[j],
				(sessions->nr - j) * sizeof(*sessions->session));
			sessions->session[j] = (struct client_session) { .disk = disk };
			sessions->nr++;
		}
		session = &sessions->session[j];
		strlist_add(&session->disks, disk->disk);
	}
}

void client_sessions_free(struct client_sessions *sessions)
{
	size_t i;

	for (i = 0; i < sessions->nr; i++)
		strlist_free(&sessions->session[i].disks);
	free(sessions->session);
}

/**
 * client_session_json() - make a JSON object of a session of the client
 * @session: session
 */
struct json_object *client_session_json(const struct client_session *session)
{
	struct json_object *obj = json_object_new_object();
	const struct disk *disk = session->disk;

	json_add_string(obj, "role", "client");
	json_add_u64(obj, "session", disk->session);
	json_add_uuid(obj, "host_id", disk->host_id);
	json_add_uuid(obj, "session_id", disk->session_id);
	json_add_string(obj, "address", disk->address);
	json_add_u64(obj, "port", disk->port);
	json_add_string(obj, "state", disk->session_state);
	json_add_u64(obj, "epoch", disk->epoch);
	json_add_u64(obj, "reconnects", disk->reconnects);
	json_add_bool(obj, "authenticated", disk->authenticated);
	json_add_u64(obj, "queues", option_number(&disk->granted, "queues"));
	json_add_u64(obj, "depth", option_number(&disk->granted, "depth"));
	json_add_u64(obj, "pool_bytes", option_number(&disk->granted, "pool_bytes"));
	json_add_u64(obj, "pool_size_bytes", disk->pool_size);
	json_add_u64(obj, "pool_floor_bytes", option_number(&disk->granted, "pool_floor_bytes"));
	json_add_u64(obj, "pool_used_bytes", disk->pool_used);
	json_add_u64(obj, "pool_requested_bytes", disk->pool_requested);
	json_add_u64(obj, "pool_disk_share_bytes", disk->pool_disk_share);
	json_add_u64(obj, "pool_grants", disk->pool_grants);
	json_add_u64(obj, "pool_releases", disk->pool_releases);
	json_add_u64(obj, "pool_reclaims", disk->pool_reclaims);
	json_add_strings(obj, "disks", &session->disks);
	return obj;
}

/**
 * session_json() - make a JSON object of a session of the target
 * @session: session
 */
struct json_object *session_json(const struct session *session)
{
	struct json_object *obj = json_object_new_object();

	json_add_string(obj, "role", "target");
	json_add_u64(obj, "session", session->serial);
	json_add_uuid(obj, "host_id", session->host_id);
	json_add_uuid(obj, "session_id", session->session_id);
	json_add_string(obj, "export", session->export);
	json_add_u64(obj, "attachments", session->attachments);
	json_add_string(obj, "port", session->port);
	json_add_string(obj, "address", session->address);
	json_add_string(obj, "state", session->state);
	json_add_string(obj, "reason", session->reason);
	json_add_u64(obj, "epoch", session->epoch);
	json_add_u64(obj, "live_seconds", session->seconds);
	json_add_u64(obj, "queues", session->queues);
	json_add_u64(obj, "depth", session->depth);
	json_add_u64(obj, "pool_bytes", session->pool_bytes);
	json_add_u64(obj, "pool_size_bytes", session->pool_size);
	json_add_u64(obj, "pool_floor_bytes", session->pool_floor);
	json_add_u64(obj, "pool_max_bytes", session->pool_max);
	json_add_u64(obj, "pool_requested_bytes", session->pool_requested);
	json_add_u64(obj, "pool_share_bytes", session->pool_share);
	json_add_u64(obj, "pool_grants", session->pool_grants);
	json_add_u64(obj, "pool_releases", session->pool_releases);
	json_add_u64(obj, "pool_reclaims", session->pool_reclaims);
	json_add_u64(obj, "pool_registrations", session->pool_registrations);
	json_add_u64(obj, "requests", session->requests);
	json_add_u64(obj, "read_bytes", session->read_bytes);
	json_add_u64(obj, "write_bytes", session->write_bytes);
	return obj;
}
