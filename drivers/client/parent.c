// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/rnbd/rnbdX: the parent device of a disk, which says what it is.
 *
 * Operation: the disk's "device" link leads here, where lsblk and udev look for
 * vendor, model and serial of any disk. What belongs to the session in
 * particular is in the directory "rnbd" of the disk itself, see sysfs.c.
 * Ownership: added before the disk and removed after it, while the session is
 * there; the device core frees it. Events of the session's state are events of
 * this device: one of the disk would have udev read a disk that has no connection.
 * Concurrency: removal waits for readers of the files.
 * Errors: adding fails for lack of memory; reading never does.
 */

#include <linux/device.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>

#include "client.h"

#define RNBD_PARENT_SHOW(_name, fmt, args...)					\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	const struct rnbd_session *sess __maybe_unused = dev_get_drvdata(dev);	\
										\
	return sysfs_emit(buf, fmt "\n", args);					\
}										\
static DEVICE_ATTR_RO(_name)

RNBD_PARENT_SHOW(vendor, "%s", "rnbd");
RNBD_PARENT_SHOW(model, "%s", sess->opt.export);
RNBD_PARENT_SHOW(serial, "%pU", sess->grant.export_uuid);
RNBD_PARENT_SHOW(state, "%s", rnbd_state_text(READ_ONCE(sess->state)));
RNBD_PARENT_SHOW(rev, "%s", THIS_MODULE->version);

static struct attribute *rnbd_parent_attrs[] = {
	&dev_attr_vendor.attr,
	&dev_attr_model.attr,
	&dev_attr_serial.attr,
	&dev_attr_state.attr,
	&dev_attr_rev.attr,
	NULL
};

/* A module without a version has no revision to show. */
static umode_t rnbd_parent_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return attr == &dev_attr_rev.attr && !THIS_MODULE->version ? 0 : attr->mode;
}

static const struct attribute_group rnbd_parent_group = {
	.attrs = rnbd_parent_attrs,
	.is_visible = rnbd_parent_visible,
};

static const struct attribute_group *rnbd_parent_groups[] = {
	&rnbd_parent_group,
	NULL
};

static const struct class rnbd_class = {
	.name = "rnbd",
};

/**
 * rnbd_parent_add - make the parent device of a disk
 * @sess: session with a disk that has a name
 *
 * Context: process context, may sleep.
 * Return: 0 or an error.
 */
int rnbd_parent_add(struct rnbd_session *sess)
{
	struct device *parent;

	parent = device_create_with_groups(&rnbd_class, NULL, MKDEV(0, 0), sess,
					   rnbd_parent_groups, "%s",
					   sess->disk->disk_name);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	sess->parent = parent;
	return 0;
}

/**
 * rnbd_parent_event - tell udev and whoever listens to it of a state
 * @sess: session with a disk that is attached and not being detached
 * @state: of the session
 *
 * Context: process context, may sleep.
 */
void rnbd_parent_event(struct rnbd_session *sess, enum rnbd_state state)
{
	char text[32];
	char *envp[2] = { text };
	unsigned int noio;

	snprintf(text, sizeof(text), "RNBD_STATE=%s", rnbd_state_text(state));
	noio = memalloc_noio_save();
	kobject_uevent_env(&sess->parent->kobj, KOBJ_CHANGE, envp);
	memalloc_noio_restore(noio);
}

/**
 * rnbd_parent_remove - undo rnbd_parent_add()
 * @sess: session whose disk was deleted, or never added
 *
 * Context: process context, may sleep.
 */
void rnbd_parent_remove(struct rnbd_session *sess)
{
	if (sess->parent)
		device_unregister(sess->parent);
	sess->parent = NULL;
}

/**
 * rnbd_parent_init - make the class
 *
 * Return: 0 or an error.
 */
int rnbd_parent_init(void)
{
	return class_register(&rnbd_class);
}

/**
 * rnbd_parent_exit - remove the class, which has no devices any more
 */
void rnbd_parent_exit(void)
{
	class_unregister(&rnbd_class);
}
