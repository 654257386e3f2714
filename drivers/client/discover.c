// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discovery: the exports of a target that this host may attach.
 *
 * Operation: A session without a disk connects queue 0 with the smallest limits, sends a
 * LIST entry, collects the exports that the target announces until LIST_END (exports.c), and
 * disconnects. Disks cannot join the session. If the host may attach no export, the target
 * can refuse its connection; the client treats such a refusal as an empty list.
 *
 * Ownership: The caller owns the list, complete or not, and frees it.
 *
 * Concurrency: The completion handler of queue 0 handles one entry at a time. The list
 * belongs to the caller again when queue 0 is drained.
 *
 * Errors: Most failures set an error message for the user. The decoders check all that the
 * target sends. RNBD_EXPORTS_MAX limits the number of exports. After the connection is made,
 * RNBDC_LIST_MS (login.c) limits the wait for a challenge, and the wait for the list.
 */

#include "../core/login.h"
#include "abort.h"
#include "attach.h"
#include "connect.h"
#include "discover.h"
#include "errmsg.h"
#include "exports.h"
#include "login.h"
#include "options.h"
#include "queue.h"
#include "recover.h"
#include "release.h"
#include "session.h"
#include "session_get.h"
#include "state.h"

/* Use the smallest ring, which every target grants: a list need not arrive fast. */
#define RNBDC_DISCOVER_SLOTS	RNBD_RING_SLOTS_MIN
#define RNBDC_DISCOVER_SLOT_SIZE	2048

/* Test whether the target refused the connection because the host may attach no export. */
static bool rnbdc_discover_nothing(const struct rnbdc_session *sess)
{
	const struct rnbdc_queue *q = sess->queues[0];

	return q && (q->cm_status == RNBD_ST_HOST_DENIED ||
		     q->cm_status == RNBD_ST_NO_EXPORT);
}

/**
 * rnbdc_discover - get the list of exports of a target that this host may attach
 * @opt: address, host id and secret
 * @exports: initialised list, to which the exports are added
 * @errmsg: message for the user, set on most errors
 *
 * Context: process context, may sleep until the target answers or a time limit passes; ends
 * early when an abort is requested in opt->abort.
 * Return: 0 or a negative errno; in both cases the caller frees the list.
 */
int rnbdc_discover(const struct rnbdc_options *opt, struct rnbdc_exports *exports,
		   struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_options least = *opt;
	struct rnbdc_session *sess;
	int ret;

	least.sess.queues = 1;
	least.sess.depth = 1;
	least.sess.max_io = RNBD_UNIT_SIZE;
	least.sess.ring_slots = RNBDC_DISCOVER_SLOTS;
	least.sess.slot_size = RNBDC_DISCOVER_SLOT_SIZE;
	sess = rnbdc_session_alloc(&least, errmsg);
	if (IS_ERR(sess))
		return PTR_ERR(sess);
	sess->login.exports = exports;
	rnbdc_abort_bind(opt->abort, sess, NULL);

	ret = rnbdc_connect_first(sess, errmsg);
	if (!ret)
		ret = rnbdc_login(sess, errmsg);
	else if (rnbdc_discover_nothing(sess))
		ret = 0;

	rnbdc_abort_unbind(opt->abort);
	rnbdc_session_close(sess);
	rnbdc_recover_end(sess);
	rnbdc_session_put(sess);
	return ret;
}
