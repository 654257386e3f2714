/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared parts of the codec's unit tests: messages, and assert_fault(), which records the
 * protocol errors that a decoder has returned.
 */
#ifndef RNBD_UNIT_CODEC_FIXTURE_H
#define RNBD_UNIT_CODEC_FIXTURE_H

#include "attach.h"
#include "cm.h"
#include "discover.h"
#include "io.h"
#include "lease.h"
#include "login.h"
#include "names.h"
#include "unit.h"

#define assert_fault(call, want) check_fault(call, want, #call, __LINE__)

void check_fault(enum rnbd_proto_err got, enum rnbd_proto_err want, const char *what, int line);

/* A change of a valid message, and the result that the decoder must then return. */
struct patch {
	u32 offset, bytes;
	u64 value;
	enum rnbd_proto_err want;
};

#define PATCH(type, member, value, want) {				\
	offsetof(struct type, member),					\
	sizeof(((struct type *)0)->member), value, RNBD_PERR_##want	\
}

#define SEQ	0x80000001u
#define EPOCH	3u
#define SLOTS	8u

struct message {
	_Alignas(8) u8 buf[8192];
	u32 len;
	struct rnbd_frame frame;
};

void message_init(struct message *msg, u8 type, u16 nr_entries, u32 bytes);
enum rnbd_proto_err message_decode_to(const struct message *msg, struct rnbd_frame *frame);
enum rnbd_proto_err message_decode(struct message *msg);

/* Make an entry with a copy of exactly @bytes of @body; it is valid until the next call. */
const struct rnbd_ctl_entry *entry_of(u16 type, const void *body, u32 bytes);

/* Login request that the tests of LOGIN and LOGIN_REPLY use. */
extern const struct rnbd_login_info asked;

/* Each function runs the tests of its file and returns the number of failed tests. */
int codec_frame_tests(void);
int codec_io_handle_tests(void);
int codec_io_request_tests(void);
int codec_io_reply_tests(void);
int codec_cm_tests(void);
int codec_login_tests(void);
int codec_login_reply_tests(void);
int codec_discover_tests(void);
int codec_ctl_tests(void);
int codec_attach_tests(void);
int codec_lease_tests(void);
int codec_slots_tests(void);

#endif /* RNBD_UNIT_CODEC_FIXTURE_H */
