/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Backend: a block device, with bios on the pages of the pool. See bdev.c.
 */
#ifndef RNBDT_BDEV_H
#define RNBDT_BDEV_H

struct file;
struct rnbdt_backend;
struct rnbdt_export;

/*
 * Maximum bytes of one WRITE_ZEROES to a block device. If the device refuses the command, the
 * target must write as many zeroes as data.
 */
#define RNBDT_ZERO_OUT_MAX	(16u << 20)

int rnbdt_bdev_open_file(struct rnbdt_export *export, struct rnbdt_backend *be);
void rnbdt_bdev_close_file(struct file *file);
void rnbdt_bdev_limits(struct rnbdt_backend *be);
int rnbdt_bdev_open(struct rnbdt_export *export, struct rnbdt_backend *be);
int rnbdt_bdev_init(void);
void rnbdt_bdev_exit(void);

#endif /* RNBDT_BDEV_H */
