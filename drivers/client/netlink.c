// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family "rnbd": how the rnbd tool attaches and detaches.
 *
 * Operation: see include/uapi/rnbd/netlink.h, which is the manual.
 * Ownership: commands hold a reference on the session they work on.
 * The list that a target gave is owned by the dump that tells it.
 * A secret stays in the message it came in until it is wiped there.
 * Concurrency: commands run in parallel; the list of sessions is walked under
 * its lock. Events come from the session's event_work, so in order.
 * Errors: every one carries a text for people, and the attribute at fault.
 */

#include <linux/inet.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "client.h"

/* What an attach asks for unless told otherwise. */
#define RNBD_DEFAULT_QUEUES	8
#define RNBD_DEFAULT_DEPTH	128
#define RNBD_DEFAULT_SLOTS	64
#define RNBD_DEFAULT_SLOT_SIZE	8192
#define RNBD_DEFAULT_INLINE_READ	4096
#define RNBD_DEFAULT_INLINE_WRITE	4096
#define RNBD_DEFAULT_POOL	SZ_64M
#define RNBD_DEFAULT_MAX_IO	SZ_1M
#define RNBD_DEFAULT_KEEPALIVE_MS	2000
/* Seconds */
#define RNBD_DEFAULT_LOSS_TIMEOUT	600
#define RNBD_TIMEOUT_MAX		(24 * 3600)

static struct genl_family rnbd_genl_family;
static DECLARE_RWSEM(rnbd_attach_sem);	/* rnbd_attach_stopped */
static bool rnbd_attach_stopped;

/* NLA_POLICY_RANGE() takes 16 bits only. */
static const struct netlink_range_validation rnbd_seconds_range = {
	.max = RNBD_TIMEOUT_MAX,
};

static const struct netlink_range_validation rnbd_inline_range = {
	.max = RNBD_INLINE_MAX,
};

static const struct netlink_range_validation rnbd_keepalive_range = {
	.min = RNBD_KEEPALIVE_MS_MIN,
	.max = RNBD_KEEPALIVE_MS_MAX,
};

static const struct nla_policy rnbd_attach_policy[RNBD_ATTR_MAX + 1] = {
	[RNBD_ATTR_ADDR]	= { .type = NLA_NUL_STRING,
				    .len = INET6_ADDRSTRLEN - 1 },
	[RNBD_ATTR_PORT]	= NLA_POLICY_MIN(NLA_U16, 1),
	[RNBD_ATTR_EXPORT]	= { .type = NLA_NUL_STRING,
				    .len = RNBD_EXPORT_NAME_SIZE - 1 },
	[RNBD_ATTR_NAME]	= { .type = NLA_NUL_STRING, .len = RNBD_NAME_SIZE - 1 },
	[RNBD_ATTR_HOST_ID]	= NLA_POLICY_EXACT_LEN(UUID_SIZE),
	[RNBD_ATTR_QUEUES]	= NLA_POLICY_RANGE(NLA_U32, 1, RNBD_QUEUES_MAX),
	[RNBD_ATTR_DEPTH]	= NLA_POLICY_RANGE(NLA_U32, 1, RNBD_DEPTH_MAX),
	[RNBD_ATTR_RING_SLOTS]	= NLA_POLICY_RANGE(NLA_U32, RNBD_RING_SLOTS_MIN,
						   RNBD_RING_SLOTS_MAX),
	[RNBD_ATTR_SLOT_SIZE]	= { .type = NLA_U32 },
	[RNBD_ATTR_POOL_BYTES]	= { .type = NLA_U64 },
	[RNBD_ATTR_MAX_IO]	= { .type = NLA_U32 },
	[RNBD_ATTR_POLICY]	= NLA_POLICY_MAX(NLA_U32, RNBD_POLICY_FAIL),
	[RNBD_ATTR_FAST_IO_FAIL] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_seconds_range),
	[RNBD_ATTR_LOSS_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_seconds_range),
	[RNBD_ATTR_KEEPALIVE_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_keepalive_range),
	[RNBD_ATTR_FLAGS]	= NLA_POLICY_MASK(NLA_U32, RNBD_FLAG_READONLY |
						  RNBD_FLAG_EARLY_RELEASE |
						  RNBD_FLAG_COPY),
	[RNBD_ATTR_POLL_QUEUES]	= NLA_POLICY_MAX(NLA_U32, RNBD_QUEUES_MAX - 1),
	[RNBD_ATTR_INLINE_READ]	= NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_inline_range),
	[RNBD_ATTR_INLINE_WRITE] = NLA_POLICY_FULL_RANGE(NLA_U32, &rnbd_inline_range),
	[RNBD_ATTR_SECRET]	= NLA_POLICY_EXACT_LEN(RNBD_SECRET_SIZE),
};

