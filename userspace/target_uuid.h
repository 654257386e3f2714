/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_UUID_H
#define RNBD_TARGET_UUID_H

#define TARGET_UUID_FILE	"/var/lib/rnbd/target-uuid"

int target_uuid_restore(void);

#endif /* RNBD_TARGET_UUID_H */
