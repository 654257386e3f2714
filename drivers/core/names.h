/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and descriptions of numbers, and the rules for names. See names.c. */
#ifndef RNBD_CORE_NAMES_H
#define RNBD_CORE_NAMES_H

#include "portable.h"
#include "proto_err.h"
#include <rnbd/wire.h>

const char *rnbd_status_text(u16 status);
const char *rnbd_status_word(u16 status);
const char *rnbd_proto_err_text(enum rnbd_proto_err perr);
const char *rnbd_proto_err_word(enum rnbd_proto_err perr);
bool rnbd_export_name_ok(const char *name, size_t size);
bool rnbd_disk_alias_ok(const char *name);

#endif /* RNBD_CORE_NAMES_H */
