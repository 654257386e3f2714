/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_WAIT_H
#define RNBD_TARGET_WAIT_H

#include <stdint.h>

struct args;

int target_wait_options(const struct args *args, uint32_t *seconds);
int target_begin_disable(const char *dir);
int target_disable_export(const char *dir, uint32_t seconds);
int target_disable_port(const char *dir);
int target_wait_closed(const char *dir, uint32_t seconds);
int target_wait_stale_secret(const char *dir);

#endif /* RNBD_TARGET_WAIT_H */
