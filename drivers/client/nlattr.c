// SPDX-License-Identifier: GPL-2.0-only
/*
 * Netlink attributes that describe a disk, its session, or an export.
 *
 * Operation: The answers of netlink.c and the events of events.c contain these
 * attributes. Documentation/netlink/rnbd.yaml describes them.
 *
 * Concurrency: The caller prevents the removal of the disk. The error message is read
 * under the lock of the session, all other members that change are read without a lock.
 *
 * Errors: The functions return -EMSGSIZE if the message is too small. After an error of
 * rnbdc_put_disk() the caller must drop the message; rnbdc_put_export() undoes its changes.
 */

#include <linux/blkdev.h>
#include <linux/math64.h>
#include <linux/socket.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include <net/genetlink.h>

#include <rnbd/netlink.h>

#include "../core/discover.h"
#include "disk.h"
#include "errmsg.h"
#include "names.h"
#include "nlattr.h"
#include "option_table.h"
#include "queue.h"
#include "session.h"
#include "share.h"
#include "state.h"

static u16 rnbdc_session_port(const struct rnbdc_session *sess)
{
	return be16_to_cpu(((const struct sockaddr_in *)&sess->opt.dst)->sin_port);
}

/* Add the progress of recovery, unless the disk is live or the first connection is being made. */
static int rnbdc_put_recovery(struct sk_buff *msg, struct rnbdc_disk *disk,
			      const struct rnbdc_change *change)
{
	enum rnbdc_state state = change->to;
	char error[RNBDC_ERRMSG_SIZE];

	if (state == RNBDC_LIVE || state == RNBDC_CONNECTING)
		return 0;
	rnbdc_disk_last_error(disk, error);
	if ((change->reason && nla_put_string(msg, RNBD_ATTR_REASON, change->reason)) ||
	    (error[0] && nla_put_string(msg, RNBD_ATTR_LAST_ERROR, error)) ||
	    nla_put_u32(msg, RNBD_ATTR_ATTEMPT, change->attempt))
		return -EMSGSIZE;
	if (state == RNBDC_RECONNECTING &&
	    nla_put_u32(msg, RNBD_ATTR_NEXT_TRY_MS, rnbdc_next_try_ms(disk)))
		return -EMSGSIZE;
	return 0;
}

/*
 * Add host id and session id. If the host has no secret, a program that knows both ids can
 * impersonate this session.
 */
static int rnbdc_put_ids(struct sk_buff *msg, const struct rnbdc_session *sess)
{
	if (nla_put(msg, RNBD_ATTR_HOST_ID, UUID_SIZE, sess->opt.host_id) ||
	    nla_put(msg, RNBD_ATTR_SESSION_ID, UUID_SIZE, sess->id))
		return -EMSGSIZE;
	return 0;
}

static int rnbdc_put_value(struct sk_buff *msg, const struct rnbdc_option *row, u64 value)
{
	if (row->type == RNBDC_OPTION_U64)
		return nla_put_u64_64bit(msg, row->attr, value, RNBD_ATTR_PAD);
	return nla_put_u32(msg, row->attr, value);
}

/*
 * Add the values of the options whose rows have the bit @report: the granted values for
 * RNBDC_REPORT_GRANTED, the requested values for RNBDC_REPORT_REQUESTED.
 */
static int rnbdc_put_options(struct sk_buff *msg, const struct rnbdc_disk *disk, u32 report)
{
	const struct rnbdc_option *row;
	u32 flags = 0;
	u64 value;

	for (row = rnbdc_option_table; row->name; row++) {
		if (!(row->report & report))
			continue;
		if (row->type == RNBDC_OPTION_TEXT) {
			const char *text = rnbdc_option_text(row, disk);

			if (text[0] && nla_put_string(msg, row->attr, text))
				return -EMSGSIZE;
			continue;
		}
		value = report == RNBDC_REPORT_GRANTED ? rnbdc_option_granted(row, disk) :
							 rnbdc_option_requested(row, disk);
		if (row->type == RNBDC_OPTION_FLAG)
			flags |= value ? row->flag : 0;
		else if (rnbdc_put_value(msg, row, value))
			return -EMSGSIZE;
	}
	return nla_put_u32(msg, RNBD_ATTR_FLAGS, flags);
}

