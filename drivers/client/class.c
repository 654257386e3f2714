// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/rnbd/rnbdX: the parent device of a disk.
 *
 * Operation: The "device" link of the disk leads to this device, where lsblk and udev look
 * for vendor, model and serial of any disk. Other attributes are in the directory "rnbd" of
 * the disk itself (sysfs.c). A uevent of this device reports a change of the disk's state,
 * because a uevent of the disk would make udev read the disk, which can lack a connection.
 *
 * Ownership: The device is added before the disk and removed after it, while
 * the session exists. The device core frees it.
 *
 * Concurrency: Removing the device waits for readers of the attributes.
 *
 * Errors: Adding the device can fail, for example for lack of memory; reading never fails.
 */

#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>

#include "class.h"
#include "disk.h"
#include "names.h"
#include "session.h"

#define RNBDC_CLASS_SHOW(_name, fmt, args...)					\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	const struct rnbdc_disk *disk __maybe_unused = dev_get_drvdata(dev);	\
										\
	return sysfs_emit(buf, fmt "\n", args);					\
}										\
static DEVICE_ATTR_RO(_name)

RNBDC_CLASS_SHOW(vendor, "%s", "rnbd");
RNBDC_CLASS_SHOW(model, "%s", disk->opt.export);
RNBDC_CLASS_SHOW(serial, "%pU", disk->export_uuid);
RNBDC_CLASS_SHOW(state, "%s", rnbdc_state_text(READ_ONCE(disk->state)));
RNBDC_CLASS_SHOW(rev, "%s", THIS_MODULE->version);

static struct attribute *rnbdc_class_attrs[] = {
	&dev_attr_vendor.attr,
	&dev_attr_model.attr,
	&dev_attr_serial.attr,
	&dev_attr_state.attr,
	&dev_attr_rev.attr,
	NULL
};

/* Hide the attribute rev if the module has no version. */
static umode_t rnbdc_class_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return attr == &dev_attr_rev.attr && !THIS_MODULE->version ? 0 : attr->mode;
}

static const struct attribute_group rnbdc_class_group = {
	.attrs = rnbdc_class_attrs,
	.is_visible = rnbdc_class_visible,
};

static const struct attribute_group *rnbdc_class_groups[] = {
	&rnbdc_class_group,
	NULL
};

static const struct class rnbdc_class = {
	.name = "rnbd",
};

/**
 * rnbdc_class_add - create the parent device of a disk
 * @disk: disk that has a name
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdc_class_add(struct rnbdc_disk *disk)
{
	struct device *parent;

	parent = device_create_with_groups(&rnbdc_class, NULL, MKDEV(0, 0), disk,
					   rnbdc_class_groups, "%s",
					   disk->gd->disk_name);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	disk->parent = parent;
	return 0;
}

/**
 * rnbdc_class_event - send a uevent about the state of a disk
 * @disk: disk that is attached and not being detached
 * @state: state to report
 *
 * Context: process context, may sleep; allocates without waiting for I/O.
 */
void rnbdc_class_event(struct rnbdc_disk *disk, enum rnbdc_state state)
{
	char text[32];
	char *envp[2] = { text };
	unsigned int noio;

	snprintf(text, sizeof(text), "RNBD_STATE=%s", rnbdc_state_text(state));
	noio = memalloc_noio_save();
	kobject_uevent_env(&disk->parent->kobj, KOBJ_CHANGE, envp);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_class_remove - remove the parent device of a disk
 * @disk: disk that was deleted, or never added
 *
 * Context: process context, may sleep.
 */
void rnbdc_class_remove(struct rnbdc_disk *disk)
{
	if (disk->parent)
		device_unregister(disk->parent);
	disk->parent = NULL;
}

/**
 * rnbdc_class_init - register the class
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdc_class_init(void)
{
	return class_register(&rnbdc_class);
}

/**
 * rnbdc_class_exit - unregister the class, which has no devices left
 *
 * Context: process context, may sleep.
 */
void rnbdc_class_exit(void)
{
	class_unregister(&rnbdc_class);
}
