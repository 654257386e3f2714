// SPDX-License-Identifier: GPL-2.0-only
/*
 * ATTACH and DETACH entries of a session that the target has not answered.
 *
 * Operation: these entries are called control requests. A session may have at most
 * RNBD_CTL_OPEN_MAX unanswered ones; the target treats one more as a protocol error. Each
 * ATTACH, and each DETACH that the target can count (attach_ctl.c), occupies an element of the
 * array rnbdc_ctl.asked, from before the request is sent until the reply with its id arrives
 * or the connection ends. If a task stops waiting for the reply to a request that was sent,
 * the request stays in the array.
 *
 * Ownership: the task that waits for the reply owns the pointer rnbdc_asked.disk, and sets it
 * to NULL when it stops waiting.
 *
 * Concurrency: the lock of the session protects struct rnbdc_ctl.
 *
 * Errors: none.
 */

#include "asked.h"

/**
 * rnbdc_asked_add - record a request that is about to be sent
 * @ctl: control requests of the session
 * @handle: handle of the attachment that the request names
 * @disk: disk whose task waits for the reply, or NULL
 *
 * Context: any; the lock of the session held.
 * Return: id of the request, or 0 if too many requests are unanswered.
 */
u32 rnbdc_asked_add(struct rnbdc_ctl *ctl, const struct rnbd_handle *handle,
		    struct rnbdc_disk *disk)
{
	u32 i;

	for (i = 0; i < RNBD_CTL_OPEN_MAX; i++) {
		if (ctl->asked[i].id)
			continue;
		/* Skip the id 0, which marks a free element of the array. */
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
 * rnbdc_asked_find - find an unanswered request by its id
 * @ctl: control requests of the session
 * @id: id as received from the target, possibly invalid
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
 * rnbdc_asked_names - test whether an unanswered request names a handle
 * @ctl: control requests of the session
 * @handle: handle
 *
 * Context: any; the lock of the session held.
 * Return: true if an unanswered request names the handle.
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
 * rnbdc_asked_remove - remove a request that was answered or not sent
 * @ctl: control requests of the session
 * @asked: request to remove
 *
 * Context: any; the lock of the session held.
 */
void rnbdc_asked_remove(struct rnbdc_ctl *ctl, struct rnbdc_asked *asked)
{
	*asked = (struct rnbdc_asked) { };
	WRITE_ONCE(ctl->nr_asked, ctl->nr_asked - 1);
}

/**
 * rnbdc_asked_clear - remove all requests
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
