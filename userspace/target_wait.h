/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_WAIT_H
#define RNBD_TARGET_WAIT_H

#include <stdint.h>

int target_begin_disable(const char *dir);
int target_disable(const char *dir);
int target_wait_denied(const uint8_t *uuid, const char *export);
int target_wait_outdated(const char *host_dir);

#endif /* RNBD_TARGET_WAIT_H */
