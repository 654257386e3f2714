// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of the generic netlink family "rnbd".
 *
 * Operation: The rnbd tool uses these commands to attach, detach and list disks,
 * to discover exports, and to set secrets. Documentation/netlink/rnbd.yaml
 * describes the commands; netlink_gen.c with the policies and operations is
 * generated from it. A handler must not wait for the network, for I/O or for the load
 * of a module, because generic netlink calls it with a lock that all families use.
 * Therefore attach, detach, discovery and setting a secret run as jobs (job.c).
 * nlparse.c parses requests, nlattr.c writes the attributes of answers, and events.c
 * sends events.
 *
 * Ownership: A command about one disk holds a reference on it. The dump that reports
 * the result of a discovery owns the list of exports. The handler copies a secret from
 * the message to the job and wipes the one in the message, because an error reply
 * repeats the message. A message that the policy refuses reaches no handler. Its
 * error reply goes only to the sender, and repeats the secret unless the sender has
 * set NETLINK_CAP_ACK.
 *
 * Concurrency: Commands run in parallel. rnbdc_disks_lock protects the walk
 * through the list of disks.
 *
 * Errors: The error reply to a command that is refused or fails has a message for the
 * user and, if an attribute is the cause, names that attribute. Only a failure to send
 * an answer has no message.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <rnbd/netlink.h>

#include "../core/discover.h"
#include "../core/names.h"
#include "attach.h"
#include "auth.h"
#include "discover.h"
#include "disk.h"
#include "errmsg.h"
#include "events.h"
#include "exports.h"
#include "job.h"
#include "netlink.h"
#include "netlink_gen.h"
#include "nlattr.h"
#include "nlparse.h"
#include "option_table.h"
#include "options.h"
#include "release.h"
#include "session.h"
#include "state.h"

static struct genl_family rnbdc_genl_family;

