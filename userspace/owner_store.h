/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_OWNER_STORE_H
#define RNBD_OWNER_STORE_H

#define OWNER_STORE_DIR	"/var/lib/rnbd/owners"

int owner_store_keep(const char *export_dir);
int owner_store_put_back(const char *export_dir);

#endif /* RNBD_OWNER_STORE_H */
