/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the files that judge the result of a decoder. Each take_*() gives a message
 * to one decoder and returns its result. The encoder writes the decoded message to @again.
 */
#ifndef RNBD_HOSTILE_TAKE_H
#define RNBD_HOSTILE_TAKE_H

#include "hostile.h"

/* Is this any status, and one of a request? */
bool status_known(u16 status);
bool status_of_request(u16 status);

/* Fail unless our own encoder makes the same bytes. */
void check_encoded(const u8 *buf, const u8 *again, u32 len);

/* Fail unless our own encoder makes the same body, apart from zeros at its end; count it. */
void check_body(const struct rnbd_ctl_entry *entry, const void *again, u32 bytes);

enum rnbd_proto_err take_requests(struct rnbd_frame *frame, u8 *again);
enum rnbd_proto_err take_replies(struct rnbd_frame *frame, u8 *again);
enum rnbd_proto_err take_ctl(struct rnbd_frame *frame, u8 *again);
enum rnbd_proto_err take_slots(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err take_query(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err take_attach_body(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err take_login_body(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err take_lease_body(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err take_list_body(const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err take_cm_req(const u8 *buf, u32 len);
enum rnbd_proto_err take_cm_rep(const u8 *buf, u32 len);
enum rnbd_proto_err take_cm_rej(const u8 *buf, u32 len);

#endif /* RNBD_HOSTILE_TAKE_H */
