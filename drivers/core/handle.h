/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The handle of an attachment: which export of its session a request is for.
 *
 * Operation: the client chooses the handle when it attaches an export. Requests and
 * control entries carry it.
 * Ownership: nothing is allocated or kept.
 * Concurrency: any context.
 * Errors: none.
 */
#ifndef RNBD_CORE_HANDLE_H
#define RNBD_CORE_HANDLE_H

#include "portable.h"

/**
 * struct rnbd_handle - names an attachment within its session
 * @index: place, which is used again
 * @generation: number of the attachment at this place, not 0
 */
struct rnbd_handle {
	u16 index;
	u32 generation;
};

/**
 * rnbd_handle_equal - compare two handles
 * @a: handle
 * @b: handle
 */
static inline bool rnbd_handle_equal(const struct rnbd_handle *a, const struct rnbd_handle *b)
{
	return a->index == b->index && a->generation == b->generation;
}

#endif /* RNBD_CORE_HANDLE_H */