/* Describe the current state of a disk as a change from this state to itself. */
static void rnbdc_disk_now(const struct rnbdc_disk *disk, struct rnbdc_change *now)
{
	struct rnbdc_session *sess = disk->sess;
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	*now = (struct rnbdc_change) {
		.from = disk->state,
		.to = disk->state,
		.epoch = sess->epoch,
		.attempt = READ_ONCE(disk->attempt),
		.reason = disk->log.reason,
		.when_ns = disk->state_ns,
	};
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * struct rnbdc_asker - receiver of an answer
 * @portid: netlink port of the receiver's socket
 * @seq: sequence number of the receiver's request
 * @admin: the receiver has CAP_NET_ADMIN or CAP_SYS_ADMIN, and may see the host id and the session
 *	id
 */
struct rnbdc_asker {
	u32 portid;
	u32 seq;
	bool admin;
};

/* Add a complete message about a disk to @msg. */
static int rnbdc_put_answer(struct sk_buff *msg, struct rnbdc_disk *disk,
			    const struct rnbdc_asker *asker, int flags)
{
	struct rnbdc_change now;
	void *hdr;

	hdr = genlmsg_put(msg, asker->portid, asker->seq, &rnbdc_genl_family, flags,
			  RNBD_CMD_LIST);
	if (!hdr)
		return -EMSGSIZE;
	rnbdc_disk_now(disk, &now);
	if (rnbdc_put_disk(msg, disk, &now, asker->admin)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/*
 * Answer a command with the attributes of a disk. A detach takes the disk off the list
 * before it removes the gendisk, so the gendisk stays while rnbdc_disks_lock is held
 * and the disk is on the list.
 */
static int rnbdc_reply_disk(const struct rnbdc_asker *asker, struct rnbdc_disk *disk,
			    struct netlink_ext_ack *extack)
{
	struct sk_buff *msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	int ret = -ENODEV;

	if (!msg) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return -ENOMEM;
	}
	mutex_lock(&rnbdc_disks_lock);
	if (!list_empty(&disk->list))
		ret = rnbdc_put_answer(msg, disk, asker, 0);
	mutex_unlock(&rnbdc_disks_lock);
	if (ret) {
		NL_SET_ERR_MSG(extack, "the disk was detached concurrently");
		nlmsg_free(msg);
		return ret;
	}
	return genlmsg_unicast(&init_net, msg, asker->portid);
}

/**
 * rnbd_nl_admin_pre_doit - refuse a command to callers without CAP_SYS_ADMIN
 * @ops: command
 * @skb: message with the request
 * @info: request
 *
 * The kernel and udev parse the data of a new disk, and the removal of a disk affects all
 * users of the machine. CAP_NET_ADMIN does not suffice for these commands, because a
 * container can have it for its own network.
 *
 * Context: process context of the requester.
 * Return: 0 or -EPERM.
 */
int rnbd_nl_admin_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			   struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	/* info->attrs has maxattr + 1 members and can end before RNBD_ATTR_SECRET. */
	if (ops->maxattr >= RNBD_ATTR_SECRET)
		rnbdc_nl_wipe_secret(info);
	NL_SET_ERR_MSG(info->extack,
		       "not permitted; run it as root (CAP_SYS_ADMIN in the initial user namespace)");
	return -EPERM;
}

/* Start a job if @ret, the result of parsing its request, is 0; free the job otherwise. */
static int rnbdc_start_with_secret(struct rnbdc_job *job, int ret, struct sk_buff *skb,
				   struct genl_info *info)
{
	/* An error reply repeats the message: move the secret from the message to the job. */
	if (job->opt.secret) {
		memcpy(job->secret, job->opt.secret, sizeof(job->secret));
		job->opt.secret = job->secret;
	}
	rnbdc_nl_wipe_secret(info);
	if (!ret)
		return rnbdc_job_start(job, skb, info);
	rnbdc_job_free(job);
	return ret;
}

static int rnbdc_run_attach(struct rnbdc_job *job, struct netlink_ext_ack *extack)
{
	/* rnbd_nl_admin_pre_doit() lets only callers with CAP_SYS_ADMIN attach. */
	struct rnbdc_asker asker = { .portid = job->portid, .seq = job->seq, .admin = true };
	struct rnbdc_disk *disk;
	struct rnbdc_errmsg errmsg = { };
	int ret;

	disk = rnbdc_disk_attach(&job->opt, &errmsg);
	if (IS_ERR(disk)) {
		rnbdc_nl_put_errmsg(extack, &errmsg, PTR_ERR(disk));
		return PTR_ERR(disk);
	}
	ret = rnbdc_reply_disk(&asker, disk, extack);
	rnbdc_disk_put(disk);
	return ret;
}

int rnbd_nl_attach_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbdc_job *job = rnbdc_job_alloc(info, rnbdc_run_attach);

	if (!job) {
		rnbdc_nl_wipe_secret(info);
		return -ENOMEM;
	}
	return rnbdc_start_with_secret(job, rnbdc_nl_parse_attach(info, &job->opt), skb, info);
}

static struct rnbdc_disk *rnbdc_info_disk(struct genl_info *info)
{
	struct rnbdc_disk *disk;
	char name[DISK_NAME_LEN];

	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_DISK)) {
		NL_SET_ERR_MSG(info->extack, "the name of a disk is needed");
		return ERR_PTR(-EINVAL);
	}
	nla_strscpy(name, info->attrs[RNBD_ATTR_DISK], sizeof(name));
	disk = rnbdc_disk_find(name);
	if (!disk) {
		NL_SET_ERR_MSG_ATTR_FMT(info->extack, info->attrs[RNBD_ATTR_DISK],
					"%s is not attached", name);
		return ERR_PTR(-ENODEV);
	}
	return disk;
}

static int rnbdc_run_detach(struct rnbdc_job *job, struct netlink_ext_ack *extack)
{
	struct rnbdc_errmsg errmsg = { };
	int ret;

	ret = rnbdc_disk_detach(job->disk, job->force, &errmsg);
	if (ret)
		rnbdc_nl_put_errmsg(extack, &errmsg, ret);
	/* Drop the reference now: usually this frees the disk before the user gets the reply. */
	rnbdc_disk_put(job->disk);
	job->disk = NULL;
	return ret;
}

