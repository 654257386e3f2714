/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of the pool that are granted and released while a session is live. See lease.c.
 */
#ifndef RNBDC_LEASE_H
#define RNBDC_LEASE_H

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdc_queue;
struct rnbdc_session;

u32 rnbdc_lease_floor(const struct rnbdc_session *sess);
void rnbdc_lease_init(struct rnbdc_session *sess);
void rnbdc_lease_start(struct rnbdc_session *sess);
void rnbdc_lease_stop(struct rnbdc_session *sess);
enum rnbd_proto_err rnbdc_lease_handle(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_LEASE_H */
