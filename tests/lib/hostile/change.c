// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damage a message at random.
 */
#include "hostile.h"

u32 hostile_change(u8 *buf, u32 len, u32 spare)
{
	/* size of the changed field in bytes, and its offset in the message */
	u32 bytes = 1u << below(4), at;

	/* mostly leave the header valid: decoders read nothing after an invalid header */
	if (len <= spare || one_in(8))
		spare = 0;
	if (len < 8)
		return len;
	at = spare + below(len - spare);
	at -= at % bytes;

	switch (below(12)) {
	case 0:
		return below(len);
	case 1:
		bytes = 1 + below(64);
		if (one_in(2))
			memset(buf + len, 0, bytes);
		else
			draw_bytes(buf + len, bytes);
		return len + bytes;
	case 2: /* copy a field of the message over another one */
		memcpy(buf + at, buf + below(len - bytes + 1) / bytes * bytes,
		       bytes);
		return len;
	case 3:
	case 4:
	case 5:
		unit_put(buf + at, bytes, unit_get(buf + at, bytes) +
			 (one_in(2) ? 1 + below(4) : -(u64)(1 + below(4))));
		return len;
	case 6:
	case 7:
		buf[at] ^= 1u << below(8);
		return len;
	default:
		unit_put(buf + at, bytes, draw_number());
		return len;
	}
}