static const struct nla_policy rnbd_discover_policy[RNBD_ATTR_MAX + 1] = {
	[RNBD_ATTR_ADDR]	= { .type = NLA_NUL_STRING,
				    .len = INET6_ADDRSTRLEN - 1 },
	[RNBD_ATTR_PORT]	= NLA_POLICY_MIN(NLA_U16, 1),
	[RNBD_ATTR_HOST_ID]	= NLA_POLICY_EXACT_LEN(UUID_SIZE),
	[RNBD_ATTR_SECRET]	= NLA_POLICY_EXACT_LEN(RNBD_SECRET_SIZE),
};

static const struct nla_policy rnbd_disk_policy[RNBD_ATTR_MAX + 1] = {
	[RNBD_ATTR_DISK]	= { .type = NLA_NUL_STRING,
				    .len = DISK_NAME_LEN - 1 },
	[RNBD_ATTR_FLAGS]	= NLA_POLICY_MASK(NLA_U32, RNBD_FLAG_FORCE),
};

static const struct nla_policy rnbd_list_policy[RNBD_ATTR_MAX + 1] = {
	[RNBD_ATTR_DISK]	= { .type = NLA_NUL_STRING,
				    .len = DISK_NAME_LEN - 1 },
};

/* Every refusal has a text. What has none of its own is a lack of memory, as a rule. */
static void rnbd_set_why(struct netlink_ext_ack *extack, const struct rnbd_why *why,
			 int error)
{
	if (why->text[0])
		NL_SET_ERR_MSG_FMT(extack, "%s", why->text);
	else if (error == -ENOMEM)
		NL_SET_ERR_MSG(extack, "out of memory");
	else
		NL_SET_ERR_MSG_FMT(extack, "the kernel refuses (%d)", error);
}

static u32 rnbd_get_u32(struct genl_info *info, int attr, u32 value)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : value;
}

