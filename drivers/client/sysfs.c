// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/block/rnbdX/rnbd/ and /sys/kernel/rnbd/: state, options and counters.
 *
 * Operation: Each file holds one value. The directory of a disk shows the state of
 * the disk, and the granted limits and counters of its session. The counters of the
 * session are the same for all its disks, and start at zero when the session is
 * created. Counters of queues are added up when they are read.
 * /sys/kernel/rnbd/violations/ counts the protocol errors of all targets by
 * kind.
 *
 * Ownership: The files of a disk exist from the addition of the disk to its removal.
 * The session exists at least as long.
 *
 * Concurrency: Counters are read under the lock of their queue, resources of
 * the connection under conn_lock.
 *
 * Errors: Reading fails only for remote_access, if there is no connection or the
 * device reports an error. Writing requires CAP_SYS_ADMIN and a valid value; deactivate
 * accepts only a true boolean.
 */

#include <linux/blkdev.h>
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/ring_setup.h"
#include "deactivate.h"
#include "disk.h"
#include "errmsg.h"
#include "names.h"
#include "option_table.h"
#include "queue.h"
#include "session.h"
#include "state.h"
#include "sysfs.h"

static struct rnbdc_disk *rnbdc_dev_disk(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

static struct rnbdc_session *rnbdc_dev_session(struct device *dev)
{
	return rnbdc_dev_disk(dev)->sess;
}

#define RNBDC_ATTR_SHOW_MODE(_name, mode, fmt, args...)				\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	const struct rnbdc_disk *disk = rnbdc_dev_disk(dev);			\
										\
	return sysfs_emit(buf, fmt "\n", args);					\
}										\
static struct device_attribute dev_attr_##_name = __ATTR_RO_MODE(_name, mode)

#define RNBDC_ATTR_SHOW(_name, fmt, args...)					\
	RNBDC_ATTR_SHOW_MODE(_name, 0444, fmt, args)

RNBDC_ATTR_SHOW(state, "%s", rnbdc_state_text(READ_ONCE(disk->state)));
RNBDC_ATTR_SHOW(reason, "%s", READ_ONCE(disk->log.reason) ?: "");
RNBDC_ATTR_SHOW(violations, "%llu", (u64)atomic64_read(&disk->sess->stats.proto_errs));
RNBDC_ATTR_SHOW(export, "%s", disk->opt.export);
RNBDC_ATTR_SHOW(address, "%pISpc", &disk->sess->opt.dst);
/* Only for root: if a host has no secret, its session id and host id suffice to impersonate it. */
RNBDC_ATTR_SHOW_MODE(session_id, 0400, "%pU", disk->sess->id);
RNBDC_ATTR_SHOW(export_id, "%pU", disk->export_uuid);

/* Show the latest error: reason of a loss or deactivation, or message of a later failed attempt. */
static ssize_t last_error_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	char error[RNBDC_ERRMSG_SIZE];

	rnbdc_disk_last_error(rnbdc_dev_disk(dev), error);
	return sysfs_emit(buf, "%s\n", error);
}
static DEVICE_ATTR_RO(last_error);

/*
 * Show the error of the latest failed attempt to connect a queue other than 0. The file is empty
 * if all queues are connected.
 */
static ssize_t connection_error_show(struct device *dev, struct device_attribute *attr,
				     char *buf)
{
	struct rnbdc_session *sess = rnbdc_dev_session(dev);
	char error[RNBDC_ERRMSG_SIZE];
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	memcpy(error, sess->further_error, sizeof(error));
	spin_unlock_irqrestore(&sess->lock, flags);
	return sysfs_emit(buf, "%s\n", error);
}
static DEVICE_ATTR_RO(connection_error);

static ssize_t next_try_ms_show(struct device *dev, struct device_attribute *attr,
				char *buf)
{
	const struct rnbdc_disk *disk = rnbdc_dev_disk(dev);

	return sysfs_emit(buf, "%u\n", rnbdc_next_try_ms(disk));
}
static DEVICE_ATTR_RO(next_try_ms);

