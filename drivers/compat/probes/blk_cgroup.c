// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probe: the kernel has the io controller of cgroups, and modules can charge bios to a
 * cgroup; in other kernels the declarations are missing.
 */
#include <linux/bio.h>
#include <linux/cgroup.h>
#include <linux/kthread.h>

#ifdef RNBD_PROBE_NEW
static_assert(__same_type(io_cgrp_subsys, struct cgroup_subsys));
static_assert(__same_type(cgroup_get_from_path, struct cgroup *(const char *)));
static_assert(__same_type(cgroup_get_e_css,
			  struct cgroup_subsys_state *(struct cgroup *,
						       struct cgroup_subsys *)));
static_assert(__same_type(bio_associate_blkg_from_css,
			  void (struct bio *, struct cgroup_subsys_state *)));
static_assert(__same_type(kthread_associate_blkcg, void (struct cgroup_subsys_state *)));
#endif
