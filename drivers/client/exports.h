/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list of exports that a target sends. See exports.c.
 */
#ifndef RNBDC_EXPORTS_H
#define RNBDC_EXPORTS_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbd_export_info;
struct rnbdc_queue;

/**
 * struct rnbdc_exports - list of exports that a target sent
 * @items: list of struct rnbdc_exports_item
 * @nr: number of exports received
 * @incomplete: an allocation failed; further exports are ignored
 */
struct rnbdc_exports {
	struct list_head items;
	u32 nr;
	bool incomplete;
};

void rnbdc_exports_init(struct rnbdc_exports *exports);
void rnbdc_exports_free(struct rnbdc_exports *exports);
const struct rnbd_export_info *rnbdc_exports_first(struct rnbdc_exports *exports);
void rnbdc_exports_remove_first(struct rnbdc_exports *exports);
enum rnbd_proto_err rnbdc_handle_export(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbdc_handle_list_end(struct rnbdc_queue *q,
					  const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_EXPORTS_H */