/* Add the requested options; "rnbd attach --idempotent" compares its options with them. */
static int rnbdc_put_requested(struct sk_buff *msg, const struct rnbdc_disk *disk)
{
	struct nlattr *nest = nla_nest_start(msg, RNBD_ATTR_REQUESTED);

	if (!nest || rnbdc_put_options(msg, disk, RNBDC_REPORT_REQUESTED))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

static u64 rnbdc_ms_since(u64 ns)
{
	return div_u64(ktime_get_ns() - ns, NSEC_PER_MSEC);
}

/* Add the sizes of the pool of a session, and its counters of granted and returned segments. */
static int rnbdc_put_pool(struct sk_buff *msg, const struct rnbdc_session *sess)
{
	const struct rnbdc_lease *lease = &sess->lease;

	if (nla_put_u64_64bit(msg, RNBD_ATTR_POOL_SIZE,
			      (u64)READ_ONCE(lease->held) << RNBD_UNIT_SHIFT, RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_GRANTS, READ_ONCE(lease->grants),
			      RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_RELEASES, READ_ONCE(lease->releases),
			      RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_RECLAIMS, READ_ONCE(lease->reclaims),
			      RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_REQUESTED,
			      (u64)READ_ONCE(lease->want) << RNBD_UNIT_SHIFT, RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_DISK_SHARE,
			      (u64)rnbdc_disk_share(sess) << RNBD_UNIT_SHIFT, RNBD_ATTR_PAD))
		return -EMSGSIZE;
	return 0;
}

/* Add the attributes of a session that every user may see. */
static int rnbdc_put_session(struct sk_buff *msg, const struct rnbdc_session *sess)
{
	u64 units = 0;
	u32 i;

	for (i = 0; i < sess->nr_queues; i++)
		units += READ_ONCE(sess->queues[i]->cache.pool.used);
	if (nla_put_u32(msg, RNBD_ATTR_SESSION, sess->serial) ||
	    nla_put_string(msg, RNBD_ATTR_SESSION_STATE,
			   rnbdc_session_state_text(READ_ONCE(sess->state))) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_USED, units << RNBD_UNIT_SHIFT,
			      RNBD_ATTR_PAD) ||
	    rnbdc_put_pool(msg, sess) ||
	    nla_put_u32(msg, RNBD_ATTR_AUTHENTICATED, READ_ONCE(sess->auth.authenticated)) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_RECONNECTS,
			      READ_ONCE(sess->stats.reconnects), RNBD_ATTR_PAD))
		return -EMSGSIZE;
	return 0;
}

/**
 * rnbdc_put_disk - add the attributes of a disk and its session to a message
 * @msg: message with an open generic netlink header
 * @disk: disk with a gendisk
 * @change: state to report; its members from and to are equal if the state has not changed
 * @admin: the receivers have CAP_NET_ADMIN or CAP_SYS_ADMIN, and may see the host id and the
 *	session id
 *
 * Context: process context; the caller prevents the removal of the disk.
 * Return: 0 or -EMSGSIZE.
 */
int rnbdc_put_disk(struct sk_buff *msg, struct rnbdc_disk *disk,
		   const struct rnbdc_change *change, bool admin)
{
	struct rnbdc_session *sess = disk->sess;

	/* rnbdc_session_port() reads sin_port from IPv4 and from IPv6 addresses. */
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	if (nla_put_string(msg, RNBD_ATTR_DISK, disk->gd->disk_name) ||
	    nla_put_string(msg, RNBD_ATTR_ADDR, sess->opt.addr) ||
	    nla_put_u16(msg, RNBD_ATTR_PORT, rnbdc_session_port(sess)) ||
	    nla_put_string(msg, RNBD_ATTR_EXPORT, disk->opt.export) ||
	    (admin && rnbdc_put_ids(msg, sess)) ||
	    nla_put(msg, RNBD_ATTR_EXPORT_ID, UUID_SIZE, disk->export_uuid) ||
	    rnbdc_put_options(msg, disk, RNBDC_REPORT_GRANTED) ||
	    rnbdc_put_session(msg, sess) ||
	    nla_put_u32(msg, RNBD_ATTR_EPOCH, change->epoch) ||
	    nla_put_string(msg, RNBD_ATTR_STATE, rnbdc_state_text(change->to)) ||
	    (change->from != change->to &&
	     nla_put_string(msg, RNBD_ATTR_OLD_STATE,
			    rnbdc_state_text(change->from))) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_SIZE,
			      (u64)get_capacity(disk->gd) << SECTOR_SHIFT,
			      RNBD_ATTR_PAD) ||
	    nla_put_u32(msg, RNBD_ATTR_BLOCK_SIZE,
			queue_logical_block_size(disk->gd->queue)) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_ATTACHED_MS,
			      rnbdc_ms_since(disk->made_ns), RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_STATE_MS,
			      rnbdc_ms_since(change->when_ns), RNBD_ATTR_PAD) ||
	    rnbdc_put_requested(msg, disk) ||
	    rnbdc_put_recovery(msg, disk, change))
		return -EMSGSIZE;
	return 0;
}

/**
 * rnbdc_put_export - add the attributes of an export to a message, as one nest
 * @msg: message with an open nest RNBD_ATTR_EXPORTS
 * @export: export
 *
 * Context: process context.
 * Return: 0, or -EMSGSIZE with the message unchanged.
 */
int rnbdc_put_export(struct sk_buff *msg, const struct rnbd_export_info *export)
{
	struct nlattr *item = nla_nest_start(msg, RNBD_ATTR_EXPORT_ITEM);
	u32 flags = export->flags & RNBD_EXPORT_READONLY ? RNBD_FLAG_READONLY : 0;

	if (!item)
		return -EMSGSIZE;
	if (nla_put_string(msg, RNBD_ATTR_EXPORT, export->name) ||
	    nla_put(msg, RNBD_ATTR_EXPORT_ID, UUID_SIZE, export->uuid) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_SIZE, export->capacity, RNBD_ATTR_PAD) ||
	    nla_put_u32(msg, RNBD_ATTR_BLOCK_SIZE, export->logical_block) ||
	    nla_put_u32(msg, RNBD_ATTR_FLAGS, flags)) {
		nla_nest_cancel(msg, item);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, item);
	return 0;
}
