/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measurement of the I/O of a disk by the clock of timed adapters; window.c explains it.
 *
 * Operation: init and exit with the debugfs folder of the module.
 * Ownership, concurrency, errors: see window.c.
 */
#ifndef MDL_WINDOW_H
#define MDL_WINDOW_H

struct dentry;

void mdl_window_init(struct dentry *folder);
void mdl_window_exit(void);

#endif
