/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owners of exclusive exports. See owner.c.
 */
#ifndef RNBDT_OWNER_H
#define RNBDT_OWNER_H

#include <linux/types.h>
#include <linux/uuid.h>

struct rnbd_attach_info;
struct rnbdt_attach;
struct rnbdt_export;
struct rnbdt_host;
struct rnbdt_owner;
struct rnbdt_session;

/*
 * Highest owner generation that userspace may restore; generations from the time of day are lower.
 * Each change of the owner increases the generation, so higher values must be left for later
 * changes.
 */
#define RNBDT_OWNER_GENERATION_MAX	(U32_MAX - U32_MAX / 16)

void rnbdt_owner_init(struct rnbdt_export *export);
void rnbdt_owner_exit(struct rnbdt_export *export);
void rnbdt_owner_set_exclusive(struct rnbdt_export *export, bool exclusive);
void rnbdt_owner_move(struct rnbdt_export *export, const uuid_t *host);
void rnbdt_owner_restore(struct rnbdt_export *export, const struct rnbdt_owner *state);
u16 rnbdt_owner_check(const struct rnbdt_export *export, const struct rnbdt_session *s,
		      const struct rnbd_attach_info *info);
bool rnbdt_owner_changes(const struct rnbdt_export *export, const struct rnbdt_session *s);
void rnbdt_owner_take(struct rnbdt_attach *att);
void rnbdt_owner_detach(const struct rnbdt_attach *att);
bool rnbdt_owner_owns(const struct rnbdt_session *s, const struct rnbd_attach_info *info);
void rnbdt_owner_disown(const struct rnbdt_session *s, const struct rnbd_attach_info *info);
bool rnbdt_owner_outdated(const struct rnbdt_session *s);
void rnbdt_owner_restarted(const struct rnbdt_session *s);
void rnbdt_owner_fenced(const struct rnbdt_host *host);

#endif /* RNBDT_OWNER_H */
