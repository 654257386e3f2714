/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile messages, and the properties of messages that a decoder accepts.
 *
 * Operation: hostile_build() makes a valid message of a kind in a world, which is what
 * both ends have agreed about; hostile_change() spoils it. hostile_take() gives it to the
 * decoder. An accepted message must lie within the limits, as checked here by other code
 * than the decoder's, and must be what our own encoder would have sent, byte for byte; a
 * refused message must leave the result untouched.
 *
 * Ownership: the program that is linked with these files provides hostile_assert.h in its
 * include path: the assertions, after which the program need not go on (assert_true(),
 * assert_false(), assert_null(), assert_int_equal(), assert_int_not_equal(),
 * assert_in_range(), assert_ptr_equal(), assert_memory_equal(), fail(), fail_msg()),
 * hostile_original(at), the address of a byte of the message that may no longer be read
 * at @at, and hostile_forbid(at, bytes), called for bytes that no decoder needs to read.
 *
 * Concurrency: one thread; the world and the random numbers are global.
 *
 * Errors: a property that does not hold ends the test by an assertion.
 */
#ifndef RNBD_HOSTILE_H
#define RNBD_HOSTILE_H

#include "attach.h"
#include "cm.h"
#include "ctl.h"
#include "discover.h"
#include "geometry.h"
#include "io.h"
#include "lease.h"
#include "login.h"
#include "names.h"
#include "op.h"
#include "pool.h"
#include "random.h"
#include "slots.h"

#define FRAME_MAX	32768
#define INLINE_MAX	4096
/* The last type of a control entry that this version knows; not all before it are known. */
#define CTL_LAST	RNBD_CTL_SLOTS_REPLY

enum kind {
	KIND_REQUEST, KIND_REPLY, KIND_CREDIT, KIND_CONTROL,
	KIND_CM_REQ, KIND_CM_REP, KIND_CM_REJ, NR_KINDS,
};

/* State that both ends have agreed about; redrawn from time to time. */
struct world {
	struct rnbd_limits lim;
	struct rnbd_export_limits exp;
	struct rnbd_pool pool;
	struct rnbd_conn_req conn;
	struct rnbd_login_info asked;
	u32 nr_segments;	/* segments that the client has received */
	bool is_target;	/* takes proofs of clients */
	u16 slots;
	u32 seq;
	u32 attempt;
};

extern struct unit_random rnd;
extern struct world world;

/* Parts of messages that a decoder has accepted */
extern u64 requests_accepted, extents_accepted;
extern u64 inline_accepted, ctl_accepted;
/* Control entries, by type; 0 is for those of an unknown type */
extern u64 ctl_bodies_accepted[CTL_LAST + 1];

/* A number below @n; true once in @n times on average */
u32 below(u32 n);
bool one_in(u32 n);

void draw_bytes(void *bytes, u32 len);
u64 draw_number(void);
void draw_pool(void);
void draw_name(char *name);
void draw_identities(void);
void draw_world(void);

/* The login reply to which segments of the pool of the world belong. */
const struct rnbd_grant *hostile_grant(void);

/* Make a valid message of @kind at @buf; returns its length. */
u32 hostile_build(enum kind kind, u8 *buf);

/* Spoil a message, mostly behind its first @spare bytes; returns its new length. */
u32 hostile_change(u8 *buf, u32 len, u32 spare);

/* Give a message to the decoder for @kind and judge the result, which is returned. */
enum rnbd_proto_err hostile_take(enum kind kind, const u8 *buf, u32 len);

/* Does this version know control entries of this type? */
bool ctl_known(u16 type);

bool is_zero(const void *bytes, size_t len);
bool is_power(u64 n);

#endif /* RNBD_HOSTILE_H */
