/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handle of an attachment: index and generation.
 *
 * Operation: the handle in a request or control entry names the attachment to which the request
 * or entry belongs. The client chooses the handle when it attaches an export.
 * Ownership: nothing is allocated or kept.
 * Concurrency: any context.
 * Errors: none.
 */
#ifndef RNBD_CORE_HANDLE_H
#define RNBD_CORE_HANDLE_H

#include "portable.h"

/**
 * struct rnbd_handle - name of an attachment within its session
 * @index: index of the attachment; reused with a higher generation
 * @generation: generation of the attachment at this index, not 0
 */
struct rnbd_handle {
	u16 index;
	u32 generation;
};

/**
 * rnbd_handle_equal - compare two handles
 * @a: handle
 * @b: handle
 *
 * Return: true if both are equal.
 */
static inline bool rnbd_handle_equal(const struct rnbd_handle *a, const struct rnbd_handle *b)
{
	return a->index == b->index && a->generation == b->generation;
}

#endif /* RNBD_CORE_HANDLE_H */
