/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroup to which bios are charged. See blkcg.c.
 */
#ifndef RNBDT_BLKCG_H
#define RNBDT_BLKCG_H

#include <linux/types.h>

struct bio;
struct cgroup;
struct cgroup_subsys_state;

/**
 * struct rnbdt_blkcg - the cgroup of a host
 * @path: configured path from the root of the hierarchy, or NULL: the host is in no cgroup
 * @cgroup: cgroup at @path or, if that does not exist, at the longest prefix of @path that
 *	exists; NULL without @path, and from rnbdt_blkcg_set_path() to rnbdt_blkcg_update()
 * @exact: @cgroup is the one at @path
 * @applies: path of the cgroup whose limits apply; NULL without @path, before the first
 *	rnbdt_blkcg_update(), or if memory was short
 * @css: state of the io controller of the cgroup whose limits apply; also read under RCU
 *
 * The lock of cgroup.c protects all members.
 */
struct rnbdt_blkcg {
	char *path;
	struct cgroup *cgroup;
	bool exact;
	char *applies;
	struct cgroup_subsys_state __rcu *css;
};

bool rnbdt_blkcg_supported(void);
int rnbdt_blkcg_normalize(char *path);
void rnbdt_blkcg_set_path(struct rnbdt_blkcg *cg, char *path);
void rnbdt_blkcg_clear(struct rnbdt_blkcg *cg);
bool rnbdt_blkcg_update(struct rnbdt_blkcg *cg);
void rnbdt_blkcg_bio(struct rnbdt_blkcg *cg, struct bio *bio);
void rnbdt_blkcg_enter(struct rnbdt_blkcg *cg);
void rnbdt_blkcg_leave(void);

#endif /* RNBDT_BLKCG_H */
