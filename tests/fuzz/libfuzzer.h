/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations of the functions that libFuzzer calls, and of LLVMFuzzerMutate(), which
 * libFuzzer provides. libFuzzer has no header for C.
 */
#ifndef RNBD_FUZZ_LIBFUZZER_H
#define RNBD_FUZZ_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
				 size_t two_size, uint8_t *out, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

#endif /* RNBD_FUZZ_LIBFUZZER_H */
