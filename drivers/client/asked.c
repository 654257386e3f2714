// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control requests of a session that the target has not answered.
 *
 * Operation: a target accepts RNBD_CTL_OPEN_MAX control requests that it has not answered;
 * one more is a protocol error. Each such request has a member of rnbdc_ctl.asked, from
 * before it is sent until the answer with its id arrives, or the connection has ended. A
 * task that gives up waiting leaves its request there.
 *
 * Ownership: rnbdc_asked.disk belongs to the task that waits, which clears it before it
 * returns.
 *
 * Concurrency: the lock of the session protects all.
 *
 * Errors: none.
 */

#include "asked.h"

/**
 * rnbdc_asked_add - note a request that is about to be sent
 * @ctl: control requests of the session
 * @handle: handle of the attachment that the request names
 * @disk: disk whose task waits for the answer, or NULL
 *
 * Context: any; the lock of the session held.
 * Return: id of the request, or 0 if too many requests are not answered.
 */
u32 rnbdc_asked_add(struct rnbdc_ctl *ctl, const struct rnbd_handle *handle,
		    struct rnbdc_disk *disk)
{
	u32 i;

	for (i = 0; i < RNBD_CTL_OPEN_MAX; i++) {
		if (ctl->asked[i].id)
			continue;
		/* An answer that bears 0 answers nothing. */
		if (!++ctl->id)
			++ctl->id;
		ctl->asked[i] = (struct rnbdc_asked) {
			.id = ctl->id,
			.handle = *handle,
			.disk = disk,
		};
		WRITE_ONCE(ctl->nr_asked, ctl->nr_asked + 1);
		return ctl->id;
	}
	return 0;
}

/**
 * rnbdc_asked_find - get a request that the target has not answered
 * @ctl: control requests of the session
 * @id: id of the request, possibly one that the target made up
 *
 * Context: any; the lock of the session held.
 * Return: the request, or NULL.
 */
struct rnbdc_asked *rnbdc_asked_find(struct rnbdc_ctl *ctl, u32 id)
{
	u32 i;

	for (i = 0; id && i < RNBD_CTL_OPEN_MAX; i++)
		if (ctl->asked[i].id == id)
			return &ctl->asked[i];
	return NULL;
}

/**
 * rnbdc_asked_names - test whether a request that names a handle is not answered
 * @ctl: control requests of the session
 * @handle: handle
 *
 * Context: any; the lock of the session held.
 * Return: true if so.
 */
bool rnbdc_asked_names(const struct rnbdc_ctl *ctl, const struct rnbd_handle *handle)
{
	u32 i;

	for (i = 0; i < RNBD_CTL_OPEN_MAX; i++)
		if (ctl->asked[i].id && rnbd_handle_equal(&ctl->asked[i].handle, handle))
			return true;
	return false;
}

/**
 * rnbdc_asked_remove - forget a request that was answered or not sent
 * @ctl: control requests of the session
 * @asked: one of them
 *
 * Context: any; the lock of the session held.
 */
void rnbdc_asked_remove(struct rnbdc_ctl *ctl, struct rnbdc_asked *asked)
{
	*asked = (struct rnbdc_asked) { };
	WRITE_ONCE(ctl->nr_asked, ctl->nr_asked - 1);
}

/**
 * rnbdc_asked_clear - forget all requests
 * @ctl: control requests of a session whose connection has ended
 *
 * Context: any; the lock of the session held.
 */
void rnbdc_asked_clear(struct rnbdc_ctl *ctl)
{
	u32 i;

	for (i = 0; i < RNBD_CTL_OPEN_MAX; i++)
		if (ctl->asked[i].id)
			rnbdc_asked_remove(ctl, &ctl->asked[i]);
}
