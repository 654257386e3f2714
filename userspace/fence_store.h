/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_FENCE_STORE_H
#define RNBD_FENCE_STORE_H

#define FENCE_STORE_DIR	"/var/lib/rnbd/fences"

struct fence;

int fence_store_lock(void);
int fence_store_keep(const char *host_dir, const struct fence *fence);
int fence_store_keep_last(const char *host_dir);
int fence_store_put_back(const char *host_dir);

#endif /* RNBD_FENCE_STORE_H */
