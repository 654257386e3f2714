/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files which check the results of decoders share. Each take_*() passes a
 * message to one decoder and returns its result. @again is a buffer to which the encoder writes the
 * decoded message, so that it can be compared with the original one.
 */
#ifndef RNBD_HOSTILE_TAKE_H
#define RNBD_HOSTILE_TAKE_H

#include "hostile.h"

/* status_known(): any status of the protocol; status_of_request(): one that a REPLY can have */
bool status_known(u16 status);
bool status_of_request(u16 status);

/* Fail unless our own encoder has made the same bytes (@again) as the message has at @buf. */
void check_encoded(const u8 *buf, const u8 *again, u32 len);

/*
 * Fail unless the body consists of the bytes that our own encoder has made (@again) and of zeros
 * after them. Count the entry by its type.
 */
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
