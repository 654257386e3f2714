/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_NETLINK_TARGET_H
#define RNBD_TOOL_NETLINK_TARGET_H

#include <rnbd/wire.h>

#include "netlink.h"

/**
 * struct session - session of the target as the kernel reports it
 * @serial: number of the session
 * @host_id: UUID of the host
 * @session_id: UUID of the client's session; stays the same when the client reconnects
 * @export: name of the first export that the session attached, "" before that
 * @port: name of the port in configfs
 * @address: numeric address of the client
 * @state: state of the session
 * @old_state: previous state; set in events only
 * @reason: reason why the session was refused or closed, otherwise ""
 * @epoch: number of the client's connection
 * @was_live: true if the session is live or was live before; if false, the members from
 *	@seconds to @pool_registrations are 0
 * @seconds: seconds since the session became live
 * @queues: number of queues granted
 * @depth: requests in flight granted per queue
 * @pool_bytes: bytes charged for the delegated pool: the larger of @pool_floor and @pool_size
 * @pool_size: bytes of the segments that the session holds
 * @pool_floor: bytes that the session may hold at any time
 * @pool_max: ceiling of @pool_size in bytes
 * @pool_requested: total pool size in bytes that the client last requested after the login, 0
 *	before the first request
 * @pool_share: bytes that the session may hold while memory is short
 * @pool_grants: number of segments granted after the login
 * @pool_releases: number of segments that the client has returned
 * @pool_reclaims: number of segments that the target has asked the client to return
 * @pool_registrations: number of memory regions registered, including those of the login
 * @attachments: number of exports that the session has attached
 * @requests: number of requests answered
 * @read_bytes: bytes read successfully
 * @write_bytes: bytes written successfully
 */
struct session {
	uint32_t serial;
	uint8_t host_id[UUID_SIZE];
	uint8_t session_id[UUID_SIZE];
	char export[RNBD_EXPORT_NAME_SIZE];
	char port[PORT_NAME_SIZE];
	char address[ADDR_SIZE];
	char state[STATE_SIZE];
	char old_state[STATE_SIZE];
	char reason[REASON_SIZE];
	uint32_t epoch;
	bool was_live;
	uint64_t seconds;
	uint32_t queues;
	uint32_t depth;
	uint64_t pool_bytes;
	uint64_t pool_size;
	uint64_t pool_floor;
	uint64_t pool_max;
	uint64_t pool_requested;
	uint64_t pool_share;
	uint64_t pool_grants;
	uint64_t pool_releases;
	uint64_t pool_reclaims;
	uint64_t pool_registrations;
	uint32_t attachments;
	uint64_t requests;
	uint64_t read_bytes;
	uint64_t write_bytes;
};

/**
 * struct sessions - growing array of sessions
 * @session: array
 * @nr: number of sessions
 */
struct sessions {
	struct session *session;
	size_t nr;
};

#define CGROUP_PATH_SIZE	4096

/**
 * struct host_event - event: the cgroup that applies to a host of the target has changed
 * @host_id: UUID of the host
 * @cgroup: path of the configured cgroup
 * @effective_cgroup: path of the cgroup that applies, "" if unknown
 */
struct host_event {
	uint8_t host_id[UUID_SIZE];
	char cgroup[CGROUP_PATH_SIZE];
	char effective_cgroup[CGROUP_PATH_SIZE];
};

int rnbd_session_list(struct sessions *sessions);
int rnbd_parse_session(struct nlmsghdr *hdr, struct session *session);
int rnbd_parse_host_event(struct nlmsghdr *hdr, struct host_event *event);

#endif /* RNBD_TOOL_NETLINK_TARGET_H */
