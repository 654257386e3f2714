// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family "rnbd-target": list of sessions, events of sessions and of hosts.
 *
 * Operation
 *
 * include/uapi/rnbd/netlink-target.h documents the family. The state of a session changes in any
 * context and under a spinlock, where no message can be sent: the delivery of a message can call
 * the transmit function of a network device. Therefore the change is recorded in the session
 * (state.c), and event_work sends it later. A session has space for all changes that its state
 * can make. If there is no listener, no message is built.
 *
 * Ownership
 *
 * event_work holds a reference on its session. If the session is dead when event_work runs, its
 * port, exports and queues can be freed. So event_work uses copies of the names of the port and of
 * an export, which the session has. It reads the counters of existing queues under RCU, and the
 * session has the sum of the counters of its freed queues.
 *
 * Concurrency
 *
 * s->state_lock protects the recorded changes. Messages are built and sent without rnbdt_lock,
 * so that listing sessions delays no login. event_work runs once at a time, so the events of a
 * session are sent in order.
 *
 * Errors
 *
 * If a message cannot be allocated, the listeners get -ENOBUFS, as for any lost message.
 */

#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <rnbd/netlink-target.h>

#include "attached.h"
#include "lookup.h"
#include "names.h"
#include "netlink.h"
#include "netlink_gen.h"
#include "session.h"
#include "state.h"
#include "target.h"

static struct genl_family rnbdt_genl_family;