static int rnbd_parse_wishes(struct genl_info *info, struct rnbd_options *opt)
{
	u32 flags = rnbd_get_u32(info, RNBD_ATTR_FLAGS, 0);

	opt->queues = rnbd_get_u32(info, RNBD_ATTR_QUEUES,
				   min(num_online_cpus(), RNBD_DEFAULT_QUEUES));
	opt->poll_queues = rnbd_get_u32(info, RNBD_ATTR_POLL_QUEUES, 0);
	opt->depth = rnbd_get_u32(info, RNBD_ATTR_DEPTH, RNBD_DEFAULT_DEPTH);
	opt->ring_slots = rnbd_get_u32(info, RNBD_ATTR_RING_SLOTS, RNBD_DEFAULT_SLOTS);
	opt->slot_size = rnbd_get_u32(info, RNBD_ATTR_SLOT_SIZE, RNBD_DEFAULT_SLOT_SIZE);
	opt->max_io = rnbd_get_u32(info, RNBD_ATTR_MAX_IO, RNBD_DEFAULT_MAX_IO);
	opt->pool_bytes = info->attrs[RNBD_ATTR_POOL_BYTES] ?
			  nla_get_u64(info->attrs[RNBD_ATTR_POOL_BYTES]) :
			  RNBD_DEFAULT_POOL;
	opt->fail_policy = rnbd_get_u32(info, RNBD_ATTR_POLICY, RNBD_POLICY_QUEUE) ==
			   RNBD_POLICY_FAIL;
	opt->fast_io_fail = rnbd_get_u32(info, RNBD_ATTR_FAST_IO_FAIL, 0);
	opt->loss_timeout = rnbd_get_u32(info, RNBD_ATTR_LOSS_TIMEOUT,
					 RNBD_DEFAULT_LOSS_TIMEOUT);
	opt->keepalive_ms = rnbd_get_u32(info, RNBD_ATTR_KEEPALIVE_MS,
					 RNBD_DEFAULT_KEEPALIVE_MS);
	opt->inline_read = rnbd_get_u32(info, RNBD_ATTR_INLINE_READ,
					RNBD_DEFAULT_INLINE_READ);
	opt->inline_write = rnbd_get_u32(info, RNBD_ATTR_INLINE_WRITE,
					 RNBD_DEFAULT_INLINE_WRITE);
	opt->readonly = flags & RNBD_FLAG_READONLY;
	opt->early_release = flags & RNBD_FLAG_EARLY_RELEASE;
	opt->copy = flags & RNBD_FLAG_COPY;
	if (opt->copy && opt->early_release) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[RNBD_ATTR_FLAGS],
				    "bounce buffers cannot be given out early");
		return -EINVAL;
	}

	if (opt->slot_size < RNBD_SLOT_SIZE_MIN || opt->slot_size > RNBD_SLOT_SIZE_MAX ||
	    opt->slot_size % 64) {
		NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[RNBD_ATTR_SLOT_SIZE],
					"slot size must be %u to %u and a multiple of 64",
					RNBD_SLOT_SIZE_MIN, RNBD_SLOT_SIZE_MAX);
		return -EINVAL;
	}
	if (opt->max_io < RNBD_UNIT_SIZE || opt->max_io > RNBD_MAX_IO_MAX ||
	    opt->max_io % RNBD_UNIT_SIZE) {
		NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[RNBD_ATTR_MAX_IO],
					"max-io must be %u to %u and a multiple of %u",
					RNBD_UNIT_SIZE, RNBD_MAX_IO_MAX, RNBD_UNIT_SIZE);
		return -EINVAL;
	}
	if (opt->pool_bytes < RNBD_UNIT_SIZE) {
		NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[RNBD_ATTR_POOL_BYTES],
					"the pool must have %u bytes at least",
					RNBD_UNIT_SIZE);
		return -EINVAL;
	}
	return 0;
}

/* Which target, and who asks. */
static int rnbd_parse_target(const struct genl_info *info, struct rnbd_options *opt)
{
	struct nlattr **attrs = info->attrs;
	char port[sizeof("65535")];

	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_ADDR) ||
	    GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_HOST_ID)) {
		NL_SET_ERR_MSG(info->extack, "address and host id are needed");
		return -EINVAL;
	}

	nla_strscpy(opt->addr, attrs[RNBD_ATTR_ADDR], sizeof(opt->addr));
	snprintf(port, sizeof(port), "%u", attrs[RNBD_ATTR_PORT] ?
		 nla_get_u16(attrs[RNBD_ATTR_PORT]) : RNBD_DEFAULT_PORT);
	if (inet_pton_with_scope(&init_net, AF_UNSPEC, opt->addr, port, &opt->dst)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_ADDR],
				    "not a numeric IPv4 or IPv6 address");
		return -EINVAL;
	}

	memcpy(opt->host_id, nla_data(attrs[RNBD_ATTR_HOST_ID]), UUID_SIZE);
	if (!memchr_inv(opt->host_id, 0, UUID_SIZE)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_HOST_ID],
				    "the host id must not be zero");
		return -EINVAL;
	}
	if (attrs[RNBD_ATTR_SECRET])
		opt->secret = nla_data(attrs[RNBD_ATTR_SECRET]);
	return 0;
}

