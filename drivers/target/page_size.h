/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the page size of a memory region. See page_size.c.
 */
#ifndef RNBDT_PAGE_SIZE_H
#define RNBDT_PAGE_SIZE_H

#include "../core/portable.h"

u32 rnbdt_page_size(u64 bits, u64 cap, u32 least);

#endif /* RNBDT_PAGE_SIZE_H */
