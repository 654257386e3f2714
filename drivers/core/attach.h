/* SPDX-License-Identifier: GPL-2.0-only */
/* Bodies of control entries about attachments. See attach.c. */
#ifndef RNBD_CORE_ATTACH_H
#define RNBD_CORE_ATTACH_H

#include "ctl.h"
#include "geometry.h"
#include "handle.h"

/* struct rnbd_attach_info - decoded struct rnbd_ctl_attach */
struct rnbd_attach_info {
	struct rnbd_handle handle;
	u16 flags;
	u32 fence_generation;
	u32 owner_generation;
	char export[RNBD_EXPORT_NAME_SIZE];
};

/* struct rnbd_attach_grant - decoded struct rnbd_ctl_attach_reply */
struct rnbd_attach_grant {
	struct rnbd_handle handle;
	u16 status;
	u32 retry_ms;
	u32 fence_generation;
	u32 storage_inflight;
	struct rnbd_geometry geo;
	u8 incarnation[16];
	u8 export_uuid[16];
	u32 owner_generation;
};

/* struct rnbd_handle_info - decoded struct rnbd_ctl_handle */
struct rnbd_handle_info {
	struct rnbd_handle handle;
	u16 status;
	u32 retry_ms;
	u16 flags;
};

/* struct rnbd_capacity_info - decoded struct rnbd_ctl_capacity */
struct rnbd_capacity_info {
	struct rnbd_handle handle;
	u64 capacity;
};

void rnbd_encode_attach(struct rnbd_ctl_attach *wire, const struct rnbd_attach_info *info);
enum rnbd_proto_err rnbd_decode_attach(const struct rnbd_ctl_entry *entry,
				       struct rnbd_attach_info *info);
void rnbd_encode_attach_reply(struct rnbd_ctl_attach_reply *wire,
			      const struct rnbd_attach_grant *grant);
enum rnbd_proto_err rnbd_decode_attach_reply(const struct rnbd_ctl_entry *entry,
					     struct rnbd_attach_grant *grant);
void rnbd_encode_handle(struct rnbd_ctl_handle *wire, const struct rnbd_handle_info *info);
enum rnbd_proto_err rnbd_decode_handle(const struct rnbd_ctl_entry *entry,
				       struct rnbd_handle_info *info);
void rnbd_encode_capacity(struct rnbd_ctl_capacity *wire, const struct rnbd_capacity_info *info);
enum rnbd_proto_err rnbd_decode_capacity(const struct rnbd_ctl_entry *entry,
					 struct rnbd_capacity_info *info);

#endif /* RNBD_CORE_ATTACH_H */
