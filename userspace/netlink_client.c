// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to the client module, generic netlink family "rnbd".
 *
 * Operation: the functions build requests from attributes, and parse replies and events about
 * disks into struct disk, and lists of exports into struct export.
 *
 * Ownership: the caller frees the arrays in struct disks and struct exports.
 * Concurrency: one thread.
 * Errors: functions return a negative errno; rnbd_error() returns the error message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "netlink_client.h"
#include "options_netlink.h"
#include "util.h"

#define DUMP_TRIES	10

static struct nla_policy disk_policy[RNBD_ATTR_MAX + 1] = {
	[RNBD_ATTR_DISK]	= { .type = NLA_STRING },
	[RNBD_ATTR_ADDR]	= { .type = NLA_STRING },
	[RNBD_ATTR_PORT]	= { .type = NLA_U16 },
	[RNBD_ATTR_EXPORT]	= { .type = NLA_STRING },
	[RNBD_ATTR_HOST_ID]	= { .minlen = UUID_SIZE },
	[RNBD_ATTR_SESSION_ID]	= { .minlen = UUID_SIZE },
	[RNBD_ATTR_EXPORT_ID]	= { .minlen = UUID_SIZE },
	[RNBD_ATTR_FLAGS]	= { .type = NLA_U32 },
	[RNBD_ATTR_AUTHENTICATED] = { .type = NLA_U32 },
	[RNBD_ATTR_STATE]	= { .type = NLA_STRING },
	[RNBD_ATTR_SIZE]	= { .type = NLA_U64 },
	[RNBD_ATTR_BLOCK_SIZE]	= { .type = NLA_U32 },
	[RNBD_ATTR_REASON]	= { .type = NLA_STRING },
	[RNBD_ATTR_EPOCH]	= { .type = NLA_U32 },
	[RNBD_ATTR_ATTEMPT]	= { .type = NLA_U32 },
	[RNBD_ATTR_NEXT_TRY_MS]	= { .type = NLA_U32 },
	[RNBD_ATTR_LAST_ERROR]	= { .type = NLA_STRING },
	[RNBD_ATTR_RECONNECTS]	= { .type = NLA_U64 },
	[RNBD_ATTR_OLD_STATE]	= { .type = NLA_STRING },
	[RNBD_ATTR_NAME]	= { .type = NLA_STRING },
	[RNBD_ATTR_REQUESTED]	= { .type = NLA_NESTED },
	[RNBD_ATTR_ATTACHED_MS]	= { .type = NLA_U64 },
	[RNBD_ATTR_STATE_MS]	= { .type = NLA_U64 },
	[RNBD_ATTR_EXPORTS]	= { .type = NLA_NESTED },
	[RNBD_ATTR_SESSION]	= { .type = NLA_U32 },
	[RNBD_ATTR_SESSION_STATE] = { .type = NLA_STRING },
	[RNBD_ATTR_POOL_USED]	= { .type = NLA_U64 },
	[RNBD_ATTR_POOL_SIZE]	= { .type = NLA_U64 },
	[RNBD_ATTR_POOL_GRANTS]	= { .type = NLA_U64 },
	[RNBD_ATTR_POOL_RELEASES] = { .type = NLA_U64 },
	[RNBD_ATTR_POOL_RECLAIMS] = { .type = NLA_U64 },
	[RNBD_ATTR_POOL_REQUESTED] = { .type = NLA_U64 },
	[RNBD_ATTR_POOL_DISK_SHARE] = { .type = NLA_U64 },
};

static int get_requested(struct nlattr *attr, struct options *requested)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];

	if (!attr)
		return 0;
	if (nla_parse_nested(tb, RNBD_ATTR_MAX, attr, disk_policy))
		return -EPROTO;
	return options_get(tb, requested);
}

/**
 * rnbd_parse_disk() - parse a message about a disk
 * @hdr: message of the family "rnbd"
 * @disk: disk to fill
 *
 * Return: 0, or -EPROTO if the message is malformed.
 */
