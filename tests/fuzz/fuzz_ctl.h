/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries, see fuzz_ctl.c.
 */
#ifndef RNBD_FUZZ_CTL_H
#define RNBD_FUZZ_CTL_H

#include "hostile.h"

/* Pass the body of an entry to every decoder, regardless of the type of the entry. */
void fuzz_ctl_take_any(const struct rnbd_ctl_entry *entry);

/* Repair the entry lengths and the entry count of a CONTROL frame; return its length. */
size_t fuzz_ctl_repair(u8 *message, size_t size);

#endif /* RNBD_FUZZ_CTL_H */
