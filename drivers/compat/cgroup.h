/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The io controller of cgroups (version 2), also for kernels that lack it.
 *
 * Operation
 *
 * drivers/compat/block.h describes the probes. On a kernel without CONFIG_BLK_CGROUP, which
 * has no io controller, the functions find no cgroup. Otherwise they wrap functions that the kernel
 * exports to modules. blkcg.c of the target charges bios with two further such functions,
 * bio_associate_blkg_from_css() and kthread_associate_blkcg().
 *
 * Ownership, concurrency
 *
 * Each function follows the rules of the kernel function that it wraps.
 *
 * Errors
 *
 * Without CONFIG_BLK_CGROUP, a function that returns an error returns -EOPNOTSUPP.
 */
#ifndef RNBD_COMPAT_CGROUP_H
#define RNBD_COMPAT_CGROUP_H

#include <linux/bio.h>
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/kthread.h>

#ifdef RNBD_HAVE_BLK_CGROUP
/**
 * rnbd_compat_cgroup_io - check whether bios can be charged to cgroups of version 2
 *
 * Context: any.
 * Return: true if the io controller is enabled and belongs to the hierarchy of version 2.
 */
static inline bool rnbd_compat_cgroup_io(void)
{
	return cgroup_subsys_enabled(io_cgrp_subsys) && cgroup_subsys_on_dfl(io_cgrp_subsys);
}

/**
 * rnbd_compat_cgroup_get - find a cgroup
 * @path: path from the root of the hierarchy
 *
 * Context: process context; may sleep.
 * Return: the cgroup with a reference, or an ERR_PTR().
 */
static inline struct cgroup *rnbd_compat_cgroup_get(const char *path)
{
	return cgroup_get_from_path(path);
}

/**
 * rnbd_compat_cgroup_put - drop a reference to a cgroup
 * @cgroup: cgroup
 *
 * Context: any.
 */
static inline void rnbd_compat_cgroup_put(struct cgroup *cgroup)
{
	cgroup_put(cgroup);
}

/**
 * rnbd_compat_cgroup_alive - check whether a cgroup still exists
 * @cgroup: cgroup
 *
 * Context: any.
 * Return: false if the cgroup was removed.
 */
static inline bool rnbd_compat_cgroup_alive(const struct cgroup *cgroup)
{
	return READ_ONCE(cgroup->self.flags) & CSS_ONLINE;
}

/**
 * rnbd_compat_cgroup_css - get the state of the io controller that applies to a cgroup
 * @cgroup: cgroup
 *
 * Context: any.
 * Return: with a reference, the state of @cgroup if the controller is enabled there; otherwise
 * the state of its nearest ancestor in which the controller is enabled.
 */
static inline struct cgroup_subsys_state *rnbd_compat_cgroup_css(struct cgroup *cgroup)
{
	return cgroup_get_e_css(cgroup, &io_cgrp_subsys);
}

/**
 * rnbd_compat_css_path - get the path of the cgroup of a controller state
 * @css: controller state
 * @buf: result
 * @size: bytes of @buf
 *
 * Context: any.
 * Return: length of the path, or a negative errno.
 */
static inline int rnbd_compat_css_path(struct cgroup_subsys_state *css, char *buf, size_t size)
{
	return cgroup_path(css->cgroup, buf, size);
}
#else
static inline bool rnbd_compat_cgroup_io(void)
{
	return false;
}

static inline struct cgroup *rnbd_compat_cgroup_get(const char *path)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void rnbd_compat_cgroup_put(struct cgroup *cgroup)
{
}

static inline bool rnbd_compat_cgroup_alive(const struct cgroup *cgroup)
{
	return false;
}

static inline struct cgroup_subsys_state *rnbd_compat_cgroup_css(struct cgroup *cgroup)
{
	return NULL;
}

static inline int rnbd_compat_css_path(struct cgroup_subsys_state *css, char *buf, size_t size)
{
	return -EOPNOTSUPP;
}
#endif

#endif