int rnbd_nl_detach_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbdc_disk *disk;
	struct rnbdc_job *job;
	u32 flags;
	int ret;

	ret = rnbdc_nl_flags(info, RNBD_FLAG_FORCE, &flags);
	if (ret)
		return ret;
	disk = rnbdc_info_disk(info);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	job = rnbdc_job_alloc(info, rnbdc_run_detach);
	if (!job) {
		rnbdc_disk_put(disk);
		return -ENOMEM;
	}
	job->disk = disk;
	job->force = flags & RNBD_FLAG_FORCE;
	return rnbdc_job_start(job, skb, info);
}

static int rnbdc_run_set_secret(struct rnbdc_job *job, struct netlink_ext_ack *extack)
{
	struct rnbdc_errmsg errmsg = { };
	int ret;

	ret = rnbdc_auth_set_secret(job->disk->sess, job->secret, &errmsg);
	if (ret)
		rnbdc_nl_put_errmsg(extack, &errmsg, ret);
	else
		pr_info("%s: the next login uses a new secret\n",
			rnbdc_disk_name(job->disk));
	rnbdc_disk_put(job->disk);
	job->disk = NULL;
	return ret;
}

int rnbd_nl_set_secret_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbdc_disk *disk;
	struct rnbdc_job *job;

	if (GENL_REQ_ATTR_CHECK(info, RNBD_ATTR_SECRET)) {
		NL_SET_ERR_MSG(info->extack, "a secret is needed");
		return -EINVAL;
	}
	disk = rnbdc_info_disk(info);
	if (IS_ERR(disk)) {
		rnbdc_nl_wipe_secret(info);
		return PTR_ERR(disk);
	}
	/* Run as a job: the allocation of the HMAC transform can wait until a module is loaded. */
	job = rnbdc_job_alloc(info, rnbdc_run_set_secret);
	if (!job) {
		rnbdc_nl_wipe_secret(info);
		rnbdc_disk_put(disk);
		return -ENOMEM;
	}
	job->disk = disk;
	job->opt.secret = nla_data(info->attrs[RNBD_ATTR_SECRET]);
	return rnbdc_start_with_secret(job, 0, skb, info);
}

int rnbd_nl_list_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbdc_asker asker = {
		.portid = info->snd_portid,
		.seq = info->snd_seq,
		.admin = netlink_capable(skb, CAP_NET_ADMIN),
	};
	struct rnbdc_disk *disk = rnbdc_info_disk(info);
	int ret;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	ret = rnbdc_reply_disk(&asker, disk, info->extack);
	rnbdc_disk_put(disk);
	return ret;
}

int rnbd_nl_list_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rnbdc_asker asker = {
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.admin = netlink_capable(cb->skb, CAP_NET_ADMIN),
	};
	struct rnbdc_disk *disk;
	long skip = cb->args[0];
	long n = 0;

	mutex_lock(&rnbdc_disks_lock);
	list_for_each_entry(disk, &rnbdc_disks, list) {
		if (n++ < skip)
			continue;
		if (rnbdc_put_answer(skb, disk, &asker, NLM_F_MULTI)) {
			n--;
			break;
		}
	}
	cb->args[0] = n;
	mutex_unlock(&rnbdc_disks_lock);
	return skb->len;
}

static int rnbdc_run_discover(struct rnbdc_job *job, struct netlink_ext_ack *extack)
{
	struct rnbdc_errmsg errmsg = { };
	int ret;

	ret = rnbdc_discover(&job->opt, &job->exports, &errmsg);
	if (ret)
		rnbdc_nl_put_errmsg(extack, &errmsg, ret);
	return ret;
}

int rnbd_nl_discover_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rnbdc_job *job = rnbdc_job_alloc(info, rnbdc_run_discover);

	if (!job) {
		rnbdc_nl_wipe_secret(info);
		return -ENOMEM;
	}
	job->keep = true;
	return rnbdc_start_with_secret(job, rnbdc_nl_parse_target(info, &job->opt), skb, info);
}

