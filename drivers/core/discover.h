/* SPDX-License-Identifier: GPL-2.0-only */
/* Bodies of control entries about lists of exports. See discover.c. */
#ifndef RNBD_CORE_DISCOVER_H
#define RNBD_CORE_DISCOVER_H

#include "ctl.h"

/* struct rnbd_export_info - decoded struct rnbd_ctl_export */
struct rnbd_export_info {
	char name[RNBD_EXPORT_NAME_SIZE];
	u8 uuid[16];
	u64 capacity;
	u32 logical_block;
	u32 flags;
};

/* struct rnbd_list_end_info - decoded struct rnbd_ctl_list_end */
struct rnbd_list_end_info {
	u16 status;
	u32 retry_ms;
};

void rnbd_encode_export(struct rnbd_ctl_export *wire, const struct rnbd_export_info *info);
enum rnbd_proto_err rnbd_decode_export(const struct rnbd_ctl_entry *entry,
				       struct rnbd_export_info *info);
void rnbd_encode_list_end(struct rnbd_ctl_list_end *wire, const struct rnbd_list_end_info *info);
enum rnbd_proto_err rnbd_decode_list_end(const struct rnbd_ctl_entry *entry,
					 struct rnbd_list_end_info *info);

#endif /* RNBD_CORE_DISCOVER_H */