int rnbd_parse_disk(struct nlmsghdr *hdr, struct disk *disk)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];

	if (genlmsg_parse(hdr, 0, tb, RNBD_ATTR_MAX, disk_policy) ||
	    !tb[RNBD_ATTR_DISK])
		return -EPROTO;
	memset(disk, 0, sizeof(*disk));

	netlink_string(tb[RNBD_ATTR_DISK], disk->disk, sizeof(disk->disk));
	netlink_string(tb[RNBD_ATTR_EXPORT], disk->export, sizeof(disk->export));
	netlink_string(tb[RNBD_ATTR_ADDR], disk->address, sizeof(disk->address));
	netlink_string(tb[RNBD_ATTR_STATE], disk->state, sizeof(disk->state));
	netlink_string(tb[RNBD_ATTR_OLD_STATE], disk->old_state,
		       sizeof(disk->old_state));
	netlink_string(tb[RNBD_ATTR_REASON], disk->reason, sizeof(disk->reason));
	netlink_string(tb[RNBD_ATTR_LAST_ERROR], disk->last_error,
		       sizeof(disk->last_error));
	disk->epoch = netlink_u32(tb[RNBD_ATTR_EPOCH]);
	disk->attempt = netlink_u32(tb[RNBD_ATTR_ATTEMPT]);
	disk->next_try_ms = netlink_u32(tb[RNBD_ATTR_NEXT_TRY_MS]);
	disk->reconnects = netlink_u64(tb[RNBD_ATTR_RECONNECTS]);
	if (tb[RNBD_ATTR_PORT])
		disk->port = nla_get_u16(tb[RNBD_ATTR_PORT]);
	disk->size = netlink_u64(tb[RNBD_ATTR_SIZE]);
	disk->block_size = netlink_u32(tb[RNBD_ATTR_BLOCK_SIZE]);
	disk->authenticated = netlink_u32(tb[RNBD_ATTR_AUTHENTICATED]);
	netlink_uuid(tb[RNBD_ATTR_HOST_ID], disk->host_id);
	netlink_uuid(tb[RNBD_ATTR_SESSION_ID], disk->session_id);
	netlink_uuid(tb[RNBD_ATTR_EXPORT_ID], disk->export_id);
	netlink_string(tb[RNBD_ATTR_NAME], disk->name, sizeof(disk->name));
	disk->session = netlink_u32(tb[RNBD_ATTR_SESSION]);
	netlink_string(tb[RNBD_ATTR_SESSION_STATE], disk->session_state,
		       sizeof(disk->session_state));
	disk->pool_used = netlink_u64(tb[RNBD_ATTR_POOL_USED]);
	disk->pool_size = netlink_u64(tb[RNBD_ATTR_POOL_SIZE]);
	disk->pool_requested = netlink_u64(tb[RNBD_ATTR_POOL_REQUESTED]);
	disk->pool_disk_share = netlink_u64(tb[RNBD_ATTR_POOL_DISK_SHARE]);
	disk->pool_grants = netlink_u64(tb[RNBD_ATTR_POOL_GRANTS]);
	disk->pool_releases = netlink_u64(tb[RNBD_ATTR_POOL_RELEASES]);
	disk->pool_reclaims = netlink_u64(tb[RNBD_ATTR_POOL_RECLAIMS]);
	disk->attached_ms = netlink_u64(tb[RNBD_ATTR_ATTACHED_MS]);
	disk->state_ms = netlink_u64(tb[RNBD_ATTR_STATE_MS]);
	if (options_get(tb, &disk->granted))
		return -EPROTO;
	return get_requested(tb[RNBD_ATTR_REQUESTED], &disk->requested);
}

static int take_disk(struct nlmsghdr *hdr, void *list)
{
	struct disks *disks = list;

	disks->disk = grow(disks->disk, disks->nr, sizeof(*disks->disk));
	return rnbd_parse_disk(hdr, &disks->disk[disks->nr++]);
}

static int take_export(struct nlattr *item, struct exports *exports)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];
	struct export *export;

	if (nla_parse_nested(tb, RNBD_ATTR_MAX, item, disk_policy) ||
	    !tb[RNBD_ATTR_EXPORT])
		return -EPROTO;
	exports->export = grow(exports->export, exports->nr, sizeof(*exports->export));
	export = &exports->export[exports->nr++];
	memset(export, 0, sizeof(*export));
	netlink_string(tb[RNBD_ATTR_EXPORT], export->name, sizeof(export->name));
	netlink_uuid(tb[RNBD_ATTR_EXPORT_ID], export->uuid);
	export->size = netlink_u64(tb[RNBD_ATTR_SIZE]);
	export->block_size = netlink_u32(tb[RNBD_ATTR_BLOCK_SIZE]);
	export->readonly = netlink_u32(tb[RNBD_ATTR_FLAGS]) & RNBD_FLAG_READONLY;
	return 0;
}

static int take_exports(struct nlmsghdr *hdr, void *list)
{
	struct nlattr *tb[RNBD_ATTR_MAX + 1];
	struct nlattr *item;
	int left;

	if (genlmsg_parse(hdr, 0, tb, RNBD_ATTR_MAX, disk_policy) ||
	    !tb[RNBD_ATTR_EXPORTS])
		return -EPROTO;
	nla_for_each_nested(item, tb[RNBD_ATTR_EXPORTS], left)
		if (nla_type(item) == RNBD_ATTR_EXPORT_ITEM &&
		    take_export(item, list))
			return -EPROTO;
	return 0;
}