/*
 * Begin the dump that reports the list of exports. A dump writes messages only as fast as the
 * user reads them; messages sent without a dump could overrun the buffer of the socket.
 */
int rnbd_nl_discover_start(struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct rnbdc_job *job;

	if (!netlink_capable(cb->skb, CAP_SYS_ADMIN)) {
		NL_SET_ERR_MSG(info->extack,
			       "not permitted; run it as root (CAP_SYS_ADMIN in the initial user namespace)");
		return -EPERM;
	}
	job = rnbdc_job_take_finished(NETLINK_CB(cb->skb).portid);
	if (!job) {
		NL_SET_ERR_MSG(info->extack,
			       "this socket has no list of exports; discover them first");
		return -ENODATA;
	}
	cb->args[0] = (long)job;
	return 0;
}

/* Fill one message with as many exports as fit. */
int rnbd_nl_discover_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rnbdc_job *job = (void *)cb->args[0];
	const struct rnbd_export_info *export = rnbdc_exports_first(&job->exports);
	struct nlattr *nest = NULL;
	void *hdr;

	if (!export)
		return 0;
	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &rnbdc_genl_family, NLM_F_MULTI, RNBD_CMD_DISCOVER);
	if (hdr)
		nest = nla_nest_start(skb, RNBD_ATTR_EXPORTS);
	if (!nest || rnbdc_put_export(skb, export)) {
		if (hdr)
			genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	do {
		rnbdc_exports_remove_first(&job->exports);
		export = rnbdc_exports_first(&job->exports);
	} while (export && !rnbdc_put_export(skb, export));
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return skb->len;
}

int rnbd_nl_discover_done(struct netlink_callback *cb)
{
	rnbdc_job_free((void *)cb->args[0]);
	return 0;
}

/* Used in place of the generated rnbd_nl_mcgrps[], which requires no capability of listeners. */
static const struct genl_multicast_group rnbdc_genl_groups[] = {
	[RNBD_NLGRP_EVENTS] = {
		.name = RNBD_GENL_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

static struct genl_family rnbdc_genl_family __ro_after_init = {
	.name = RNBD_GENL_NAME,
	.version = RNBD_GENL_VERSION,
	.module = THIS_MODULE,
	.parallel_ops = true,
	.split_ops = rnbd_nl_ops,
	.n_split_ops = ARRAY_SIZE(rnbd_nl_ops),
	.mcgrps = rnbdc_genl_groups,
	.n_mcgrps = ARRAY_SIZE(rnbdc_genl_groups),
	/* strict validation of all commands, from the first one on */
	.resv_start_op = RNBD_CMD_ATTACH,
};

/*
 * Test whether the array of attributes of ATTACH has a member for the attribute of each option,
 * because rnbdc_nl_parse_requested() reads all these members. The size of the array is generated
 * from the attributes that the specification lists for ATTACH.
 */
static bool rnbdc_attach_has_options(void)
{
	const struct rnbdc_option *row;
	size_t i = 0;

	while (rnbd_nl_ops[i].cmd != RNBD_CMD_ATTACH)
		i++;
	for (row = rnbdc_option_table; row->name; row++) {
		if (row->attr > rnbd_nl_ops[i].maxattr)
			return false;
	}
	return true;
}

/**
 * rnbdc_netlink_init - register the family
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdc_netlink_init(void)
{
	if (WARN_ON(!rnbdc_attach_has_options()))
		return -EINVAL;
	rnbdc_events_init(&rnbdc_genl_family, RNBD_NLGRP_EVENTS);
	return genl_register_family(&rnbdc_genl_family);
}

/**
 * rnbdc_netlink_exit - unregister the family
 *
 * Context: process context, may sleep; waits for handlers in progress.
 */
void rnbdc_netlink_exit(void)
{
	genl_unregister_family(&rnbdc_genl_family);
}
