/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault points of the target, for tests. See inject.c.
 */
#ifndef RNBDT_INJECT_H
#define RNBDT_INJECT_H

#include "../core/inject.h"

/**
 * enum rnbdt_reuse - argument of reuse_segment: segments whose pages are freed too early
 * @RNBDT_REUSE_LATE: a segment that the client does not return in time
 * @RNBDT_REUSE_CLOSING: all segments of a session that closes
 * @RNBDT_REUSE_RELEASED: a segment that the client has released
 */
enum rnbdt_reuse {
	RNBDT_REUSE_LATE,
	RNBDT_REUSE_CLOSING,
	RNBDT_REUSE_RELEASED,
};

extern struct rnbd_inject rnbdt_inject_delay_submit;
extern struct rnbd_inject rnbdt_inject_delay_bio;
extern struct rnbd_inject rnbdt_inject_delay_close;
extern struct rnbd_inject rnbdt_inject_delay_linger;
extern struct rnbd_inject rnbdt_inject_delay_login;
extern struct rnbd_inject rnbdt_inject_delay_release;
extern struct rnbd_inject rnbdt_inject_delay_restrict;
extern struct rnbd_inject rnbdt_inject_drop_reply;
extern struct rnbd_inject rnbdt_inject_drop_attach_reply;
extern struct rnbd_inject rnbdt_inject_no_epoch_check;
extern struct rnbd_inject rnbdt_inject_no_drain;
extern struct rnbd_inject rnbdt_inject_no_copy;
extern struct rnbd_inject rnbdt_inject_fail_request;
extern struct rnbd_inject rnbdt_inject_no_wb_check;
extern struct rnbd_inject rnbdt_inject_refuse_queue;
extern struct rnbd_inject rnbdt_inject_no_lease_drain;
extern struct rnbd_inject rnbdt_inject_no_generation;
extern struct rnbd_inject rnbdt_inject_reuse_segment;

void rnbdt_inject_init(void);
void rnbdt_inject_exit(void);

#endif /* RNBDT_INJECT_H */
