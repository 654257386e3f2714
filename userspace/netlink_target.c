// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to the target module, generic netlink family "rnbd-target".
 *
 * Operation: rnbd_session_list() dumps the sessions into an array of struct session. The
 * parsers also serve the events that rnbd monitor receives.
 *
 * Ownership: the caller frees the array in struct sessions.
 * Concurrency: one thread.
 * Errors: functions return a negative errno; rnbd_error() returns the error message.
 */
#include <errno.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/genl/genl.h>

#include <rnbd/netlink-target.h>

#include "netlink_target.h"
#include "util.h"

static struct nla_policy session_policy[RNBDT_ATTR_MAX + 1] = {
	[RNBDT_ATTR_SERIAL]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_HOST_ID]	 = { .minlen = UUID_SIZE },
	[RNBDT_ATTR_SESSION_ID]	 = { .minlen = UUID_SIZE },
	[RNBDT_ATTR_EXPORT]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_PORT]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_ADDR]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_STATE]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_OLD_STATE]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_REASON]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_EPOCH]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_QUEUES]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_DEPTH]	 = { .type = NLA_U32 },
	[RNBDT_ATTR_POOL_BYTES]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_SECONDS]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_REQUESTS]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_READ_BYTES]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_WRITE_BYTES] = { .type = NLA_U64 },
	[RNBDT_ATTR_CGROUP]	 = { .type = NLA_STRING },
	[RNBDT_ATTR_EFFECTIVE_CGROUP] = { .type = NLA_STRING },
	[RNBDT_ATTR_ATTACHMENTS] = { .type = NLA_U32 },
	[RNBDT_ATTR_POOL_SIZE]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_FLOOR]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_MAX]	 = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_GRANTS] = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_RELEASES] = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_RECLAIMS] = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_REGISTRATIONS] = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_REQUESTED] = { .type = NLA_U64 },
	[RNBDT_ATTR_POOL_SHARE]	 = { .type = NLA_U64 },
};

/**
 * rnbd_parse_host_event() - parse a message about a host of the target
 * @hdr: message of the family "rnbd-target"
 * @event: event to fill
 *
 * Return: 0, or -EPROTO if the message is malformed.
 */
int rnbd_parse_host_event(struct nlmsghdr *hdr, struct host_event *event)
{
	struct nlattr *tb[RNBDT_ATTR_MAX + 1];

	if (genlmsg_parse(hdr, 0, tb, RNBDT_ATTR_MAX, session_policy) ||
	    !tb[RNBDT_ATTR_HOST_ID])
		return -EPROTO;
	memset(event, 0, sizeof(*event));
	netlink_uuid(tb[RNBDT_ATTR_HOST_ID], event->host_id);
	netlink_string(tb[RNBDT_ATTR_CGROUP], event->cgroup, sizeof(event->cgroup));
	netlink_string(tb[RNBDT_ATTR_EFFECTIVE_CGROUP], event->effective_cgroup,
		       sizeof(event->effective_cgroup));
	return 0;
}

/**
 * rnbd_parse_session() - parse a message about a session of the target
 * @hdr: message of the family "rnbd-target"
 * @session: session to fill
 *
 * Return: 0, or -EPROTO if the message is malformed.
 */
int rnbd_parse_session(struct nlmsghdr *hdr, struct session *session)
{
	struct nlattr *tb[RNBDT_ATTR_MAX + 1];

	if (genlmsg_parse(hdr, 0, tb, RNBDT_ATTR_MAX, session_policy) ||
	    !tb[RNBDT_ATTR_SERIAL])
		return -EPROTO;
	memset(session, 0, sizeof(*session));

	session->serial = nla_get_u32(tb[RNBDT_ATTR_SERIAL]);
	netlink_uuid(tb[RNBDT_ATTR_HOST_ID], session->host_id);
	netlink_uuid(tb[RNBDT_ATTR_SESSION_ID], session->session_id);
	netlink_string(tb[RNBDT_ATTR_EXPORT], session->export, sizeof(session->export));
	netlink_string(tb[RNBDT_ATTR_PORT], session->port, sizeof(session->port));
	netlink_string(tb[RNBDT_ATTR_ADDR], session->address, sizeof(session->address));
	netlink_string(tb[RNBDT_ATTR_STATE], session->state, sizeof(session->state));
	netlink_string(tb[RNBDT_ATTR_OLD_STATE], session->old_state,
		       sizeof(session->old_state));
	netlink_string(tb[RNBDT_ATTR_REASON], session->reason, sizeof(session->reason));
	session->epoch = netlink_u32(tb[RNBDT_ATTR_EPOCH]);
	session->was_live = tb[RNBDT_ATTR_SECONDS];
	session->seconds = netlink_u64(tb[RNBDT_ATTR_SECONDS]);
	session->queues = netlink_u32(tb[RNBDT_ATTR_QUEUES]);
	session->depth = netlink_u32(tb[RNBDT_ATTR_DEPTH]);
	session->pool_bytes = netlink_u64(tb[RNBDT_ATTR_POOL_BYTES]);
	session->pool_size = netlink_u64(tb[RNBDT_ATTR_POOL_SIZE]);
	session->pool_floor = netlink_u64(tb[RNBDT_ATTR_POOL_FLOOR]);
	session->pool_max = netlink_u64(tb[RNBDT_ATTR_POOL_MAX]);
	session->pool_requested = netlink_u64(tb[RNBDT_ATTR_POOL_REQUESTED]);
	session->pool_share = netlink_u64(tb[RNBDT_ATTR_POOL_SHARE]);
	session->pool_grants = netlink_u64(tb[RNBDT_ATTR_POOL_GRANTS]);
	session->pool_releases = netlink_u64(tb[RNBDT_ATTR_POOL_RELEASES]);
	session->pool_reclaims = netlink_u64(tb[RNBDT_ATTR_POOL_RECLAIMS]);
	session->pool_registrations =
		netlink_u64(tb[RNBDT_ATTR_POOL_REGISTRATIONS]);
	session->attachments = netlink_u32(tb[RNBDT_ATTR_ATTACHMENTS]);
	session->requests = netlink_u64(tb[RNBDT_ATTR_REQUESTS]);
	session->read_bytes = netlink_u64(tb[RNBDT_ATTR_READ_BYTES]);
	session->write_bytes = netlink_u64(tb[RNBDT_ATTR_WRITE_BYTES]);
	return 0;
}

static int take_session(struct nlmsghdr *hdr, void *list)
{
	struct sessions *sessions = list;

	sessions->session = grow(sessions->session, sessions->nr, sizeof(*sessions->session));
	return rnbd_parse_session(hdr, &sessions->session[sessions->nr++]);
}

/**
 * rnbd_session_list() - list the sessions of this target
 * @sessions: list to fill; the caller frees sessions->session
 *
 * Return: 0 or a negative errno.
 */
int rnbd_session_list(struct sessions *sessions)
{
	return netlink_talk(netlink_request(RNBDT_CMD_GET_SESSION, NLM_F_DUMP), false,
			    take_session, sessions);
}
