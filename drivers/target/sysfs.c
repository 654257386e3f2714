// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/rnbd-target/: sessions and counters.
 *
 * Operation: sessions/<serial>/ shows the state of a session. limits/, violations/ and refused/
 * contain the counters of counters.c, one value per file. Objects that the administrator creates
 * are in configfs; clients create sessions, so sysfs shows these.
 *
 * Ownership: a directory holds a reference on its session. The end of the teardown removes the
 * directory.
 *
 * Concurrency: a reader of sysfs that waits for memory can block the creation of a directory, and
 * memory reclaim can wait for the login of a client. So a work item creates the directory, and no
 * login waits for the work item. The teardown waits for the work item, so the work item allocates
 * without I/O. The directory is removed after the session has left rnbdt_sessions. The removal
 * waits for readers, so the caller must hold no lock. Readers take no lock of the module: a user
 * who reads often must not delay logins or I/O.
 *
 * Errors: a session whose directory cannot be created works without it.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "../core/names.h"
#include "attached.h"
#include "counters.h"
#include "names.h"
#include "session.h"
#include "state.h"
#include "sysfs.h"
#include "target.h"

static struct kobject *rnbdt_kobj;
static struct kobject *rnbdt_sessions_kobj;
static struct workqueue_struct *rnbdt_sysfs_wq;

static struct rnbdt_session *rnbdt_to_session(struct kobject *kobj)
{
	return container_of(kobj, struct rnbdt_session, sysfs.kobj);
}

#define RNBDT_ATTR_MODE(_name, mode, fmt, args...)				\
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr,	\
			    char *buf)						\
{										\
	struct rnbdt_session *s = rnbdt_to_session(kobj);			\
										\
	return sysfs_emit(buf, fmt "\n", args);					\
}										\
static struct kobj_attribute rnbdt_attr_##_name = __ATTR_RO_MODE(_name, mode)

#define RNBDT_ATTR(_name, fmt, args...)						\
	RNBDT_ATTR_MODE(_name, 0444, fmt, args)

/*
 * Files that only root can read: a peer that knows host_id and session_id can impersonate a client
 * that has no secret, and the counters reveal the activity of the client.
 */
#define RNBDT_ADMIN_ATTR(_name, fmt, args...)					\
	RNBDT_ATTR_MODE(_name, 0400, fmt, args)

RNBDT_ATTR(state, "%s", rnbdt_state_text(READ_ONCE(s->state)));
RNBDT_ATTR(reason, "%s", READ_ONCE(s->log.reason) ?: "");
RNBDT_ADMIN_ATTR(host_id, "%pUb", &s->host_id);
RNBDT_ADMIN_ATTR(session_id, "%pUb", &s->session_id);
RNBDT_ATTR(port, "%s", s->port_name);
RNBDT_ATTR(address, "%pISc", &s->peer);
RNBDT_ATTR(epoch, "%u", s->epoch);
RNBDT_ATTR(queues, "%u", READ_ONCE(s->granted.nr_queues));
RNBDT_ATTR(depth, "%u", READ_ONCE(s->granted.depth));
RNBDT_ATTR(pool_bytes, "%llu", READ_ONCE(s->account.pool_bytes));
RNBDT_ATTR(queue_bytes, "%llu", READ_ONCE(s->account.queue_bytes));
RNBDT_ATTR(memory_bytes, "%llu", READ_ONCE(s->account.pool_bytes) +
				 READ_ONCE(s->account.queue_bytes) +
				 atomic64_read(&s->account.io_bytes));
RNBDT_ATTR(pool_floor, "%llu", READ_ONCE(s->account.floor_bytes));
RNBDT_ATTR(pool_max, "%llu", READ_ONCE(s->account.max_bytes));
RNBDT_ATTR(pool_size, "%llu", (u64)READ_ONCE(s->pool.units) * RNBD_UNIT_SIZE);
RNBDT_ATTR(pool_requested, "%llu", (u64)READ_ONCE(s->lease.want) * RNBD_UNIT_SIZE);
RNBDT_ATTR(pool_share, "%llu", min(READ_ONCE(s->lease.share), READ_ONCE(s->account.max_bytes)));
RNBDT_ATTR(pool_reclaiming, "%llu", (u64)READ_ONCE(s->lease.reclaiming) * RNBD_UNIT_SIZE);
RNBDT_ATTR(pool_grants, "%llu", READ_ONCE(s->lease.grants));
RNBDT_ATTR(pool_releases, "%llu", READ_ONCE(s->lease.releases));
RNBDT_ATTR(pool_reclaims, "%llu", READ_ONCE(s->lease.reclaims));
RNBDT_ATTR(pool_registrations, "%llu", READ_ONCE(s->lease.registrations));

