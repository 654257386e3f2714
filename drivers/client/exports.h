/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list of exports that a target sends. See exports.c.
 */
#ifndef RNBDC_EXPORTS_H
#define RNBDC_EXPORTS_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_export_info;
struct rnbd_frame;
struct rnbdc_queue;

/**
 * struct rnbdc_exports - list of exports that a target sent
 * @chunks: list of struct rnbdc_exports_chunk; none of them is empty
 * @nr: exports received
 * @taken: exports of the first chunk that were removed from the list
 * @incomplete: an allocation failed; further exports are ignored
 */
struct rnbdc_exports {
	struct list_head chunks;
	u32 nr;
	u32 taken;
	bool incomplete;
};

void rnbdc_exports_init(struct rnbdc_exports *exports);
void rnbdc_exports_free(struct rnbdc_exports *exports);
const struct rnbd_export_info *rnbdc_exports_first(struct rnbdc_exports *exports);
void rnbdc_exports_remove_first(struct rnbdc_exports *exports);
void rnbdc_handle_discover_reply(struct rnbdc_queue *q, const struct rnbd_frame *frame,
				 enum rnbd_proto_err *perr);

#endif /* RNBDC_EXPORTS_H */