/* Deactivate a disk for good. A detach removes the file, and waits until this function ends. */
static ssize_t deactivate_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	/* The file mode does not suffice: root of a container can write without the capability. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (ret)
		return ret;
	if (!on)
		return -EINVAL;
	rnbdc_recover_deactivate(rnbdc_dev_disk(dev));
	return count;
}
static DEVICE_ATTR_WO(deactivate);

/*
 * Show the remote access flags that the device reports for the queue pairs, combined over
 * all queues. A value other than 0 means that the driver has not disabled remote access.
 */
static ssize_t remote_access_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	struct rnbdc_session *sess = rnbdc_dev_session(dev);
	u32 flags = 0, queue_flags, i;
	unsigned int noio;
	int ret = -ENOTCONN;

	/* Recovery can wait for conn_lock, so an allocation under it must not wait for I/O. */
	noio = memalloc_noio_save();
	mutex_lock(&sess->conn_lock);
	for (i = 0; i < sess->nr_queues; i++) {
		if (!READ_ONCE(sess->queues[i]->ready))
			continue;
		ret = rnbd_ring_query_remote_access(&sess->queues[i]->ring, &queue_flags);
		if (ret)
			break;
		flags |= queue_flags;
	}
	mutex_unlock(&sess->conn_lock);
	memalloc_noio_restore(noio);
	return ret ?: sysfs_emit(buf, "%#x\n", flags);
}
static DEVICE_ATTR_RO(remote_access);

/**
 * struct rnbdc_number - a sysfs file with a number
 * @file: attribute of the file
 * @field: member with the number, in struct rnbdc_session, rnbdc_disk or rnbdc_queue
 *	depending on the show function of @file
 */
struct rnbdc_number {
	struct device_attribute file;
	struct rnbdc_field field;
};

static ssize_t rnbdc_number_show(struct device *dev, struct device_attribute *attr,
				 char *buf)
{
	const struct rnbdc_number *number = container_of_const(attr, struct rnbdc_number, file);

	return sysfs_emit(buf, "%llu\n",
			  rnbdc_field_read(rnbdc_dev_session(dev), number->field));
}

static ssize_t rnbdc_disk_number_show(struct device *dev, struct device_attribute *attr,
				      char *buf)
{
	const struct rnbdc_number *number = container_of_const(attr, struct rnbdc_number, file);

	return sysfs_emit(buf, "%llu\n", rnbdc_field_read(rnbdc_dev_disk(dev), number->field));
}

/* Show the sum of a counter over all queues of the session. */
static ssize_t rnbdc_counter_show(struct device *dev, struct device_attribute *attr,
				  char *buf)
{
	const struct rnbdc_number *number = container_of_const(attr, struct rnbdc_number, file);
	struct rnbdc_session *sess = rnbdc_dev_session(dev);
	unsigned long flags;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < sess->nr_queues; i++) {
		struct rnbdc_queue *q = sess->queues[i];

		spin_lock_irqsave(&q->ring.lock, flags);
		sum += rnbdc_field_read(q, number->field);
		spin_unlock_irqrestore(&q->ring.lock, flags);
	}
	return sysfs_emit(buf, "%llu\n", sum);
}

#define RNBDC_VALUE(name, member) {						\
	.file = __ATTR(name, 0444, rnbdc_number_show, NULL),			\
	.field = RNBDC_FIELD(struct rnbdc_session, member),			\
}

#define RNBDC_DISK_VALUE(name, member) {					\
	.file = __ATTR(name, 0444, rnbdc_disk_number_show, NULL),		\
	.field = RNBDC_FIELD(struct rnbdc_disk, member),			\
}

#define RNBDC_COUNTER(name, member) {						\
	.file = __ATTR(name, 0444, rnbdc_counter_show, NULL),			\
	.field = RNBDC_FIELD(struct rnbdc_queue, member),			\
}

