// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/block/rnbdX/rnbd/: state, geometry and counters of an attached disk, and
 * /sys/kernel/rnbd/violations/: what targets have done that the protocol forbids.
 *
 * Operation: one value per file. Counters are kept per queue and added up
 * when they are read; they start at zero when the disk is attached.
 * Ownership: the files live as long as the disk is added, and so does the
 * session behind it.
 * Concurrency: counters are read under the lock of their queue, resources of
 * the connection under conn_lock.
 * Errors: reading never fails; writing wants a boolean, deactivate a true one.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>

#include "client.h"

static struct rnbd_session *rnbd_dev_session(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

#define RNBD_ATTR_SHOW_MODE(_name, mode, fmt, args...)				\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	struct rnbd_session *sess = rnbd_dev_session(dev);			\
										\
	return sysfs_emit(buf, fmt "\n", args);					\
}										\
static struct device_attribute dev_attr_##_name = __ATTR_RO_MODE(_name, mode)

#define RNBD_ATTR_SHOW(_name, fmt, args...)					\
	RNBD_ATTR_SHOW_MODE(_name, 0444, fmt, args)

RNBD_ATTR_SHOW(state, "%s", rnbd_state_text(READ_ONCE(sess->state)));
RNBD_ATTR_SHOW(reason, "%s", READ_ONCE(sess->reason) ?: "");
RNBD_ATTR_SHOW(attempt, "%u", READ_ONCE(sess->attempt));
RNBD_ATTR_SHOW(lost, "%llu", READ_ONCE(sess->lost));
RNBD_ATTR_SHOW(reconnects, "%llu", READ_ONCE(sess->reconnects));
RNBD_ATTR_SHOW(restarts, "%llu", READ_ONCE(sess->restarts));
RNBD_ATTR_SHOW(replayed, "%llu", READ_ONCE(sess->replayed));
RNBD_ATTR_SHOW(violations, "%llu", (u64)atomic64_read(&sess->violations));
RNBD_ATTR_SHOW(policy, "%s", sess->opt.fail_policy ? "fail" : "queue");
RNBD_ATTR_SHOW(fast_io_fail, "%u", sess->opt.fast_io_fail);
RNBD_ATTR_SHOW(loss_timeout, "%u", sess->opt.loss_timeout);
RNBD_ATTR_SHOW(transfer, "%s", sess->opt.copy ? "copy" : "zero-copy");
RNBD_ATTR_SHOW(keepalive_ms, "%u", READ_ONCE(sess->grant.keepalive_ms));
RNBD_ATTR_SHOW(name, "%s", sess->opt.name);
RNBD_ATTR_SHOW(export, "%s", sess->opt.export);
RNBD_ATTR_SHOW(address, "%pISpc", &sess->opt.dst);
/* Whoever knows it, and the host id, can pretend to be this session. */
RNBD_ATTR_SHOW_MODE(session_id, 0400, "%pU", sess->id);
RNBD_ATTR_SHOW(export_id, "%pU", sess->grant.export_uuid);
RNBD_ATTR_SHOW(epoch, "%u", sess->epoch);
RNBD_ATTR_SHOW(queues, "%u", sess->nr_queues);
RNBD_ATTR_SHOW(poll_queues, "%u", sess->nr_poll);
RNBD_ATTR_SHOW(depth, "%u", sess->grant.queue_depth);
RNBD_ATTR_SHOW(ring_slots, "%u", sess->opt.ring_slots);
RNBD_ATTR_SHOW(slot_size, "%u", sess->opt.slot_size);
RNBD_ATTR_SHOW(inline_read, "%u", READ_ONCE(sess->grant.inline_read));
RNBD_ATTR_SHOW(inline_write, "%u", READ_ONCE(sess->grant.inline_write));
RNBD_ATTR_SHOW(pool_units, "%u", sess->grant.pool_units);
RNBD_ATTR_SHOW(segment_units, "%u", sess->grant.segment_units);

/* Why the last attempt to connect failed, while there is no connection. */
static ssize_t last_error_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	char error[RNBD_WHY_SIZE];

	rnbd_session_last_error(rnbd_dev_session(dev), error);
	return sysfs_emit(buf, "%s\n", error);
}
static DEVICE_ATTR_RO(last_error);

static ssize_t next_try_ms_show(struct device *dev, struct device_attribute *attr,
				char *buf)
{
	struct rnbd_session *sess = rnbd_dev_session(dev);
	long left = (long)(READ_ONCE(sess->next_try) - jiffies);

	if (READ_ONCE(sess->state) != RNBD_RECONNECTING || left < 0)
		left = 0;
	return sysfs_emit(buf, "%u\n", jiffies_to_msecs(left));
}
static DEVICE_ATTR_RO(next_try_ms);

static ssize_t early_release_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(rnbd_dev_session(dev)->early_release));
}

