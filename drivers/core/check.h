/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks and copies that the decoders share.
 *
 * Operation: encoders convert structures from native byte order to the wire format of
 * <rnbd/wire.h>; all reserved bytes are zero. A decoder trusts no byte of a peer. Each decoder
 * copies a wire structure and reads its members only in the copy, so a member has one value even
 * if the buffer changes. The caller checks what a decoder cannot know, for example whether a tag
 * is in use, whether the length of a reply is that of its request, and whether a pool extent
 * lies in a segment that the client holds.
 *
 * Arithmetic on numbers of a peer uses 64 bits, where sums of 32-bit numbers cannot overflow,
 * or subtracts numbers that were compared before. The limits (struct rnbd_limits, struct
 * rnbd_export_limits) are local and trusted.
 *
 * Ownership: struct rnbd_frame points into the buffer that it was decoded from, and is valid
 * as long as that buffer.
 * Concurrency: the buffer of a frame must not change while it is decoded. A receive slot does
 * not change, because no peer has a memory key for it. Even if it changed, a decoder would
 * accept only numbers that are within the limits.
 * Errors: a decoder that returns an error leaves its result untouched, unless its kernel-doc
 * says otherwise.
 */
#ifndef RNBD_CORE_CHECK_H
#define RNBD_CORE_CHECK_H

#include "portable.h"
#include <rnbd/wire.h>

/* Smallest number of units that hold @bytes, computed without overflow. */
static inline u32 rnbd_bytes_to_units(u32 bytes)
{
	return (bytes >> RNBD_UNIT_SHIFT) +
	       ((bytes & (RNBD_UNIT_SIZE - 1)) != 0);
}

/* Is @value a multiple of @size, a power of two? */
static inline bool rnbd_multiple(u64 value, u32 size)
{
	return !(value & ((u64)size - 1));
}

static inline bool rnbd_all_zero(const void *bytes, size_t len)
{
	return !memchr_inv(bytes, 0, len);
}

/* Is @status one that the reply to a request may carry? */
static inline bool rnbd_status_of_request(u16 status)
{
	return status <= RNBD_ST_CLOSED;
}

/* Is @status one that version 1 of the protocol knows? */
static inline bool rnbd_status_known(u16 status)
{
	return rnbd_status_of_request(status) ||
	       (status >= RNBD_ST_MALFORMED && status <= RNBD_ST_OWNED);
}

/* May an answer with @status carry @retry_ms? Only BUSY and LIMIT may carry one that is not 0. */
static inline bool rnbd_retry_ok(u16 status, u32 retry_ms)
{
	return !retry_ms || status == RNBD_ST_BUSY || status == RNBD_ST_LIMIT;
}

#endif /* RNBD_CORE_CHECK_H */