/* Put the size of the pool, its limits, and the counters of its changes. */
static int rnbdt_put_pool(struct sk_buff *msg, const struct rnbdt_session *s)
{
	const struct {
		int attr;
		u64 value;
	} values[] = {
		{ RNBDT_ATTR_POOL_SIZE, (u64)READ_ONCE(s->pool.units) * RNBD_UNIT_SIZE },
		{ RNBDT_ATTR_POOL_FLOOR, READ_ONCE(s->account.floor_bytes) },
		{ RNBDT_ATTR_POOL_MAX, READ_ONCE(s->account.max_bytes) },
		{ RNBDT_ATTR_POOL_GRANTS, READ_ONCE(s->lease.grants) },
		{ RNBDT_ATTR_POOL_RELEASES, READ_ONCE(s->lease.releases) },
		{ RNBDT_ATTR_POOL_RECLAIMS, READ_ONCE(s->lease.reclaims) },
		{ RNBDT_ATTR_POOL_REGISTRATIONS, READ_ONCE(s->lease.registrations) },
		{ RNBDT_ATTR_POOL_REQUESTED, (u64)READ_ONCE(s->lease.want) * RNBD_UNIT_SIZE },
		{ RNBDT_ATTR_POOL_SHARE,
		  min(READ_ONCE(s->lease.share), READ_ONCE(s->account.max_bytes)) },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (nla_put_u64_64bit(msg, values[i].attr, values[i].value, RNBDT_ATTR_PAD))
			return -EMSGSIZE;
	return 0;
}

/* Put the granted values, unless the session was never live and has none. */
static int rnbdt_put_grant(struct sk_buff *msg, const struct rnbdt_session *s,
			   time64_t live_at)
{
	if (!live_at)
		return 0;
	if (nla_put_u32(msg, RNBDT_ATTR_QUEUES, s->granted.nr_queues) ||
	    nla_put_u32(msg, RNBDT_ATTR_DEPTH, s->granted.depth) ||
	    nla_put_u64_64bit(msg, RNBDT_ATTR_POOL_BYTES, READ_ONCE(s->account.pool_bytes),
			      RNBDT_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBDT_ATTR_SECONDS,
			      ktime_get_boottime_seconds() - live_at,
			      RNBDT_ATTR_PAD))
		return -EMSGSIZE;
	return rnbdt_put_pool(msg, s);
}

static int rnbdt_put_stats(struct sk_buff *msg, const struct rnbdt_session *s)
{
	struct rnbdt_stats stats;

	rnbdt_session_stats(s, &stats);
	if (nla_put_u64_64bit(msg, RNBDT_ATTR_REQUESTS, stats.requests,
			      RNBDT_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBDT_ATTR_READ_BYTES, stats.read_bytes,
			      RNBDT_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBDT_ATTR_WRITE_BYTES, stats.write_bytes,
			      RNBDT_ATTR_PAD))
		return -EMSGSIZE;
	return 0;
}

/* Put a change of state, or only the current state if @change->from equals @change->to. */
static int rnbdt_put_change(struct sk_buff *msg, const struct rnbdt_change *change)
{
	if (nla_put_string(msg, RNBDT_ATTR_STATE, rnbdt_state_text(change->to)) ||
	    (change->from != change->to &&
	     nla_put_string(msg, RNBDT_ATTR_OLD_STATE,
			    rnbdt_state_text(change->from))) ||
	    (change->reason && nla_put_string(msg, RNBDT_ATTR_REASON, change->reason)))
		return -EMSGSIZE;
	return 0;
}

/* Put a session with the change of its state, or with its current state if @change is NULL. */
static int rnbdt_put_session(struct sk_buff *msg, struct rnbdt_session *s,
			     const struct rnbdt_change *change, u8 cmd,
			     u32 portid, u32 seq, int flags)
{
	char addr[INET6_ADDRSTRLEN];
	struct rnbdt_change now;
	unsigned long irq;
	char export[RNBD_EXPORT_NAME_SIZE];
	time64_t live_at;
	void *hdr;

	hdr = genlmsg_put(msg, portid, seq, &rnbdt_genl_family, flags, cmd);
	if (!hdr)
		return -EMSGSIZE;

	spin_lock_irqsave(&s->state_lock, irq);
	now.from = s->state;
	now.to = s->state;
	now.reason = s->log.reason;
	live_at = s->live_at;
	spin_unlock_irqrestore(&s->state_lock, irq);
	rnbdt_session_export(s, export);

	snprintf(addr, sizeof(addr), "%pISc", &s->peer);
	if (nla_put_u32(msg, RNBDT_ATTR_SERIAL, s->serial) ||
	    nla_put(msg, RNBDT_ATTR_HOST_ID, UUID_SIZE, &s->host_id) ||
	    nla_put(msg, RNBDT_ATTR_SESSION_ID, UUID_SIZE, &s->session_id) ||
	    (*export && nla_put_string(msg, RNBDT_ATTR_EXPORT, export)) ||
	    nla_put_string(msg, RNBDT_ATTR_PORT, s->port_name) ||
	    nla_put_string(msg, RNBDT_ATTR_ADDR, addr) ||
	    nla_put_u32(msg, RNBDT_ATTR_EPOCH, s->epoch) ||
	    rnbdt_put_change(msg, change ?: &now) ||
	    nla_put_u32(msg, RNBDT_ATTR_ATTACHMENTS, READ_ONCE(s->nr_bound)) ||
	    rnbdt_put_grant(msg, s, live_at) ||
	    rnbdt_put_stats(msg, s)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* Dump the sessions after the last serial: the list can change between two calls. */
int rnbd_target_nl_get_session_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb)
{
	struct rnbdt_session *s;
	int ret = 0;

	while (!ret && (s = rnbdt_lookup_after(cb->args[0]))) {
		ret = rnbdt_put_session(skb, s, NULL, RNBDT_CMD_GET_SESSION,
					NETLINK_CB(cb->skb).portid,
					cb->nlh->nlmsg_seq, NLM_F_MULTI);
		if (!ret)
			cb->args[0] = s->serial;
		rnbdt_session_put(s);
	}
	return skb->len;
}

/* Used instead of the generated table, which would let listeners join without CAP_NET_ADMIN. */
static const struct genl_multicast_group rnbdt_genl_groups[] = {
	[RNBD_TARGET_NLGRP_EVENTS] = {
		.name = RNBDT_GENL_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

static struct genl_family rnbdt_genl_family __ro_after_init = {
	.name = RNBDT_GENL_NAME,
	.version = RNBDT_GENL_VERSION,
	.module = THIS_MODULE,
	.parallel_ops = true,
	.split_ops = rnbd_target_nl_ops,
	.n_split_ops = ARRAY_SIZE(rnbd_target_nl_ops),
	.mcgrps = rnbdt_genl_groups,
	.n_mcgrps = ARRAY_SIZE(rnbdt_genl_groups),
	/* Validate all commands strictly. */
	.resv_start_op = RNBDT_CMD_GET_SESSION,
};

static void rnbdt_send_event(struct rnbdt_session *s,
			     const struct rnbdt_change *change)
{
	struct sk_buff *msg;
	int ret;

	if (!genl_has_listeners(&rnbdt_genl_family, &init_net, 0))
		return;
	/* GFP_NOIO: memory reclaim can wait for a disk whose login waits for this work queue. */
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_NOIO);
	if (!msg)
		goto lost;
	ret = rnbdt_put_session(msg, s, change, RNBDT_CMD_EVENT, 0, 0, 0);
	if (ret)
		goto free;
	genlmsg_multicast(&rnbdt_genl_family, msg, 0, RNBD_TARGET_NLGRP_EVENTS, GFP_NOIO);
	return;

free:
	nlmsg_free(msg);
lost:
	genl_set_err(&rnbdt_genl_family, &init_net, 0, RNBD_TARGET_NLGRP_EVENTS,
		     -ENOBUFS);
}

/* Put the event that another cgroup applies to a host. */
static int rnbdt_put_cgroup(struct sk_buff *msg, const uuid_t *host_id, const char *cgroup,
			    const char *applies)
{
	void *hdr = genlmsg_put(msg, 0, 0, &rnbdt_genl_family, 0, RNBDT_CMD_HOST_EVENT);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put(msg, RNBDT_ATTR_HOST_ID, UUID_SIZE, host_id) ||
	    nla_put_string(msg, RNBDT_ATTR_CGROUP, cgroup) ||
	    (applies && nla_put_string(msg, RNBDT_ATTR_EFFECTIVE_CGROUP, applies)))
		return -EMSGSIZE;
	genlmsg_end(msg, hdr);
	return 0;
}

/**
 * rnbdt_netlink_cgroup - report that another cgroup applies to a host
 * @host_id: id of the host
 * @cgroup: path of the configured cgroup
 * @applies: path of the cgroup that applies, or NULL if it is not known
 *
 * Context: process context; may sleep.
 */
void rnbdt_netlink_cgroup(const uuid_t *host_id, const char *cgroup, const char *applies)
{
	struct sk_buff *msg;

	if (!genl_has_listeners(&rnbdt_genl_family, &init_net, 0))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE + 2 * PATH_MAX, GFP_NOIO);
	if (msg && !rnbdt_put_cgroup(msg, host_id, cgroup, applies)) {
		genlmsg_multicast(&rnbdt_genl_family, msg, 0, RNBD_TARGET_NLGRP_EVENTS, GFP_NOIO);
		return;
	}
	nlmsg_free(msg);
	genl_set_err(&rnbdt_genl_family, &init_net, 0, RNBD_TARGET_NLGRP_EVENTS, -ENOBUFS);
}

static bool rnbdt_next_change(struct rnbdt_session *s, struct rnbdt_change *change)
{
	unsigned long flags;
	bool some;

	spin_lock_irqsave(&s->state_lock, flags);
	some = s->log.nr_reported < s->log.nr_changes;
	if (some)
		*change = s->log.changes[s->log.nr_reported++];
	spin_unlock_irqrestore(&s->state_lock, flags);
	return some;
}

static void rnbdt_event_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(work, struct rnbdt_session,
					       log.event_work);
	struct rnbdt_change change;

	while (rnbdt_next_change(s, &change))
		rnbdt_send_event(s, &change);
	rnbdt_session_put(s);
}

/**
 * rnbdt_netlink_init_session - prepare the event work of a session
 * @s: new session
 *
 * Context: any.
 */
void rnbdt_netlink_init_session(struct rnbdt_session *s)
{
	INIT_WORK(&s->log.event_work, rnbdt_event_work);
}

/**
 * rnbdt_netlink_init - register the netlink family
 *
 * Context: process context, module init.
 * Return: 0 or a negative errno.
 */
int rnbdt_netlink_init(void)
{
	return genl_register_family(&rnbdt_genl_family);
}

/**
 * rnbdt_netlink_exit - unregister the netlink family
 *
 * The caller must ensure that no session and no event_work is left.
 *
 * Context: process context, module exit.
 */
void rnbdt_netlink_exit(void)
{
	genl_unregister_family(&rnbdt_genl_family);
}
