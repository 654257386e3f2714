/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries, see fuzz_ctl.c.
 */
#ifndef RNBD_FUZZ_CTL_H
#define RNBD_FUZZ_CTL_H

#include "hostile.h"

/* Give the body of an entry to every decoder, whatever its type is. */
void fuzz_ctl_take_any(const struct rnbd_ctl_entry *entry);

/* Put right the lengths in a CONTROL frame and the number of its entries; returns its length. */
size_t fuzz_ctl_repair(u8 *message, size_t size);

#endif /* RNBD_FUZZ_CTL_H */