static ssize_t early_release_store(struct device *dev,
				   struct device_attribute *attr,
				   const char *buf, size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	if (on && rnbd_dev_session(dev)->opt.copy)
		return -EINVAL;
	WRITE_ONCE(rnbd_dev_session(dev)->early_release, on);
	return count;
}
static DEVICE_ATTR_RW(early_release);

/* Nothing undoes it but a detach, for which the file waits until this returns. */
static ssize_t deactivate_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	if (!on)
		return -EINVAL;
	rnbd_recover_deactivate(rnbd_dev_session(dev));
	return count;
}
static DEVICE_ATTR_WO(deactivate);

/*
 * Remote access that the device grants on our queue pairs, as the device
 * itself says: all flags of all queues, which has to be 0.
 */
static ssize_t remote_access_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	struct rnbd_session *sess = rnbd_dev_session(dev);
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr qp_attr;
	unsigned int flags = 0, noio;
	int ret = -ENOTCONN;
	u32 i;

	/* Recovery waits for the lock, and memory may wait for recovery. */
	noio = memalloc_noio_save();
	mutex_lock(&sess->conn_lock);
	for (i = 0; i < sess->nr_queues && sess->queues[i]->ring.qp; i++) {
		ret = ib_query_qp(sess->queues[i]->ring.qp, &qp_attr,
				  IB_QP_ACCESS_FLAGS, &init_attr);
		if (ret)
			break;
		flags |= qp_attr.qp_access_flags;
	}
	mutex_unlock(&sess->conn_lock);
	memalloc_noio_restore(noio);
	return ret ?: sysfs_emit(buf, "%#x\n", flags);
}
static DEVICE_ATTR_RO(remote_access);

/* Add up a u64 (wide) or u32 at @offset into struct rnbd_queue. */
static u64 rnbd_sum(struct rnbd_session *sess, size_t offset, bool wide)
{
	unsigned long flags;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < sess->nr_queues; i++) {
		struct rnbd_queue *q = sess->queues[i];
		void *counter = (void *)q + offset;

		spin_lock_irqsave(&q->ring.lock, flags);
		sum += wide ? *(u64 *)counter : *(u32 *)counter;
		spin_unlock_irqrestore(&q->ring.lock, flags);
	}
	return sum;
}

#define RNBD_COUNTER(_name, _member)						\
RNBD_ATTR_SHOW(_name, "%llu",							\
	       rnbd_sum(sess, offsetof(struct rnbd_queue, _member), true))

#define RNBD_GAUGE(_name, _member)						\
RNBD_ATTR_SHOW(_name, "%llu",							\
	       rnbd_sum(sess, offsetof(struct rnbd_queue, _member), false))

RNBD_GAUGE(pool_used, pool.used);
RNBD_GAUGE(pool_peak, pool.peak);
RNBD_COUNTER(requests, stats.requests);
RNBD_COUNTER(rdma_writes, stats.rdma_writes);
RNBD_COUNTER(rdma_reads, stats.rdma_reads);
RNBD_COUNTER(rdma_write_bytes, stats.rdma_write_bytes);
RNBD_COUNTER(rdma_read_bytes, stats.rdma_read_bytes);
RNBD_COUNTER(coalesced, stats.coalesced);
RNBD_COUNTER(gathered, stats.gathered);
RNBD_COUNTER(fences, stats.fences);
RNBD_COUNTER(read_guards, stats.read_guards);
RNBD_COUNTER(inline_reads, stats.inline_reads);
RNBD_COUNTER(inline_writes, stats.inline_writes);
RNBD_COUNTER(frames_unsignaled, ring.stats.unsignaled);
RNBD_COUNTER(polled, ring.stats.polled);
RNBD_COUNTER(credit_stalls, stats.credit_stalls);
RNBD_COUNTER(sq_stalls, stats.sq_stalls);
RNBD_COUNTER(pool_stalls, stats.pool_stalls);
RNBD_COUNTER(starts, stats.starts);
RNBD_COUNTER(fragmented, stats.fragmented);
RNBD_COUNTER(frames_sent, ring.stats.frames_sent);
RNBD_COUNTER(frames_received, ring.stats.frames_received);
RNBD_COUNTER(entries_sent, ring.stats.entries_sent);
RNBD_COUNTER(credit_frames_sent, ring.stats.credit_frames_sent);
RNBD_COUNTER(credit_frames_received, ring.stats.credit_frames_received);

