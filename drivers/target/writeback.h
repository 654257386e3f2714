/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write-back errors: attribution of errors of the page cache to requests. See writeback.c.
 */
#ifndef RNBDT_WRITEBACK_H
#define RNBDT_WRITEBACK_H

#include <linux/types.h>

struct rnbdt_backend;
struct rnbdt_req;

void rnbdt_wb_open(struct rnbdt_backend *be);
void rnbdt_wb_start(struct rnbdt_req *treq);
u16 rnbdt_wb_status(const struct rnbdt_backend *be, int error);
bool rnbdt_wb_unsure(struct rnbdt_req *treq, u16 *status);
int rnbdt_wb_flush(struct rnbdt_backend *be);

#endif /* RNBDT_WRITEBACK_H */
