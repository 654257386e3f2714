/* SPDX-License-Identifier: GPL-2.0-only */
/* Bodies of control entries about the segments of a pool. See lease.c. */
#ifndef RNBD_CORE_LEASE_H
#define RNBD_CORE_LEASE_H

#include "ctl.h"

struct rnbd_grant;

/* struct rnbd_segment_info - decoded struct rnbd_ctl_segment */
struct rnbd_segment_info {
	u64 addr;
	u32 slot;
	u32 generation;
	u32 rkey;
	u32 units;
};

/* struct rnbd_lease_info - decoded struct rnbd_ctl_lease */
struct rnbd_lease_info {
	u32 slot;
	u32 generation;
	u32 deadline_ms;
};

void rnbd_encode_segment(struct rnbd_ctl_segment *wire, const struct rnbd_segment_info *seg);
enum rnbd_proto_err rnbd_decode_segment(const struct rnbd_ctl_entry *entry,
					const struct rnbd_grant *grant, u32 nr_received,
					struct rnbd_segment_info *seg);
void rnbd_encode_want(struct rnbd_ctl_want *wire, u32 units);
enum rnbd_proto_err rnbd_decode_want(const struct rnbd_ctl_entry *entry, u32 max_units,
				     u32 *units);
void rnbd_encode_lease(struct rnbd_ctl_lease *wire, const struct rnbd_lease_info *info);
enum rnbd_proto_err rnbd_decode_lease(const struct rnbd_ctl_entry *entry, u32 nr_slots,
				      struct rnbd_lease_info *info);

#endif /* RNBD_CORE_LEASE_H */
