/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bodies of control entries about the receive slots and requests of a connection. See slots.c.
 */
#ifndef RNBD_CORE_SLOTS_H
#define RNBD_CORE_SLOTS_H

#include "ctl.h"

/* struct rnbd_slots_info - decoded struct rnbd_ctl_slots */
struct rnbd_slots_info {
	u16 slots;
	u16 depth;
};

void rnbd_encode_slots(struct rnbd_ctl_slots *wire, const struct rnbd_slots_info *info);
enum rnbd_proto_err rnbd_decode_slots(const struct rnbd_ctl_entry *entry,
				      struct rnbd_slots_info *info);

#endif /* RNBD_CORE_SLOTS_H */
