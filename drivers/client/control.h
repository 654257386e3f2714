/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dispatch of the control entries of a target. See control.c.
 */
#ifndef RNBDC_CONTROL_H
#define RNBDC_CONTROL_H

#include "../core/proto_err.h"

struct rnbd_frame;
struct rnbdc_queue;

enum rnbd_proto_err rnbdc_handle_control(struct rnbdc_queue *q, const struct rnbd_frame *frame);

#endif /* RNBDC_CONTROL_H */