/* An error echoes the message that it is about. */
static void rnbd_wipe_secret(const struct genl_info *info)
{
	if (info->attrs[RNBD_ATTR_SECRET])
		memzero_explicit(nla_data(info->attrs[RNBD_ATTR_SECRET]),
				 nla_len(info->attrs[RNBD_ATTR_SECRET]));
}

static int rnbd_parse_attach(struct genl_info *info, struct rnbd_options *opt)
{
	struct nlattr **attrs = info->attrs;
	int ret;

	ret = rnbd_parse_target(info, opt);
	if (ret)
		return ret;
	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_EXPORT)) {
		NL_SET_ERR_MSG(info->extack, "the name of an export is needed");
		return -EINVAL;
	}

	nla_strscpy(opt->export, attrs[RNBD_ATTR_EXPORT], sizeof(opt->export));
	if (!rnbd_export_name_ok(opt->export, sizeof(opt->export))) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_EXPORT],
				    "an export name has 1 to 63 of A-Z a-z 0-9 . _ : -");
		return -EINVAL;
	}

	if (attrs[RNBD_ATTR_NAME]) {
		nla_strscpy(opt->name, attrs[RNBD_ATTR_NAME], sizeof(opt->name));
		if (!rnbd_disk_alias_ok(opt->name)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attrs[RNBD_ATTR_NAME],
					    "a disk's name has 1 to 63 of A-Z a-z 0-9 . _ : -, no dot first, and is no rnbd<N>, number or UUID");
			return -EINVAL;
		}
	}
	return rnbd_parse_wishes(info, opt);
}

static u16 rnbd_session_port(const struct rnbd_session *sess)
{
	return be16_to_cpu(((const struct sockaddr_in *)&sess->opt.dst)->sin_port);
}

/* How a session without a connection fares. */
static int rnbd_put_recovery(struct sk_buff *msg, struct rnbd_session *sess,
			     const struct rnbd_change *change)
{
	long left = (long)(READ_ONCE(sess->next_try) - jiffies);
	enum rnbd_state state = change->to;
	char error[RNBD_WHY_SIZE];

	if (state == RNBD_LIVE || state == RNBD_CONNECTING)
		return 0;
	rnbd_session_last_error(sess, error);
	if ((change->reason && nla_put_string(msg, RNBD_ATTR_REASON, change->reason)) ||
	    (error[0] && nla_put_string(msg, RNBD_ATTR_LAST_ERROR, error)) ||
	    nla_put_u32(msg, RNBD_ATTR_ATTEMPT, change->attempt))
		return -EMSGSIZE;
	if (state == RNBD_RECONNECTING &&
	    nla_put_u32(msg, RNBD_ATTR_NEXT_TRY_MS,
			left > 0 ? jiffies_to_msecs(left) : 0))
		return -EMSGSIZE;
	return 0;
}

/* Whoever knows both can pretend to be this session. */
static int rnbd_put_ids(struct sk_buff *msg, const struct rnbd_session *sess)
{
	if (nla_put(msg, RNBD_ATTR_HOST_ID, UUID_SIZE, sess->opt.host_id) ||
	    nla_put(msg, RNBD_ATTR_SESSION_ID, UUID_SIZE, sess->id))
		return -EMSGSIZE;
	return 0;
}

/* What whoever attaches compares with what is there. */
static int rnbd_put_wishes(struct sk_buff *msg, const struct rnbd_options *opt)
{
	struct nlattr *nest = nla_nest_start(msg, RNBD_ATTR_WISHES);
	u32 flags = 0;

	if (!nest)
		return -EMSGSIZE;
	if (opt->readonly)
		flags |= RNBD_FLAG_READONLY;
	if (opt->early_release)
		flags |= RNBD_FLAG_EARLY_RELEASE;
	if (opt->copy)
		flags |= RNBD_FLAG_COPY;
	if (nla_put_u32(msg, RNBD_ATTR_QUEUES, opt->queues) ||
	    nla_put_u32(msg, RNBD_ATTR_POLL_QUEUES, opt->poll_queues) ||
	    nla_put_u32(msg, RNBD_ATTR_DEPTH, opt->depth) ||
	    nla_put_u32(msg, RNBD_ATTR_RING_SLOTS, opt->ring_slots) ||
	    nla_put_u32(msg, RNBD_ATTR_SLOT_SIZE, opt->slot_size) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_BYTES, opt->pool_bytes, RNBD_ATTR_PAD) ||
	    nla_put_u32(msg, RNBD_ATTR_MAX_IO, opt->max_io) ||
	    nla_put_u32(msg, RNBD_ATTR_INLINE_READ, opt->inline_read) ||
	    nla_put_u32(msg, RNBD_ATTR_INLINE_WRITE, opt->inline_write) ||
	    nla_put_u32(msg, RNBD_ATTR_FLAGS, flags))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

