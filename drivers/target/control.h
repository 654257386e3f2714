/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dispatch of the control entries of a client. See control.c.
 */
#ifndef RNBDT_CONTROL_H
#define RNBDT_CONTROL_H

#include "../core/proto_err.h"

struct rnbd_frame;
struct rnbdt_queue;

enum rnbd_proto_err rnbdt_queue_control(struct rnbdt_queue *q, const struct rnbd_frame *frame);

#endif /* RNBDT_CONTROL_H */