static struct attribute *rnbd_disk_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_reason.attr,
	&dev_attr_last_error.attr,
	&dev_attr_attempt.attr,
	&dev_attr_next_try_ms.attr,
	&dev_attr_lost.attr,
	&dev_attr_reconnects.attr,
	&dev_attr_restarts.attr,
	&dev_attr_replayed.attr,
	&dev_attr_violations.attr,
	&dev_attr_policy.attr,
	&dev_attr_fast_io_fail.attr,
	&dev_attr_loss_timeout.attr,
	&dev_attr_transfer.attr,
	&dev_attr_keepalive_ms.attr,
	&dev_attr_name.attr,
	&dev_attr_export.attr,
	&dev_attr_address.attr,
	&dev_attr_session_id.attr,
	&dev_attr_export_id.attr,
	&dev_attr_epoch.attr,
	&dev_attr_queues.attr,
	&dev_attr_poll_queues.attr,
	&dev_attr_depth.attr,
	&dev_attr_ring_slots.attr,
	&dev_attr_slot_size.attr,
	&dev_attr_inline_read.attr,
	&dev_attr_inline_write.attr,
	&dev_attr_pool_units.attr,
	&dev_attr_segment_units.attr,
	&dev_attr_early_release.attr,
	&dev_attr_deactivate.attr,
	&dev_attr_remote_access.attr,
	&dev_attr_pool_used.attr,
	&dev_attr_pool_peak.attr,
	&dev_attr_requests.attr,
	&dev_attr_rdma_writes.attr,
	&dev_attr_rdma_reads.attr,
	&dev_attr_rdma_write_bytes.attr,
	&dev_attr_rdma_read_bytes.attr,
	&dev_attr_coalesced.attr,
	&dev_attr_gathered.attr,
	&dev_attr_fences.attr,
	&dev_attr_read_guards.attr,
	&dev_attr_inline_reads.attr,
	&dev_attr_inline_writes.attr,
	&dev_attr_frames_unsignaled.attr,
	&dev_attr_polled.attr,
	&dev_attr_credit_stalls.attr,
	&dev_attr_sq_stalls.attr,
	&dev_attr_pool_stalls.attr,
	&dev_attr_starts.attr,
	&dev_attr_fragmented.attr,
	&dev_attr_frames_sent.attr,
	&dev_attr_frames_received.attr,
	&dev_attr_entries_sent.attr,
	&dev_attr_credit_frames_sent.attr,
	&dev_attr_credit_frames_received.attr,
	NULL
};

static const struct attribute_group rnbd_disk_group = {
	.name = "rnbd",
	.attrs = rnbd_disk_attrs,
};

const struct attribute_group *rnbd_disk_groups[] = {
	&rnbd_disk_group,
	NULL
};

/* ------------------------------------------------------------------------
 * Counters of the module: a target that is not attached from has no disk
 */

static struct kobject *rnbd_kobj;
static atomic64_t rnbd_violation_counts[RNBD_FAULT_KINDS];
static struct kobj_attribute rnbd_violation_files[RNBD_FAULT_KINDS];
static struct attribute *rnbd_violation_attrs[RNBD_FAULT_KINDS];

static const struct attribute_group rnbd_violation_group = {
	.name = "violations",
	.attrs = rnbd_violation_attrs,
};

static ssize_t rnbd_violations_show(struct kobject *kobj, struct kobj_attribute *attr,
				    char *buf)
{
	atomic64_t *count = &rnbd_violation_counts[attr - rnbd_violation_files];

	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(count));
}

/**
 * rnbd_violated - a target has broken a rule
 * @sess: session whose target it was
 * @fault: which
 *
 * Context: any; the connection is about to be ended.
 */
void rnbd_violated(struct rnbd_session *sess, enum rnbd_fault fault)
{
	atomic64_inc(&rnbd_violation_counts[fault]);
	atomic64_inc(&sess->violations);
	pr_warn_ratelimited("%s: the target at %s broke the protocol: %s\n",
			    rnbd_session_name(sess), sess->opt.addr,
			    rnbd_fault_text(fault));
}

/**
 * rnbd_sysfs_init - show the counters of the module
 *
 * Return: 0 or -ENOMEM.
 */
int rnbd_sysfs_init(void)
{
	u32 i;

	/* the last member stays NULL: there is no file for RNBD_FAULT_NONE */
	for (i = RNBD_FAULT_NONE + 1; i < RNBD_FAULT_KINDS; i++) {
		rnbd_violation_files[i] = (struct kobj_attribute) {
			.attr = { .name = rnbd_fault_word(i), .mode = 0444 },
			.show = rnbd_violations_show,
		};
		rnbd_violation_attrs[i - 1] = &rnbd_violation_files[i].attr;
	}
	rnbd_kobj = kobject_create_and_add("rnbd", kernel_kobj);
	if (!rnbd_kobj)
		return -ENOMEM;
	if (sysfs_create_group(rnbd_kobj, &rnbd_violation_group)) {
		kobject_put(rnbd_kobj);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rnbd_sysfs_exit - remove them
 *
 * There is no session any more.
 */
void rnbd_sysfs_exit(void)
{
	sysfs_remove_group(rnbd_kobj, &rnbd_violation_group);
	kobject_put(rnbd_kobj);
}