static u64 rnbd_ms_since(u64 ns)
{
	return div_u64(ktime_get_ns() - ns, NSEC_PER_MSEC);
}

/*
 * @asker is the message that is answered, or NULL for an event, for privileged
 * listeners.
 */
static int rnbd_put_session(struct sk_buff *msg, struct rnbd_session *sess,
			    const struct rnbd_change *change, u8 cmd,
			    struct sk_buff *asker, u32 seq, int flags)
{
	bool admin = !asker || netlink_capable(asker, CAP_NET_ADMIN);
	u32 portid = asker ? NETLINK_CB(asker).portid : 0;
	u32 sflags = 0;
	void *hdr;

	hdr = genlmsg_put(msg, portid, seq, &rnbd_genl_family, flags, cmd);
	if (!hdr)
		return -EMSGSIZE;

	if (get_disk_ro(sess->disk))
		sflags |= RNBD_FLAG_READONLY;
	if (READ_ONCE(sess->early_release))
		sflags |= RNBD_FLAG_EARLY_RELEASE;
	if (sess->opt.copy)
		sflags |= RNBD_FLAG_COPY;

	/* sin_port and sin6_port lie at the same place. */
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	if (nla_put_string(msg, RNBD_ATTR_DISK, sess->disk->disk_name) ||
	    nla_put_string(msg, RNBD_ATTR_ADDR, sess->opt.addr) ||
	    nla_put_u16(msg, RNBD_ATTR_PORT, rnbd_session_port(sess)) ||
	    nla_put_string(msg, RNBD_ATTR_EXPORT, sess->opt.export) ||
	    (sess->opt.name[0] &&
	     nla_put_string(msg, RNBD_ATTR_NAME, sess->opt.name)) ||
	    (admin && rnbd_put_ids(msg, sess)) ||
	    nla_put(msg, RNBD_ATTR_EXPORT_ID, UUID_SIZE, sess->grant.export_uuid) ||
	    nla_put_u32(msg, RNBD_ATTR_QUEUES, sess->nr_queues) ||
	    nla_put_u32(msg, RNBD_ATTR_POLL_QUEUES, sess->nr_poll) ||
	    nla_put_u32(msg, RNBD_ATTR_DEPTH, sess->grant.queue_depth) ||
	    nla_put_u32(msg, RNBD_ATTR_RING_SLOTS, sess->opt.ring_slots) ||
	    nla_put_u32(msg, RNBD_ATTR_SLOT_SIZE, sess->opt.slot_size) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_POOL_BYTES,
			      (u64)sess->grant.pool_units << RNBD_UNIT_SHIFT,
			      RNBD_ATTR_PAD) ||
	    nla_put_u32(msg, RNBD_ATTR_MAX_IO,
			queue_max_hw_sectors(sess->disk->queue) << SECTOR_SHIFT) ||
	    nla_put_u32(msg, RNBD_ATTR_FLAGS, sflags) ||
	    /* Without both proofs there would be no disk. */
	    nla_put_u32(msg, RNBD_ATTR_AUTHENTICATED, !!sess->key) ||
	    nla_put_u32(msg, RNBD_ATTR_POLICY, sess->opt.fail_policy ?
			RNBD_POLICY_FAIL : RNBD_POLICY_QUEUE) ||
	    nla_put_u32(msg, RNBD_ATTR_FAST_IO_FAIL, sess->opt.fast_io_fail) ||
	    nla_put_u32(msg, RNBD_ATTR_LOSS_TIMEOUT, sess->opt.loss_timeout) ||
	    nla_put_u32(msg, RNBD_ATTR_KEEPALIVE_MS, sess->grant.keepalive_ms) ||
	    nla_put_u32(msg, RNBD_ATTR_EPOCH, change->epoch) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_RECONNECTS,
			      READ_ONCE(sess->reconnects), RNBD_ATTR_PAD) ||
	    nla_put_string(msg, RNBD_ATTR_STATE, rnbd_state_text(change->to)) ||
	    (change->from != change->to &&
	     nla_put_string(msg, RNBD_ATTR_OLD_STATE,
			    rnbd_state_text(change->from))) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_SIZE,
			      (u64)get_capacity(sess->disk) << SECTOR_SHIFT,
			      RNBD_ATTR_PAD) ||
	    nla_put_u32(msg, RNBD_ATTR_BLOCK_SIZE,
			queue_logical_block_size(sess->disk->queue)) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_ATTACHED_MS,
			      rnbd_ms_since(sess->disk_ns), RNBD_ATTR_PAD) ||
	    nla_put_u64_64bit(msg, RNBD_ATTR_STATE_MS,
			      rnbd_ms_since(change->when_ns), RNBD_ATTR_PAD) ||
	    rnbd_put_wishes(msg, &sess->opt) ||
	    rnbd_put_recovery(msg, sess, change)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* As it is now: a change from a state to itself is none. */
