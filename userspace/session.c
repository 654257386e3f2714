// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session of the target as a JSON object with stable keys.
 *
 * Operation: rnbd session list and rnbd monitor print the same keys.
 * Ownership: the caller owns the object.
 * Concurrency: no shared state. Errors: none.
 */
#include "session.h"

/**
 * session_json() - a session as a JSON object
 * @session: session
 */
struct json_object *session_json(const struct session *session)
{
	struct json_object *obj = json_object_new_object();

	json_add_u64(obj, "session", session->serial);
	json_add_uuid(obj, "host_id", session->host_id);
	json_add_uuid(obj, "session_id", session->session_id);
	json_add_string(obj, "export", session->export);
	json_add_string(obj, "port", session->port);
	json_add_string(obj, "address", session->address);
	json_add_string(obj, "state", session->state);
	json_add_string(obj, "reason", session->reason);
	json_add_u64(obj, "epoch", session->epoch);
	json_add_u64(obj, "seconds", session->seconds);
	json_add_u64(obj, "queues", session->queues);
	json_add_u64(obj, "depth", session->depth);
	json_add_u64(obj, "pool_bytes", session->pool_bytes);
	json_add_u64(obj, "requests", session->requests);
	json_add_u64(obj, "read_bytes", session->read_bytes);
	json_add_u64(obj, "write_bytes", session->write_bytes);
	return obj;
}
