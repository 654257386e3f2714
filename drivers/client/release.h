/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * References of sessions and disks, and release of the objects. See release.c.
 */
#ifndef RNBDC_RELEASE_H
#define RNBDC_RELEASE_H

struct rnbdc_disk;
struct rnbdc_session;

void rnbdc_session_put(struct rnbdc_session *sess);
void rnbdc_disk_put(struct rnbdc_disk *disk);

#endif /* RNBDC_RELEASE_H */
