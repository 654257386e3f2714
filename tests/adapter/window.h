/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measurement of disk I/O by the clock of timed adapters; see window.c.
 *
 * Operation: mdl_window_init() and mdl_window_exit() are called together with the setup and the
 * removal of the debugfs folder of the module.
 * Ownership, concurrency, errors: see window.c.
 */
#ifndef MDL_WINDOW_H
#define MDL_WINDOW_H

struct dentry;

void mdl_window_init(struct dentry *folder);
void mdl_window_exit(void);

#endif
