/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_NETLINK_TARGET_H
#define RNBD_TOOL_NETLINK_TARGET_H

#include <rnbd/wire.h>

#include "netlink.h"

/**
 * struct session - what the kernel says about a session of the target
 * @serial: its number
 * @host_id: the client machine
 * @session_id: the attachment, the same when the client connects again
 * @export: name of the export, "" before the login
 * @port: name of the port in configfs
 * @address: of the client, numeric
 * @state: of the session
 * @old_state: the one before, if this is an event
 * @reason: why it was refused or closed, otherwise ""
 * @epoch: number of the client's connection
 * @was_live: it has been live; if not, the members up to @pool_registrations are 0
 * @seconds: since it became live
 * @queues: granted
 * @depth: granted, per queue
 * @pool_bytes: charged for the delegated pool: @pool_floor, or @pool_held if that is more
 * @pool_held: bytes of the segments that it holds
 * @pool_floor: bytes that it may hold at any time
 * @pool_max: bytes that it may hold at most
 * @pool_wanted: bytes that the client has requested in all, 0 if it has not
 * @pool_share: bytes that it may hold while memory is short
 * @pool_grants: segments granted after the login
 * @pool_releases: segments that the client has returned
 * @pool_reclaims: segments that the target has asked for
 * @pool_registrations: memory regions registered, those of the login included
 * @attachments: exports that it has attached
 * @requests: answered
 * @read_bytes: read with success
 * @write_bytes: written with success
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
	uint64_t pool_held;
	uint64_t pool_floor;
	uint64_t pool_max;
	uint64_t pool_wanted;
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
 * struct sessions - sessions that grow in number
 * @session: the sessions
 * @nr: how many
 */
struct sessions {
	struct session *session;
	size_t nr;
};

#define CGROUP_PATH_SIZE	4096

/**
 * struct host_event - another cgroup applies to a host of the target
 * @host_id: the client machine
 * @cgroup: path of the configured cgroup
 * @effective_cgroup: path of the one that applies, "" if it is not known
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