static void rnbd_session_now(struct rnbd_session *sess, struct rnbd_change *now)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	*now = (struct rnbd_change) {
		.from = sess->state,
		.to = sess->state,
		.epoch = sess->epoch,
		.attempt = READ_ONCE(sess->attempt),
		.reason = sess->reason,
		.when_ns = sess->state_ns,
	};
	spin_unlock_irqrestore(&sess->lock, flags);
}

/*
 * A session on the list is there with its disk; leaving the list is the first
 * thing that happens when it is detached. So the list's lock, held while the
 * message is made, keeps the disk.
 */
static int rnbd_reply_session(struct sk_buff *skb, struct genl_info *info,
			      struct rnbd_session *sess)
{
	struct sk_buff *msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct rnbd_change now;
	int ret = -ENODEV;

	if (!msg) {
		NL_SET_ERR_MSG(info->extack, "out of memory");
		return -ENOMEM;
	}
	mutex_lock(&rnbd_sessions_lock);
	if (!list_empty(&sess->list)) {
		rnbd_session_now(sess, &now);
		ret = rnbd_put_session(msg, sess, &now, RNBD_CMD_LIST, skb,
				       info->snd_seq, 0);
	}
	mutex_unlock(&rnbd_sessions_lock);
	if (ret) {
		NL_SET_ERR_MSG(info->extack, "the disk was detached meanwhile");
		nlmsg_free(msg);
		return ret;
	}
	return genlmsg_reply(msg, info);
}

static int rnbd_cmd_attach(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbd_options opt = { };
	struct rnbd_session *sess;
	struct rnbd_why why = { };
	int ret;

	ret = rnbd_parse_attach(info, &opt);
	if (ret) {
		rnbd_wipe_secret(info);
		return ret;
	}

	/* Whoever unloads the module waits for us, and then detaches. */
	down_read(&rnbd_attach_sem);
	if (rnbd_attach_stopped) {
		rnbd_why(&why, "the module is being unloaded");
		sess = ERR_PTR(-ESHUTDOWN);
	} else {
		sess = rnbd_session_attach(&opt, &why);
	}
	up_read(&rnbd_attach_sem);
	rnbd_wipe_secret(info);
	if (IS_ERR(sess)) {
		rnbd_set_why(info->extack, &why, PTR_ERR(sess));
		return PTR_ERR(sess);
	}
	ret = rnbd_reply_session(skb, info, sess);
	rnbd_session_put(sess);
	return ret;
}

