/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists of exports, see discover.c.
 */
#ifndef RNBD_CORE_DISCOVER_H
#define RNBD_CORE_DISCOVER_H

#include "frame.h"

/**
 * struct rnbd_discover_info - decoded struct rnbd_discover_reply
 * @status: enum rnbd_status
 * @more: further frames follow
 * @nr_exports: entries of this frame
 */
struct rnbd_discover_info {
	u16 status;
	bool more;
	u32 nr_exports;
};

/* struct rnbd_export_info - decoded struct rnbd_export_entry */
struct rnbd_export_info {
	char name[RNBD_EXPORT_NAME_SIZE];
	u8 uuid[16];
	u64 capacity;
	u32 logical_block;
	u32 flags;
};

void rnbd_encode_discover_reply(struct rnbd_discover_reply *wire, u16 status,
				bool more);
void rnbd_encode_export(struct rnbd_export_entry *wire,
			const struct rnbd_export_info *info);
enum rnbd_proto_err rnbd_decode_discover_reply(const struct rnbd_frame *frame, u32 room,
					       struct rnbd_discover_info *info);
enum rnbd_proto_err rnbd_decode_export(const struct rnbd_frame *frame, u32 index,
				       struct rnbd_export_info *info);

#endif /* RNBD_CORE_DISCOVER_H */
