/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ATTACH and DETACH entries of a session that the target has not answered. See asked.c.
 */
#ifndef RNBDC_ASKED_H
#define RNBDC_ASKED_H

#include <rnbd/wire.h>

#include "../core/handle.h"
#include "../core/portable.h"

struct rnbdc_disk;

/**
 * struct rnbdc_asked - an ATTACH or DETACH that the target has not answered
 * @id: id of the request; 0 if this element of rnbdc_ctl.asked is free
 * @handle: handle of the attachment that the request names
 * @disk: disk whose task waits for the reply; NULL if no task waits
 */
struct rnbdc_asked {
	u32 id;
	struct rnbd_handle handle;
	struct rnbdc_disk *disk;
};

/**
 * struct rnbdc_ctl - control requests of a session; protected by the lock of the session
 * @asked: unanswered requests; the target accepts no more of them than the array can hold
 * @nr_asked: number of used elements of @asked; also read without the lock
 * @id: id of the latest request
 * @generation: generation of the latest handle of the session
 */
struct rnbdc_ctl {
	struct rnbdc_asked asked[RNBD_CTL_OPEN_MAX];
	u32 nr_asked;
	u32 id;
	u32 generation;
};

u32 rnbdc_asked_add(struct rnbdc_ctl *ctl, const struct rnbd_handle *handle,
		    struct rnbdc_disk *disk);
struct rnbdc_asked *rnbdc_asked_find(struct rnbdc_ctl *ctl, u32 id);
bool rnbdc_asked_names(const struct rnbdc_ctl *ctl, const struct rnbd_handle *handle);
void rnbdc_asked_remove(struct rnbdc_ctl *ctl, struct rnbdc_asked *asked);
void rnbdc_asked_clear(struct rnbdc_ctl *ctl);

#endif /* RNBDC_ASKED_H */
