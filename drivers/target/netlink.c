// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family "rnbd-target": sessions and what happens to them.
 *
 * Operation
 *
 * See include/uapi/rnbd/netlink-target.h, which is the manual. A state changes
 * under a spinlock and in any context, where no message can be sent: handing
 * one to a socket may end in a network device's transmit function. So the change
 * is noted in the session, which has room for all that can ever happen to it,
 * and a work item sends it. If nobody listens, nothing is noted.
 *
 * Ownership
 *
 * The work item holds a reference on its session and reads nothing outside of
 * it that might have gone when the session is dead: the names of port and
 * export are copies, queues that have gone have left their counters.
 *
 * Concurrency
 *
 * The notes are under s->state_lock, messages are made under rnbdt_lock, which
 * keeps queues. A work item runs once at a time, hence the order of a session's
 * events.
 *
 * Errors
 *
 * Without memory for a message its listeners are told that one was lost.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rnbd/netlink-target.h>

#include "target.h"

static struct genl_family rnbdt_genl_family;

/* What a session has been given; only the login work writes it, before live. */
static int rnbdt_put_grant(struct sk_buff *msg, const struct rnbd_tsession *s,
			   time64_t live_at)
{
	if (!live_at)
		return 0;
	if (nla_put_u32(msg, RNBDT_ATTR_QUEUES, s->nr_queues) ||
	    nla_put_u32(msg, RNBDT_ATTR_DEPTH, s->depth) ||
	    nla_put_u64_64bit(msg, RNBDT_ATTR_POOL_BYTES, s->pool_bytes,
			      RNBDT_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBDT_ATTR_SECONDS,
			      ktime_get_boottime_seconds() - live_at,
			      RNBDT_ATTR_PAD))
		return -EMSGSIZE;
	return 0;
}

