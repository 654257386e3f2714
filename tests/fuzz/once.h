/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Put in front of the codec (-include), this holds it to its word that no byte of a
 * message is read twice: what was copied is poisoned, and AddressSanitizer reports
 * whoever comes back for it.
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
