// SPDX-License-Identifier: GPL-2.0-only
/* Fault points. See inject.h. */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "inject.h"

static struct dentry *rnbd_inject_root;

/**
 * rnbd_inject_strike - slow path of rnbd_inject()
 * @point: point whose file was written at least once
 * @arg: result: the argument, if the point strikes; may be NULL
 *
 * Context: any.
 * Return: true if the point strikes.
 */
bool rnbd_inject_strike(struct rnbd_inject *point, u32 *arg)
{
	if (atomic_dec_if_positive(&point->times) < 0)
		return false;
	if (arg)
		*arg = READ_ONCE(point->arg);
	atomic_inc(&point->hits);
	return true;
}
EXPORT_SYMBOL_GPL(rnbd_inject_strike);

/* Milliseconds between two checks whether the file was written, which ends the sleep. */
#define RNBD_INJECT_SLICE_MS	20

/**
 * rnbd_inject_sleep - slow path of rnbd_inject_delay()
 * @point: point whose file was written at least once; its argument is the time in milliseconds
 *
 * Context: process context; sleeps if the point strikes.
 */
void rnbd_inject_sleep(struct rnbd_inject *point)
{
	unsigned int written = READ_ONCE(point->written);
	u32 ms;

	if (!rnbd_inject_strike(point, &ms))
		return;
	for (; ms && READ_ONCE(point->written) == written;
	     ms -= min(ms, RNBD_INJECT_SLICE_MS))
		msleep(RNBD_INJECT_SLICE_MS);
}
EXPORT_SYMBOL_GPL(rnbd_inject_sleep);

static int rnbd_inject_show(struct seq_file *m, void *unused)
{
	struct rnbd_inject *point = m->private;

	seq_printf(m, "times %d arg %u hits %d\n", atomic_read(&point->times),
		   READ_ONCE(point->arg), atomic_read(&point->hits));
	return 0;
}

static int rnbd_inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, rnbd_inject_show, inode->i_private);
}

static ssize_t rnbd_inject_write(struct file *file, const char __user *ubuf,
				 size_t count, loff_t *ppos)
{
	struct rnbd_inject *point = file_inode(file)->i_private;
	char buf[32];
	u32 arg = 0;
	int times;

	if (count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = 0;
	if (sscanf(buf, "%d %u", &times, &arg) < 1 || times < 0)
		return -EINVAL;

	atomic_set(&point->times, 0);
	WRITE_ONCE(point->arg, arg);
	static_branch_enable(&point->key);
	WRITE_ONCE(point->written, point->written + 1);
	atomic_set(&point->times, times);
	return count;
}

static const struct file_operations rnbd_inject_fops = {
	.owner = THIS_MODULE,
	.open = rnbd_inject_open,
	.read = seq_read,
	.write = rnbd_inject_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/**
 * rnbd_inject_add - create the files of a module's fault points
 * @module: name of the directory
 * @points: array of points, terminated by NULL
 *
 * Context: process context.
 * Return: the directory, for rnbd_inject_remove().
 */
struct dentry *rnbd_inject_add(const char *module, struct rnbd_inject *const *points)
{
	struct dentry *dir = debugfs_create_dir(module, rnbd_inject_root);

	for (; *points; points++)
		debugfs_create_file((*points)->name, 0600, dir, *points,
				    &rnbd_inject_fops);
	return dir;
}
EXPORT_SYMBOL_GPL(rnbd_inject_add);

/**
 * rnbd_inject_remove - remove the files of a module's fault points
 * @dir: directory from rnbd_inject_add()
 */
void rnbd_inject_remove(struct dentry *dir)
{
	debugfs_remove(dir);
}
EXPORT_SYMBOL_GPL(rnbd_inject_remove);

/**
 * rnbd_inject_init - create the directory of all fault points
 *
 * Return: 0.
 */
int rnbd_inject_init(void)
{
	rnbd_inject_root = debugfs_create_dir("rnbd", NULL);
	return 0;
}

/**
 * rnbd_inject_exit - remove the directory of all fault points
 */
void rnbd_inject_exit(void)
{
	debugfs_remove(rnbd_inject_root);
}