static ssize_t rnbdt_export_show(struct kobject *kobj, struct kobj_attribute *attr,
				 char *buf)
{
	struct rnbdt_session *s = container_of(kobj, struct rnbdt_session, sysfs.kobj);
	char name[RNBD_EXPORT_NAME_SIZE];

	rnbdt_session_export(s, name);
	return sysfs_emit(buf, "%s\n", name);
}

static struct kobj_attribute rnbdt_attr_export = __ATTR(export, 0444, rnbdt_export_show, NULL);

static struct rnbdt_stats rnbdt_read_stats(const struct rnbdt_session *s)
{
	struct rnbdt_stats stats;

	rnbdt_session_stats(s, &stats);
	return stats;
}

RNBDT_ADMIN_ATTR(requests, "%llu", rnbdt_read_stats(s).requests);
RNBDT_ADMIN_ATTR(read_bytes, "%llu", rnbdt_read_stats(s).read_bytes);
RNBDT_ADMIN_ATTR(write_bytes, "%llu", rnbdt_read_stats(s).write_bytes);
RNBDT_ADMIN_ATTR(frames_sent, "%llu", rnbdt_read_stats(s).frames_sent);
RNBDT_ADMIN_ATTR(frames_received, "%llu", rnbdt_read_stats(s).frames_received);
RNBDT_ADMIN_ATTR(recv_slots, "%llu", rnbdt_read_stats(s).slots);
RNBDT_ADMIN_ATTR(requests_allocated, "%llu", rnbdt_read_stats(s).depth);

static struct attribute *rnbdt_session_attrs[] = {
	&rnbdt_attr_state.attr,
	&rnbdt_attr_reason.attr,
	&rnbdt_attr_host_id.attr,
	&rnbdt_attr_session_id.attr,
	&rnbdt_attr_export.attr,
	&rnbdt_attr_port.attr,
	&rnbdt_attr_address.attr,
	&rnbdt_attr_epoch.attr,
	&rnbdt_attr_queues.attr,
	&rnbdt_attr_depth.attr,
	&rnbdt_attr_pool_bytes.attr,
	&rnbdt_attr_pool_floor.attr,
	&rnbdt_attr_pool_max.attr,
	&rnbdt_attr_pool_size.attr,
	&rnbdt_attr_pool_requested.attr,
	&rnbdt_attr_pool_share.attr,
	&rnbdt_attr_pool_reclaiming.attr,
	&rnbdt_attr_pool_grants.attr,
	&rnbdt_attr_pool_releases.attr,
	&rnbdt_attr_pool_reclaims.attr,
	&rnbdt_attr_pool_registrations.attr,
	&rnbdt_attr_requests.attr,
	&rnbdt_attr_read_bytes.attr,
	&rnbdt_attr_write_bytes.attr,
	&rnbdt_attr_frames_sent.attr,
	&rnbdt_attr_frames_received.attr,
	&rnbdt_attr_recv_slots.attr,
	&rnbdt_attr_requests_allocated.attr,
	&rnbdt_attr_queue_bytes.attr,
	&rnbdt_attr_memory_bytes.attr,
	NULL
};
ATTRIBUTE_GROUPS(rnbdt_session);

static void rnbdt_session_kobj_release(struct kobject *kobj)
{
	rnbdt_session_put(rnbdt_to_session(kobj));
}

static const struct kobj_type rnbdt_session_ktype = {
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = rnbdt_session_groups,
	.release = rnbdt_session_kobj_release,
};

static void rnbdt_sysfs_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(work, struct rnbdt_session,
					       sysfs.sysfs_work);
	unsigned int noio = memalloc_noio_save();

	/* The directory takes over the reference of the work item. */
	s->sysfs.in_sysfs = !kobject_init_and_add(&s->sysfs.kobj, &rnbdt_session_ktype,
						  rnbdt_sessions_kobj, "%u", s->serial);
	if (!s->sysfs.in_sysfs) {
		pr_warn("session %u is not shown in sysfs: no memory\n", s->serial);
		kobject_put(&s->sysfs.kobj);
	}
	memalloc_noio_restore(noio);
}

/**
 * rnbdt_sysfs_add_session - queue the creation of the directory of a session
 * @s: session whose teardown cannot reach rnbdt_sysfs_remove_session() yet
 *
 * Context: process context; does not sleep.
 */
void rnbdt_sysfs_add_session(struct rnbdt_session *s)
{
	kref_get(&s->ref);
	INIT_WORK(&s->sysfs.sysfs_work, rnbdt_sysfs_work);
	queue_work(rnbdt_sysfs_wq, &s->sysfs.sysfs_work);
}

/**
 * rnbdt_sysfs_remove_session - remove the directory of a session
 * @s: dead session
 *
 * Context: process context without rnbdt_lock; sleeps until readers have left.
 */
void rnbdt_sysfs_remove_session(struct rnbdt_session *s)
{
	if (cancel_work_sync(&s->sysfs.sysfs_work))
		rnbdt_session_put(s);
	if (!s->sysfs.in_sysfs)
		return;
	kobject_del(&s->sysfs.kobj);
	kobject_put(&s->sysfs.kobj);
}

