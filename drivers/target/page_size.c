// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choice of the page size of a memory region.
 *
 * Operation: an RDMA device translates addresses of a memory region with a table that has an
 * entry for each page. With larger pages, contiguous memory needs fewer entries, and more of
 * them fit into the cache of the device. All pages of a region have the same size, so that size
 * must divide the address and the length of each piece of memory.
 *
 * Ownership: this file allocates nothing.
 *
 * Concurrency: the function has no state and may be called in any context.
 *
 * Errors: none. This file uses no kernel interface; tests/unit/test_page_size.c tests it.
 */

#include "page_size.h"

/**
 * rnbdt_page_size - choose the page size of a memory region
 * @bits: bitwise OR of the addresses and the lengths of all pieces of memory of the region
 * @cap: bitwise OR of the page sizes that the device supports
 * @least: page size if no larger one fits, a power of two
 *
 * Context: any.
 * Return: the largest size in @cap that divides all addresses and lengths and is greater than
 * @least and less than 4 GiB; @least if there is none.
 */
u32 rnbdt_page_size(u64 bits, u64 cap, u32 least)
{
	/* The lowest set bit of @bits is the largest power of two that divides all the values. */
	u64 sizes = cap & (((bits & -bits) << 1) - 1) & U32_MAX;

	/* Clear all bits except the highest one. */
	while (sizes & (sizes - 1))
		sizes &= sizes - 1;
	return sizes > least ? sizes : least;
}
