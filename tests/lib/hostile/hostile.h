/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Build valid and damaged messages, pass them to the decoders, and check the results.
 *
 * Operation: hostile_build() makes a valid message of a kind for a state on which both ends have
 * agreed (struct world); hostile_change() damages the message. hostile_take() passes the message to
 * its decoder. If the decoder accepts it, the decoded values must be within the limits, which
 * take_*.c check without the code of the decoder, and our own encoder must make the same bytes from
 * these values. If the decoder refuses the message, it must leave the result unchanged.
 *
 * Ownership: the program that is linked with these files provides hostile_assert.h in its include
 * path. hostile_assert.h defines the assertions assert_true(), assert_false(), assert_null(),
 * assert_int_equal(), assert_int_not_equal(), assert_in_range(), assert_ptr_equal(),
 * assert_memory_equal(), fail() and fail_msg(); the program need not continue after a failed one.
 * hostile_assert.h also defines hostile_original(at), an address at which the byte of the message
 * at @at can still be read after a decoder has read it; and hostile_forbid(at, bytes), which these
 * files call for bytes that no decoder needs to read.
 *
 * Concurrency: one thread; the world and the random numbers are global.
 * Errors: an assertion fails if a property does not hold.
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
/* Highest type of a control entry that this version knows; it knows all types from 1 on. */
#define CTL_LAST	RNBD_CTL_SLOTS_REPLY

enum kind {
	KIND_REQUEST, KIND_REPLY, KIND_CREDIT, KIND_CONTROL,
	KIND_CM_REQ, KIND_CM_REP, KIND_CM_REJ, NR_KINDS,
};

/* State on which both ends have agreed; a test draws a new one from time to time. */
struct world {
	struct rnbd_limits lim;
	struct rnbd_export_limits exp;
	struct rnbd_pool pool;
	struct rnbd_conn_req conn;
	struct rnbd_login_info asked;
	u32 nr_segments;	/* segments that the client has received */
	bool is_target;	/* a PROOF is decoded as that of a client, which has a nonce */
	u16 slots;
	u32 seq;
	u32 attempt;
};

extern struct unit_random rnd;
extern struct world world;

/* Numbers of requests, extents, pieces of inline data and control entries that were accepted */
extern u64 requests_accepted, extents_accepted;
extern u64 inline_accepted, ctl_accepted;
/* Number of accepted control entries by type; element 0 counts all entries of unknown types */
extern u64 ctl_bodies_accepted[CTL_LAST + 1];

/* below(): draw a number from 0 to @n - 1; one_in(): return true with a probability of 1/@n */
u32 below(u32 n);
bool one_in(u32 n);

void draw_bytes(void *bytes, u32 len);
u64 draw_number(void);
void draw_pool(void);
void draw_name(char *name);
void draw_identities(void);
void draw_world(void);

/* Return a login reply that grants the pool of the world; segments are decoded with it. */
const struct rnbd_grant *hostile_grant(void);

/* Build a valid message of @kind at @buf; return its length. */
u32 hostile_build(enum kind kind, u8 *buf);

/* Damage a message, mostly after its first @spare bytes; return its new length. */
u32 hostile_change(u8 *buf, u32 len, u32 spare);

/* Pass a message to the decoder for @kind and check what it does; return its result. */
enum rnbd_proto_err hostile_take(enum kind kind, const u8 *buf, u32 len);

/* Return true if this version knows control entries of @type. */
bool ctl_known(u16 type);

bool is_zero(const void *bytes, size_t len);
bool is_power(u64 n);

#endif /* RNBD_HOSTILE_H */