static struct rnbdc_number rnbdc_numbers[] = {
	RNBDC_DISK_VALUE(attempt, attempt),
	RNBDC_VALUE(connections_lost, stats.connections_lost),
	RNBDC_VALUE(reconnects, stats.reconnects),
	RNBDC_DISK_VALUE(target_restarts, stats.target_restarts),
	RNBDC_DISK_VALUE(resent_requests, stats.resent_requests.counter),
	RNBDC_DISK_VALUE(held_writes, nr_held),
	RNBDC_VALUE(epoch, epoch),
	RNBDC_VALUE(connections, nr_connected),
	RNBDC_VALUE(pool_units, lease.held),
	RNBDC_VALUE(pool_floor_units, grant.pool_units),
	RNBDC_VALUE(pool_max_units, grant.max_units),
	RNBDC_VALUE(pool_requested_units, lease.want),
	RNBDC_VALUE(pool_grants, lease.grants),
	RNBDC_VALUE(pool_releases, lease.releases),
	RNBDC_VALUE(pool_reclaims, lease.reclaims),
	RNBDC_VALUE(segment_units, grant.segment_units),
	RNBDC_COUNTER(pool_used, cache.pool.used),
	RNBDC_COUNTER(pool_peak, cache.pool.peak),
	RNBDC_COUNTER(requests, stats.requests),
	RNBDC_COUNTER(rdma_writes, stats.rdma_writes),
	RNBDC_COUNTER(rdma_reads, stats.rdma_reads),
	RNBDC_COUNTER(rdma_write_bytes, stats.rdma_write_bytes),
	RNBDC_COUNTER(rdma_read_bytes, stats.rdma_read_bytes),
	RNBDC_COUNTER(coalesced, stats.coalesced),
	RNBDC_COUNTER(gathered, stats.gathered),
	RNBDC_COUNTER(send_fences, stats.send_fences),
	RNBDC_COUNTER(read_guards, stats.read_guards),
	RNBDC_COUNTER(inline_reads, stats.inline_reads),
	RNBDC_COUNTER(inline_writes, stats.inline_writes),
	RNBDC_COUNTER(frames_unsignaled, ring.stats.unsignaled),
	RNBDC_COUNTER(polled, ring.stats.polled),
	RNBDC_COUNTER(credit_stalls, stats.credit_stalls),
	RNBDC_COUNTER(sq_stalls, stats.sq_stalls),
	RNBDC_COUNTER(pool_stalls, stats.pool_stalls),
	RNBDC_COUNTER(queue_starts, stats.queue_starts),
	RNBDC_COUNTER(fragmented, stats.fragmented),
	RNBDC_COUNTER(nomem_retries, stats.nomem_retries),
	RNBDC_COUNTER(slow_requests, stats.slow_requests),
	RNBDC_COUNTER(orphans, stats.orphans),
	RNBDC_COUNTER(frames_sent, ring.stats.frames_sent),
	RNBDC_COUNTER(frames_received, ring.stats.frames_received),
	RNBDC_COUNTER(entries_sent, ring.stats.entries_sent),
	RNBDC_COUNTER(credit_frames_sent, ring.stats.credit_frames_sent),
	RNBDC_COUNTER(credit_frames_received, ring.stats.credit_frames_received),
	RNBDC_COUNTER(recv_slots, ring.in.slots),
	RNBDC_COUNTER(send_slots, ring.nr_send),
	RNBDC_COUNTER(peer_slots, ring.out.slots),
	RNBDC_COUNTER(depth_allocated, ring.out.depth),
	RNBDC_COUNTER(rings_grown, ring.stats.grown),
	RNBDC_COUNTER(rings_shrunk, ring.stats.shrunk),
};

static struct device_attribute rnbdc_option_files[RNBDC_OPTIONS_MAX];

static const struct rnbdc_option *rnbdc_file_option(const struct device_attribute *attr)
{
	return &rnbdc_option_table[attr - rnbdc_option_files];
}

static ssize_t rnbdc_option_show(struct device *dev, struct device_attribute *attr,
				 char *buf)
{
	const struct rnbdc_option *row = rnbdc_file_option(attr);
	const struct rnbdc_disk *disk = rnbdc_dev_disk(dev);
	u64 value;

	if (row->type == RNBDC_OPTION_TEXT)
		return sysfs_emit(buf, "%s\n", rnbdc_option_text(row, disk));
	value = rnbdc_option_granted(row, disk);
	if (row->words)
		return sysfs_emit(buf, "%s\n", row->words[value]);
	return sysfs_emit(buf, "%llu\n", value);
}