static struct rnbd_session *rnbd_info_session(struct genl_info *info)
{
	struct rnbd_session *sess;
	char name[DISK_NAME_LEN];

	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_DISK)) {
		NL_SET_ERR_MSG(info->extack, "the name of a disk is needed");
		return ERR_PTR(-EINVAL);
	}
	nla_strscpy(name, info->attrs[RNBD_ATTR_DISK], sizeof(name));
	sess = rnbd_session_find(name);
	if (!sess) {
		NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[RNBD_ATTR_DISK],
					"%s is not attached", name);
		return ERR_PTR(-ENODEV);
	}
	return sess;
}

static int rnbd_cmd_detach(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbd_session *sess = rnbd_info_session(info);
	struct rnbd_why why = { };
	int ret;

	if (IS_ERR(sess))
		return PTR_ERR(sess);
	ret = rnbd_session_detach(sess, rnbd_get_u32(info, RNBD_ATTR_FLAGS, 0) &
					RNBD_FLAG_FORCE, &why);
	if (ret)
		rnbd_set_why(info->extack, &why, ret);
	rnbd_session_put(sess);
	return ret;
}

static int rnbd_cmd_list(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbd_session *sess = rnbd_info_session(info);
	int ret;

	if (IS_ERR(sess))
		return PTR_ERR(sess);
	ret = rnbd_reply_session(skb, info, sess);
	rnbd_session_put(sess);
	return ret;
}

static int rnbd_dump_list(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rnbd_session *sess;
	long skip = cb->args[0];
	long n = 0;

	mutex_lock(&rnbd_sessions_lock);
	list_for_each_entry(sess, &rnbd_sessions, list) {
		struct rnbd_change now;

		if (n++ < skip)
			continue;
		rnbd_session_now(sess, &now);
		if (rnbd_put_session(skb, sess, &now, RNBD_CMD_LIST, cb->skb,
				     cb->nlh->nlmsg_seq, NLM_F_MULTI)) {
			n--;
			break;
		}
	}
	cb->args[0] = n;
	mutex_unlock(&rnbd_sessions_lock);
	return skb->len;
}

/*
 * The target is asked when the dump begins. Its answers are told as fast as they
 * are read: a socket takes only so much that nobody reads.
 */
static int rnbd_start_discover(struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct rnbd_options opt = { };
	struct rnbd_exports *exports;
	struct rnbd_why why = { };
	int ret;

	ret = rnbd_parse_target(info, &opt);
	exports = ret ? NULL : kmalloc(sizeof(*exports), GFP_KERNEL);
	if (!exports) {
		if (!ret)
			NL_SET_ERR_MSG(info->extack, "out of memory");
		rnbd_wipe_secret(info);
		return ret ?: -ENOMEM;
	}
	rnbd_exports_init(exports);
	ret = rnbd_discover(&opt, exports, &why);
	rnbd_wipe_secret(info);
	if (ret) {
		rnbd_set_why(info->extack, &why, ret);
		rnbd_exports_free(exports);
		kfree(exports);
		return ret;
	}
	cb->args[0] = (long)exports;
	return 0;
}

static int rnbd_put_export(struct sk_buff *msg, const struct rnbd_export_info *export)
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

/* A message at a time, with what it has room for. */
static int rnbd_dump_discover(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rnbd_exports *exports = (void *)cb->args[0];
	const struct rnbd_export_info *export = rnbd_exports_first(exports);
	struct nlattr *nest = NULL;
	void *hdr;

	if (!export)
		return 0;
	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &rnbd_genl_family, NLM_F_MULTI, RNBD_CMD_DISCOVER);
	if (hdr)
		nest = nla_nest_start(skb, RNBD_ATTR_EXPORTS);
	if (!nest || rnbd_put_export(skb, export)) {
		if (hdr)
			genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	do {
		rnbd_exports_take(exports);
		export = rnbd_exports_first(exports);
	} while (export && !rnbd_put_export(skb, export));
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return skb->len;
}

