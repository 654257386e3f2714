/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to end an attach or a discovery early. See abort.c.
 */
#ifndef RNBDC_ABORT_H
#define RNBDC_ABORT_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_session;

/**
 * struct rnbdc_abort - abort state of a command: an attach or a discovery
 * @lock: protects the other members
 * @requested: an abort was requested, so the command must end; never cleared
 * @sess: session that the command uses; NULL while none is bound
 * @disk: disk that the command attaches; NULL for a discovery, or while none is bound
 */
struct rnbdc_abort {
	spinlock_t lock;	/* requested, sess, disk */
	bool requested;
	struct rnbdc_session *sess;
	struct rnbdc_disk *disk;
};

void rnbdc_abort_init(struct rnbdc_abort *abort);
void rnbdc_abort_request(struct rnbdc_abort *abort);
bool rnbdc_abort_requested(const struct rnbdc_abort *abort);
void rnbdc_abort_bind(struct rnbdc_abort *abort, struct rnbdc_session *sess,
		      struct rnbdc_disk *disk);
bool rnbdc_abort_unbind(struct rnbdc_abort *abort);

#endif /* RNBDC_ABORT_H */
