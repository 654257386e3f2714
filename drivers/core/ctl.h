/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries of CONTROL frames: heads and bodies. See ctl.c.
 */
#ifndef RNBD_CORE_CTL_H
#define RNBD_CORE_CTL_H

#include "frame.h"

/**
 * struct rnbd_ctl_entry - an entry of a CONTROL frame
 * @type: type of the entry, without RNBD_CTL_MANDATORY
 * @mandatory: a receiver that does not know @type must end the connection
 * @id: see struct rnbd_ctl
 * @body: first byte of the body; of a decoded entry, a pointer into the frame
 * @bytes: bytes of the body, a multiple of RNBD_CTL_ALIGN
 */
struct rnbd_ctl_entry {
	u16 type;
	bool mandatory;
	u32 id;
	const void *body;
	u32 bytes;
};

/**
 * struct rnbd_ctl_pos - position in a CONTROL frame; zero at the beginning
 * @index: index of the next entry
 * @offset: bytes of all entries before the next entry
 */
struct rnbd_ctl_pos {
	u16 index;
	u32 offset;
};

void rnbd_encode_ctl(void *buf, const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbd_decode_ctl(const struct rnbd_frame *frame, struct rnbd_ctl_pos *pos,
				    struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbd_ctl_body(const struct rnbd_ctl_entry *entry, void *copy, u32 size);
enum rnbd_proto_err rnbd_ctl_no_body(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbd_ctl_unknown(const struct rnbd_ctl_entry *entry);

#endif /* RNBD_CORE_CTL_H */