/**
 * rnbd_attach() - attach an export
 * @attach: requested export and options
 * @disk: filled with the attached disk and its granted options
 *
 * Return: 0 or a negative errno.
 */
int rnbd_attach(const struct attach *attach, struct disk *disk)
{
	struct nl_msg *msg = netlink_request(RNBD_CMD_ATTACH, 0);
	struct disks disks = { };
	bool full;
	int ret;

	full = nla_put_string(msg, RNBD_ATTR_ADDR, attach->address) ||
	       nla_put_u16(msg, RNBD_ATTR_PORT, attach->port) ||
	       nla_put_string(msg, RNBD_ATTR_EXPORT, attach->export) ||
	       nla_put(msg, RNBD_ATTR_HOST_ID, UUID_SIZE, attach->host_id) ||
	       options_put(msg, &attach->options) ||
	       (attach->secret &&
		nla_put(msg, RNBD_ATTR_SECRET, RNBD_SECRET_SIZE, attach->secret));

	ret = netlink_talk(msg, full, take_disk, &disks);
	if (!ret && disks.nr != 1)
		ret = netlink_set_error(-EPROTO, "the reply names no disk; see: rnbd list");
	if (!ret)
		*disk = disks.disk[0];
	free(disks.disk);
	return ret;
}

/**
 * rnbd_detach() - detach a disk
 * @name: name of the disk
 * @force: detach the disk even if it is open
 *
 * Return: 0 or a negative errno.
 */
int rnbd_detach(const char *name, bool force)
{
	struct nl_msg *msg = netlink_request(RNBD_CMD_DETACH, 0);
	bool full;

	full = nla_put_string(msg, RNBD_ATTR_DISK, name) ||
	       (force && nla_put_u32(msg, RNBD_ATTR_FLAGS, RNBD_FLAG_FORCE));
	return netlink_talk(msg, full, NULL, NULL);
}

/**
 * rnbd_set_secret() - replace the secret of the session of a disk
 * @name: name of the disk
 * @secret: new secret, RNBD_SECRET_SIZE bytes
 *
 * All disks of the session use the new secret from the next login on.
 *
 * Return: 0 or a negative errno.
 */
int rnbd_set_secret(const char *name, const uint8_t *secret)
{
	struct nl_msg *msg = netlink_request(RNBD_CMD_SET_SECRET, 0);
	bool full;

	full = nla_put_string(msg, RNBD_ATTR_DISK, name) ||
	       nla_put(msg, RNBD_ATTR_SECRET, RNBD_SECRET_SIZE, secret);
	return netlink_talk(msg, full, NULL, NULL);
}

/**
 * rnbd_list() - list the attached disks
 * @name: name of one disk, or NULL for all disks
 * @disks: list to fill; the caller frees disks->disk
 *
 * Return: 0 or a negative errno.
 */
int rnbd_list(const char *name, struct disks *disks)
{
	int tries;
	int ret;

	if (name) {
		struct nl_msg *msg = netlink_request(RNBD_CMD_LIST, 0);

		return netlink_talk(msg, nla_put_string(msg, RNBD_ATTR_DISK, name),
				    take_disk, disks);
	}

	/* Repeat the dump if a disk was attached or detached during it. */
	for (tries = 0; tries < DUMP_TRIES; tries++) {
		disks->nr = 0;
		ret = netlink_talk(netlink_request(RNBD_CMD_LIST, NLM_F_DUMP), false,
				   take_disk, disks);
		if (ret != -EAGAIN)
			break;
	}
	return ret;
}

/**
 * rnbd_discover() - list the exports of a target that a host may attach
 * @address: numeric address of the target
 * @port: port of the target
 * @host_id: UUID of the host
 * @secret: secret of the host, RNBD_SECRET_SIZE bytes, or NULL
 * @exports: list to fill; the caller frees exports->export
 *
 * Return: 0 or a negative errno.
 */
int rnbd_discover(const char *address, uint16_t port, const uint8_t host_id[UUID_SIZE],
		  const uint8_t *secret, struct exports *exports)
{
	struct nl_msg *msg = netlink_request(RNBD_CMD_DISCOVER, 0);
	bool full;
	int ret;

	full = nla_put_string(msg, RNBD_ATTR_ADDR, address) ||
	       nla_put_u16(msg, RNBD_ATTR_PORT, port) ||
	       nla_put(msg, RNBD_ATTR_HOST_ID, UUID_SIZE, host_id) ||
	       (secret && nla_put(msg, RNBD_ATTR_SECRET, RNBD_SECRET_SIZE, secret));
	ret = netlink_talk(msg, full, NULL, NULL);
	if (ret)
		return ret;
	/* The module has now got the list from the target and stored it for this socket. */
	return netlink_talk(netlink_request(RNBD_CMD_DISCOVER, NLM_F_DUMP), false,
			    take_exports, exports);
}