static int rnbd_done_discover(struct netlink_callback *cb)
{
	struct rnbd_exports *exports = (void *)cb->args[0];

	rnbd_exports_free(exports);
	kfree(exports);
	return 0;
}

static const struct genl_ops rnbd_genl_ops[] = {
	{
		.cmd = RNBD_CMD_ATTACH,
		.flags = GENL_ADMIN_PERM,
		.policy = rnbd_attach_policy,
		.maxattr = RNBD_ATTR_MAX,
		.doit = rnbd_cmd_attach,
	},
	{
		.cmd = RNBD_CMD_DETACH,
		.flags = GENL_ADMIN_PERM,
		.policy = rnbd_disk_policy,
		.maxattr = RNBD_ATTR_MAX,
		.doit = rnbd_cmd_detach,
	},
	{
		.cmd = RNBD_CMD_LIST,
		.policy = rnbd_list_policy,
		.maxattr = RNBD_ATTR_MAX,
		.doit = rnbd_cmd_list,
		.dumpit = rnbd_dump_list,
	},
	{
		.cmd = RNBD_CMD_DISCOVER,
		.flags = GENL_ADMIN_PERM,
		.policy = rnbd_discover_policy,
		.maxattr = RNBD_ATTR_MAX,
		.start = rnbd_start_discover,
		.dumpit = rnbd_dump_discover,
		.done = rnbd_done_discover,
	},
};

static const struct genl_multicast_group rnbd_genl_groups[] = {
	{ .name = RNBD_GENL_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

static struct genl_family rnbd_genl_family __ro_after_init = {
	.name = RNBD_GENL_NAME,
	.version = RNBD_GENL_VERSION,
	.module = THIS_MODULE,
	.parallel_ops = true,
	.ops = rnbd_genl_ops,
	.n_ops = ARRAY_SIZE(rnbd_genl_ops),
	.mcgrps = rnbd_genl_groups,
	.n_mcgrps = ARRAY_SIZE(rnbd_genl_groups),
	/* strict from the first command on */
	.resv_start_op = RNBD_CMD_ATTACH,
};

/**
 * rnbd_netlink_event - tell all listeners about a new state
 * @sess: session with a disk
 * @change: what has changed; the rest is told as it is now
 *
 * Context: process context, may sleep, not for I/O.
 */
void rnbd_netlink_event(struct rnbd_session *sess, const struct rnbd_change *change)
{
	struct sk_buff *msg;

	if (!genl_has_listeners(&rnbd_genl_family, &init_net, 0))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_NOIO);
	if (!msg) {
		rnbd_netlink_event_lost();
		return;
	}
	if (rnbd_put_session(msg, sess, change, RNBD_CMD_EVENT, NULL, 0, 0)) {
		nlmsg_free(msg);
		rnbd_netlink_event_lost();
		return;
	}
	genlmsg_multicast(&rnbd_genl_family, msg, 0, 0, GFP_NOIO);
}

/**
 * rnbd_netlink_event_lost - let listeners know that they have missed something
 *
 * Context: any.
 */
void rnbd_netlink_event_lost(void)
{
	genl_set_err(&rnbd_genl_family, &init_net, 0, 0, -ENOBUFS);
}

/**
 * rnbd_netlink_stop - nothing is attached any more
 *
 * Context: process context; waits for those who are at it.
 */
void rnbd_netlink_stop(void)
{
	down_write(&rnbd_attach_sem);
	rnbd_attach_stopped = true;
	up_write(&rnbd_attach_sem);
}

/**
 * rnbd_netlink_init - register the family
 *
 * Return: 0 or an error.
 */
int rnbd_netlink_init(void)
{
	return genl_register_family(&rnbd_genl_family);
}

/**
 * rnbd_netlink_exit - unregister the family; commands under way are waited for
 */
void rnbd_netlink_exit(void)
{
	genl_unregister_family(&rnbd_genl_family);
}