static ssize_t rnbdc_option_store(struct device *dev, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	const struct rnbdc_option *row = rnbdc_file_option(attr);
	bool on = false;
	u64 value;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (row->type == RNBDC_OPTION_FLAG) {
		ret = kstrtobool(buf, &on);
		value = on;
	} else {
		ret = kstrtou64(buf, 0, &value);
	}
	if (ret)
		return ret;
	ret = rnbdc_option_change(row, rnbdc_dev_disk(dev), value);
	return ret ?: count;
}

static struct attribute *rnbdc_other_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_reason.attr,
	&dev_attr_last_error.attr,
	&dev_attr_next_try_ms.attr,
	&dev_attr_connection_error.attr,
	&dev_attr_violations.attr,
	&dev_attr_export.attr,
	&dev_attr_address.attr,
	&dev_attr_session_id.attr,
	&dev_attr_export_id.attr,
	&dev_attr_deactivate.attr,
	&dev_attr_remote_access.attr,
};

/* All files of a disk, filled by rnbdc_sysfs_init() and terminated by NULL */
static struct attribute *rnbdc_disk_attrs[ARRAY_SIZE(rnbdc_other_attrs) +
					  ARRAY_SIZE(rnbdc_numbers) +
					  RNBDC_OPTIONS_MAX + 1];

static const struct attribute_group rnbdc_disk_group = {
	.name = "rnbd",
	.attrs = rnbdc_disk_attrs,
};

const struct attribute_group *rnbdc_disk_groups[] = {
	&rnbdc_disk_group,
	NULL
};

static void rnbdc_fill_disk_attrs(void)
{
	struct attribute **next = rnbdc_disk_attrs;
	const struct rnbdc_option *row;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rnbdc_other_attrs); i++)
		*next++ = rnbdc_other_attrs[i];
	for (i = 0; i < ARRAY_SIZE(rnbdc_numbers); i++)
		*next++ = &rnbdc_numbers[i].file.attr;
	for (row = rnbdc_option_table; row->name; row++) {
		struct device_attribute *file = &rnbdc_option_files[row - rnbdc_option_table];

		if (!row->mode)
			continue;
		*file = (struct device_attribute) {
			.attr = { .name = row->name, .mode = row->mode },
			.show = rnbdc_option_show,
			/* chmod can make a read-only file writable: omit the store function. */
			.store = row->mode & 0200 ? rnbdc_option_store : NULL,
		};
		*next++ = &file->attr;
	}
}

static struct kobject *rnbdc_kobj;
static struct kobj_attribute rnbdc_proto_err_files[RNBD_PERR_KINDS];
static struct attribute *rnbdc_proto_err_attrs[RNBD_PERR_KINDS];

static const struct attribute_group rnbdc_proto_err_group = {
	.name = "violations",
	.attrs = rnbdc_proto_err_attrs,
};

static ssize_t rnbdc_proto_err_show(struct kobject *kobj, struct kobj_attribute *attr,
				    char *buf)
{
	atomic64_t *count = &rnbdc_proto_err_counts[attr - rnbdc_proto_err_files];

	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(count));
}

/**
 * rnbdc_sysfs_init - create the files of the module, and fill the table of disk files
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdc_sysfs_init(void)
{
	u32 i;

	rnbdc_fill_disk_attrs();
	/* RNBD_PERR_NONE has no file, so the last member stays NULL and ends the array. */
	for (i = RNBD_PERR_NONE + 1; i < RNBD_PERR_KINDS; i++) {
		rnbdc_proto_err_files[i] = (struct kobj_attribute) {
			.attr = { .name = rnbd_proto_err_word(i), .mode = 0444 },
			.show = rnbdc_proto_err_show,
		};
		rnbdc_proto_err_attrs[i - 1] = &rnbdc_proto_err_files[i].attr;
	}
	rnbdc_kobj = kobject_create_and_add("rnbd", kernel_kobj);
	if (!rnbdc_kobj)
		return -ENOMEM;
	if (sysfs_create_group(rnbdc_kobj, &rnbdc_proto_err_group)) {
		kobject_put(rnbdc_kobj);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rnbdc_sysfs_exit - remove the files of the module
 *
 * Context: process context, may sleep; no session exists.
 */
void rnbdc_sysfs_exit(void)
{
	sysfs_remove_group(rnbdc_kobj, &rnbdc_proto_err_group);
	kobject_put(rnbdc_kobj);
}
