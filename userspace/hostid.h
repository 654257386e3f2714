/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_HOSTID_H
#define RNBD_HOSTID_H

#include "parse.h"

int hostid_get(uint8_t uuid[UUID_SIZE]);

#endif /* RNBD_HOSTID_H */
