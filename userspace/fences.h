/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_FENCES_H
#define RNBD_FENCES_H

#define FENCES_DIR	"/var/lib/rnbd/fences"

struct fence;

int fences_lock(void);
int fences_keep(const char *host_dir, const struct fence *fence);
int fences_keep_last(const char *host_dir);
int fences_put_back(const char *host_dir);

#endif /* RNBD_FENCES_H */