/**
 * struct rnbdt_counter_file - file of a counter
 * @attr: sysfs attribute
 * @counter: directory that contains the file
 * @kind: index of the counter in the directory
 */
struct rnbdt_counter_file {
	struct kobj_attribute attr;
	enum rnbdt_counter_dir counter;
	unsigned int kind;
};

/**
 * struct rnbdt_counters - directory of counters
 * @counters: files of the directory
 * @attrs: attributes of @counters, terminated by NULL
 * @group: sysfs group of the directory
 * @nr: number of files
 */
struct rnbdt_counters {
	struct rnbdt_counter_file counters[RNBDT_KINDS_MAX];
	struct attribute *attrs[RNBDT_KINDS_MAX + 1];
	struct attribute_group group;
	unsigned int nr;
};

static struct rnbdt_counters rnbdt_counter_dirs[RNBDT_COUNTERS] = {
	[RNBDT_COUNT_LIMITS]		= { .group.name = "limits" },
	[RNBDT_COUNT_PROTO_ERRS]	= { .group.name = "violations" },
	[RNBDT_COUNT_REFUSED]		= { .group.name = "refused" },
};

static const struct attribute_group *rnbdt_counter_groups[] = {
	&rnbdt_counter_dirs[RNBDT_COUNT_LIMITS].group,
	&rnbdt_counter_dirs[RNBDT_COUNT_PROTO_ERRS].group,
	&rnbdt_counter_dirs[RNBDT_COUNT_REFUSED].group,
	NULL
};

static ssize_t rnbdt_counter_show(struct kobject *kobj, struct kobj_attribute *attr,
				  char *buf)
{
	struct rnbdt_counter_file *counter = container_of(attr, struct rnbdt_counter_file, attr);

	return sysfs_emit(buf, "%llu\n", rnbdt_counted(counter->counter, counter->kind));
}

static void rnbdt_counters_add(enum rnbdt_counter_dir which, unsigned int kind,
			       const char *word)
{
	struct rnbdt_counters *dir = &rnbdt_counter_dirs[which];
	struct rnbdt_counter_file *counter = &dir->counters[dir->nr];

	if (!word)
		return;
	counter->attr.attr.name = word;
	counter->attr.attr.mode = 0444;
	counter->attr.show = rnbdt_counter_show;
	counter->counter = which;
	counter->kind = kind;
	dir->group.attrs = dir->attrs;
	dir->attrs[dir->nr++] = &counter->attr.attr;
}

static void rnbdt_counters_init(void)
{
	unsigned int i;

	BUILD_BUG_ON(RNBDT_LIMITS > RNBDT_KINDS_MAX);
	for (i = 0; i < RNBDT_KINDS_MAX; i++) {
		if (i < RNBDT_LIMITS)
			rnbdt_counters_add(RNBDT_COUNT_LIMITS, i, rnbdt_limit_word(i));
		rnbdt_counters_add(RNBDT_COUNT_PROTO_ERRS, i, rnbd_proto_err_word(i));
		rnbdt_counters_add(RNBDT_COUNT_REFUSED, i, rnbd_status_word(i));
	}
}

/**
 * rnbdt_sysfs_init - create the directories of the sessions and of the counters
 *
 * Context: process context, module init.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_sysfs_init(void)
{
	rnbdt_sysfs_wq = alloc_workqueue("rnbd-target-sysfs", WQ_UNBOUND, 0);
	if (!rnbdt_sysfs_wq)
		return -ENOMEM;
	rnbdt_kobj = kobject_create_and_add("rnbd-target", kernel_kobj);
	if (!rnbdt_kobj)
		goto destroy_wq;
	rnbdt_sessions_kobj = kobject_create_and_add("sessions", rnbdt_kobj);
	if (!rnbdt_sessions_kobj)
		goto put_kobj;
	rnbdt_counters_init();
	if (sysfs_create_groups(rnbdt_kobj, rnbdt_counter_groups))
		goto put_sessions;
	return 0;

put_sessions:
	kobject_put(rnbdt_sessions_kobj);
put_kobj:
	kobject_put(rnbdt_kobj);
destroy_wq:
	destroy_workqueue(rnbdt_sysfs_wq);
	return -ENOMEM;
}

/**
 * rnbdt_sysfs_exit - remove all directories
 *
 * The caller must call this after the teardown of the last session has ended.
 *
 * Context: process context, module exit.
 */
void rnbdt_sysfs_exit(void)
{
	destroy_workqueue(rnbdt_sysfs_wq);
	sysfs_remove_groups(rnbdt_kobj, rnbdt_counter_groups);
	kobject_put(rnbdt_sessions_kobj);
	kobject_put(rnbdt_kobj);
}
