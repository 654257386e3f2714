// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page size of a memory region.
 *
 * Operation: a device translates addresses of a memory region by a table with an entry for
 * each page. Memory that is contiguous for the device needs fewer entries with larger pages,
 * and the device finds more of them in its cache. All pages of a region have the same size,
 * so it must divide the address and the length of each piece.
 *
 * Ownership: nothing is allocated or kept.
 *
 * Concurrency: any context.
 *
 * Errors: none. This file uses no kernel interface; tests/unit/test_page_size.c tests it.
 */

#include "page_size.h"

/**
 * rnbdt_page_size - choose the page size of a memory region
 * @bits: bitwise OR of the addresses and the lengths of all pieces of its memory
 * @cap: page sizes of the device, a bit for each
 * @least: page size if no other one fits, a power of two
 *
 * Context: any.
 * Return: the largest size in @cap, of at least @least and less than 4 GiB, that divides
 * addresses and lengths, or @least.
 */
u32 rnbdt_page_size(u64 bits, u64 cap, u32 least)
{
	/* The lowest bit of @bits is the largest power of two that divides all of them. */
	u64 sizes = cap & (((bits & -bits) << 1) - 1) & U32_MAX;

	/* Keep the highest bit alone. */
	while (sizes & (sizes - 1))
		sizes &= sizes - 1;
	return sizes > least ? sizes : least;
}
