// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cgroup to which bios are charged.
 *
 * Operation
 *
 * The administrator can put a host into a cgroup (version 2) of the target machine. The bios of
 * requests of the host with direct I/O are charged to the io controller of that cgroup, or of its
 * nearest living ancestor that has the controller. If the cgroup was removed just before a bio is
 * charged to it, the block layer itself finds such an ancestor. The kernel itself creates the bios
 * of DISCARD, of WRITE_ZEROES and of direct I/O on a file. These bios are charged to the cgroup
 * that rnbdt_blkcg_enter() has set for the submitting task.
 *
 * Ownership
 *
 * Struct rnbdt_blkcg holds references on the cgroup and on the state of its io controller.
 *
 * Concurrency
 *
 * The caller serialises all changes of the structure. Submitters find the controller state under
 * RCU, and the kernel frees that state after a grace period.
 *
 * Errors
 *
 * A cgroup that does not exist is not an error: until it is created, the bios are charged to an
 * ancestor. If memory is short, the path of the cgroup that applies is not recorded.
 */

#include <linux/bio.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat/cgroup.h"
#include "blkcg.h"

/**
 * rnbdt_blkcg_supported - check whether bios can be charged to a cgroup
 *
 * Context: any.
 * Return: false if the kernel has no io controller, or uses it in a hierarchy of version 1.
 */
bool rnbdt_blkcg_supported(void)
{
	return rnbd_compat_cgroup_io();
}

/**
 * rnbdt_blkcg_normalize - check and normalize the path of a cgroup
 * @path: path with or without a slash at its begin and end; the result begins with a slash and
 *	does not end with one. The buffer has space for one more character
 *
 * Context: any.
 * Return: 0, or -EINVAL if the path has the component . or .., or names the root.
 */
int rnbdt_blkcg_normalize(char *path)
{
	char *from = path, *to = path, *part;

	/* Insert a missing first slash, because the loop below can move parts only to the left. */
	if (*path && *path != '/') {
		memmove(path + 1, path, strlen(path) + 1);
		*path = '/';
	}
	while ((part = strsep(&from, "/"))) {
		size_t len = strlen(part);

		if (!len)
			continue;
		if (!strcmp(part, ".") || !strcmp(part, ".."))
			return -EINVAL;
		*to++ = '/';
		memmove(to, part, len);
		to += len;
	}
	*to = 0;
	return to == path ? -EINVAL : 0;
}

/* Find the cgroup at @path (@exact is true), or at the longest prefix of @path that exists. */
static struct cgroup *rnbdt_blkcg_find(const char *path, bool *exact)
{
	char *part = kstrdup(path, GFP_KERNEL);
	struct cgroup *cgroup = NULL;

	*exact = true;
	while (part) {
		char *slash;

		cgroup = rnbd_compat_cgroup_get(*part ? part : "/");
		if (!IS_ERR(cgroup))
			break;
		cgroup = NULL;
		*exact = false;
		slash = strrchr(part, '/');
		if (!slash)
			break;
		*slash = 0;
	}
	kfree(part);
	return cgroup;
}

static void rnbdt_blkcg_set_css(struct rnbdt_blkcg *cg, struct cgroup_subsys_state *css)
{
	struct cgroup_subsys_state *old = rcu_dereference_protected(cg->css, true);

	rcu_assign_pointer(cg->css, css);
	if (old)
		css_put(old);
}

/**
 * rnbdt_blkcg_clear - drop all references and paths
 * @cg: structure
 *
 * Context: process context.
 */
void rnbdt_blkcg_clear(struct rnbdt_blkcg *cg)
{
	rnbdt_blkcg_set_css(cg, NULL);
	if (cg->cgroup)
		rnbd_compat_cgroup_put(cg->cgroup);
	cg->cgroup = NULL;
	kfree(cg->path);
	cg->path = NULL;
	kfree(cg->applies);
	cg->applies = NULL;
}

/**
 * rnbdt_blkcg_set_path - set the configured path
 * @cg: structure
 * @path: normalized path, which the structure frees later, or NULL for no cgroup
 *
 * Without a path, no cgroup applies from now on. Otherwise the current cgroup applies until
 * rnbdt_blkcg_update() finds the new one.
 *
 * Context: process context.
 */
void rnbdt_blkcg_set_path(struct rnbdt_blkcg *cg, char *path)
{
	if (!path) {
		rnbdt_blkcg_clear(cg);
		return;
	}
	kfree(cg->path);
	cg->path = path;
	if (cg->cgroup)
		rnbd_compat_cgroup_put(cg->cgroup);
	cg->cgroup = NULL;
}

/* Return the path of the cgroup of a controller state, or NULL if memory is short. */
static char *rnbdt_blkcg_path(struct cgroup_subsys_state *css)
{
	char *buf = kmalloc(PATH_MAX, GFP_KERNEL);
	char *path = NULL;

	if (buf && rnbd_compat_css_path(css, buf, PATH_MAX) >= 0)
		path = kstrdup(buf, GFP_KERNEL);
	kfree(buf);
	return path;
}

/**
 * rnbdt_blkcg_update - find the cgroup that applies now
 * @cg: structure with a path
 *
 * Context: process context; may sleep.
 * Return: true if another cgroup applies than before.
 */
bool rnbdt_blkcg_update(struct rnbdt_blkcg *cg)
{
	struct cgroup_subsys_state *css;

	if (!cg->cgroup || !cg->exact || !rnbd_compat_cgroup_alive(cg->cgroup)) {
		bool exact;
		struct cgroup *cgroup = rnbdt_blkcg_find(cg->path, &exact);

		/* If memory is short, keep cg->cgroup: if it was removed, an ancestor applies. */
		if (cgroup) {
			if (cg->cgroup)
				rnbd_compat_cgroup_put(cg->cgroup);
			cg->cgroup = cgroup;
			cg->exact = exact;
		}
	}
	if (!cg->cgroup)
		return false;
	css = rnbd_compat_cgroup_css(cg->cgroup);
	if (!css || css == rcu_access_pointer(cg->css)) {
		if (css)
			css_put(css);
		return false;
	}
	kfree(cg->applies);
	cg->applies = rnbdt_blkcg_path(css);
	rnbdt_blkcg_set_css(cg, css);
	return true;
}

/**
 * rnbdt_blkcg_bio - charge a bio to the cgroup of a host
 * @cg: cgroup of the host
 * @bio: bio with a block device, not submitted yet
 *
 * Context: any; does not sleep.
 */
void rnbdt_blkcg_bio(struct rnbdt_blkcg *cg, struct bio *bio)
{
	struct cgroup_subsys_state *css;

	rcu_read_lock();
	css = rcu_dereference(cg->css);
	if (css)
		bio_associate_blkg_from_css(bio, css);
	rcu_read_unlock();
}

/**
 * rnbdt_blkcg_enter - charge the bios that this task creates to the cgroup of a host
 * @cg: cgroup of the host
 *
 * The caller ends this with rnbdt_blkcg_leave().
 *
 * Context: work item.
 */
void rnbdt_blkcg_enter(struct rnbdt_blkcg *cg)
{
	struct cgroup_subsys_state *css;

	rcu_read_lock();
	css = rcu_dereference(cg->css);
	if (css && !css_tryget(css))
		css = NULL;
	rcu_read_unlock();
	if (!css)
		return;
	kthread_associate_blkcg(css);
	css_put(css);
}

/**
 * rnbdt_blkcg_leave - undo rnbdt_blkcg_enter()
 *
 * Context: work item.
 */
void rnbdt_blkcg_leave(void)
{
	kthread_associate_blkcg(NULL);
}
