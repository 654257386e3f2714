/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Check that the codec reads no byte of a message twice. The compiler includes this header
 * before the codec (-include). memcpy() from the message poisons the copied bytes, and
 * AddressSanitizer reports a second read of them.
 */
#ifndef RNBD_FUZZ_ONCE_H
#define RNBD_FUZZ_ONCE_H

#include <sanitizer/asan_interface.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* the message that is being decoded */
extern const uint8_t *fuzz_message;
extern size_t fuzz_message_bytes;

static inline void *fuzz_memcpy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	if (bytes && (const uint8_t *)from >= fuzz_message &&
	    (const uint8_t *)from < fuzz_message + fuzz_message_bytes)
		ASAN_POISON_MEMORY_REGION(from, bytes);
	return to;
}

#define memcpy(to, from, bytes)	fuzz_memcpy(to, from, bytes)

#endif /* RNBD_FUZZ_ONCE_H */