static int rnbdt_put_stats(struct sk_buff *msg, struct rnbd_tsession *s)
{
	struct rnbd_tstats stats;

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

/* A change from a state to itself is none. */
static int rnbdt_put_change(struct sk_buff *msg, const struct rnbd_tchange *change)
{
	if (nla_put_string(msg, RNBDT_ATTR_STATE, rnbdt_state_text(change->to)) ||
	    (change->from != change->to &&
	     nla_put_string(msg, RNBDT_ATTR_OLD_STATE,
			    rnbdt_state_text(change->from))) ||
	    (change->why && nla_put_string(msg, RNBDT_ATTR_REASON, change->why)))
		return -EMSGSIZE;
	return 0;
}

/* Without a change: as it is now. */
static int rnbdt_put_session(struct sk_buff *msg, struct rnbd_tsession *s,
			     const struct rnbd_tchange *change, u8 cmd,
			     u32 portid, u32 seq, int flags)
{
	char addr[INET6_ADDRSTRLEN];
	struct rnbd_tchange now;
	unsigned long irq;
	const char *export;
	time64_t live_at;
	void *hdr;

	lockdep_assert_held(&rnbdt_lock);

	hdr = genlmsg_put(msg, portid, seq, &rnbdt_genl_family, flags, cmd);
	if (!hdr)
		return -EMSGSIZE;

	spin_lock_irqsave(&s->state_lock, irq);
	now.from = s->state;
	now.to = s->state;
	now.why = s->why;
	export = rnbdt_session_export(s);
	live_at = s->live_at;
	spin_unlock_irqrestore(&s->state_lock, irq);

	snprintf(addr, sizeof(addr), "%pISc", &s->peer);
	if (nla_put_u32(msg, RNBDT_ATTR_SERIAL, s->serial) ||
	    nla_put(msg, RNBDT_ATTR_HOST_ID, UUID_SIZE, &s->host_id) ||
	    nla_put(msg, RNBDT_ATTR_SESSION_ID, UUID_SIZE, &s->session_id) ||
	    (*export && nla_put_string(msg, RNBDT_ATTR_EXPORT, export)) ||
	    nla_put_string(msg, RNBDT_ATTR_PORT, s->port_name) ||
	    nla_put_string(msg, RNBDT_ATTR_ADDR, addr) ||
	    nla_put_u32(msg, RNBDT_ATTR_EPOCH, s->epoch) ||
	    rnbdt_put_change(msg, change ?: &now) ||
	    rnbdt_put_grant(msg, s, live_at) ||
	    rnbdt_put_stats(msg, s)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* Goes on behind the last serial it told, whatever came and went in between. */
static int rnbdt_dump_sessions(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rnbd_tsession *s;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry) {
		if (s->serial <= cb->args[0])
			continue;
		if (rnbdt_put_session(skb, s, NULL, RNBDT_CMD_GET_SESSION,
				      NETLINK_CB(cb->skb).portid,
				      cb->nlh->nlmsg_seq, NLM_F_MULTI))
			break;
		cb->args[0] = s->serial;
	}
	mutex_unlock(&rnbdt_lock);
	return skb->len;
}

/* Without a policy every attribute is refused. */
static const struct genl_small_ops rnbdt_genl_ops[] = {
	{
		.cmd = RNBDT_CMD_GET_SESSION,
		.flags = GENL_ADMIN_PERM,
		.dumpit = rnbdt_dump_sessions,
	},
};

static const struct genl_multicast_group rnbdt_genl_groups[] = {
	{ .name = RNBDT_GENL_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

static struct genl_family rnbdt_genl_family __ro_after_init = {
	.name = RNBDT_GENL_NAME,
	.version = RNBDT_GENL_VERSION,
	.maxattr = RNBDT_ATTR_MAX,
	.module = THIS_MODULE,
	.parallel_ops = true,
	.small_ops = rnbdt_genl_ops,
	.n_small_ops = ARRAY_SIZE(rnbdt_genl_ops),
	.mcgrps = rnbdt_genl_groups,
	.n_mcgrps = ARRAY_SIZE(rnbdt_genl_groups),
	/* strict from the first command on */
	.resv_start_op = RNBDT_CMD_GET_SESSION,
};

static void rnbdt_send_event(struct rnbd_tsession *s,
			     const struct rnbd_tchange *change)
{
	struct sk_buff *msg;
	int ret;

	/* The client whose memory this may free waits for its login, perhaps. */
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_NOIO);
	if (!msg)
		goto lost;
	mutex_lock(&rnbdt_lock);
	ret = rnbdt_put_session(msg, s, change, RNBDT_CMD_EVENT, 0, 0, 0);
	mutex_unlock(&rnbdt_lock);
	if (ret)
		goto free;
	genlmsg_multicast(&rnbdt_genl_family, msg, 0, 0, GFP_NOIO);
	return;

free:
	nlmsg_free(msg);
lost:
	genl_set_err(&rnbdt_genl_family, &init_net, 0, 0, -ENOBUFS);
}

static bool rnbdt_next_change(struct rnbd_tsession *s, struct rnbd_tchange *change)
{
	unsigned long flags;
	bool some;

	spin_lock_irqsave(&s->state_lock, flags);
	some = s->nr_told < s->nr_changes;
	if (some)
		*change = s->changes[s->nr_told++];
	spin_unlock_irqrestore(&s->state_lock, flags);
	return some;
}

static void rnbdt_event_work(struct work_struct *work)
{
	struct rnbd_tsession *s = container_of(work, struct rnbd_tsession,
					       event_work);
	struct rnbd_tchange change;

	while (rnbdt_next_change(s, &change))
		rnbdt_send_event(s, &change);
	rnbdt_session_put(s);
}

/**
 * rnbdt_netlink_init_session - prepare a session
 * @s: session
 */
void rnbdt_netlink_init_session(struct rnbd_tsession *s)
{
	INIT_WORK(&s->event_work, rnbdt_event_work);
}

/**
 * rnbdt_netlink_tell - let all listeners know of a new state
 * @s: session in that state
 * @from: the state before
 *
 * Context: any, s->state_lock held; the caller has a session that stays.
 */
void rnbdt_netlink_tell(struct rnbd_tsession *s, enum rnbd_tstate from)
{
	lockdep_assert_held(&s->state_lock);

	if (!genl_has_listeners(&rnbdt_genl_family, &init_net, 0))
		return;
	/* A session never goes back, so there is room. */
	s->changes[s->nr_changes++] = (struct rnbd_tchange) {
		.from = from,
		.to = s->state,
		.why = s->why,
	};
	kref_get(&s->ref);
	if (!queue_work(rnbdt_login_wq, &s->event_work))
		rnbdt_session_put(s);
}

/**
 * rnbdt_netlink_init - register the family
 *
 * Return: 0 or an error.
 */
int rnbdt_netlink_init(void)
{
	return genl_register_family(&rnbdt_genl_family);
}

/**
 * rnbdt_netlink_exit - unregister the family
 *
 * There is no session any more, nor any work of one.
 */
void rnbdt_netlink_exit(void)
{
	genl_unregister_family(&rnbdt_genl_family);
}
