/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Backend for a file (direct or through the page cache), and for a block device through the page
 * cache. See file.c.
 */
#ifndef RNBDT_FILE_H
#define RNBDT_FILE_H

struct rnbdt_backend;
struct rnbdt_export;

int rnbdt_file_open(struct rnbdt_export *export, struct rnbdt_backend *be,
		    bool is_bdev);
int rnbdt_file_init(void);
void rnbdt_file_exit(void);

#endif /* RNBDT_FILE_H */
