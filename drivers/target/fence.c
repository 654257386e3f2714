// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fencing of hosts: no I/O of a fenced host can reach the storage.
 *
 * Operation
 *
 * When the nodes of a cluster have lost contact with a node, they may continue only when no
 * I/O of that node can reach the storage. Fencing a host closes its sessions (teardown.c). A
 * fence is complete when the queue pairs of these sessions are drained, their keys are invalid
 * and their bios have completed. Logins of the host are refused until the administrator
 * unfences it or, with unfence_on_restart, until its client module has restarted.
 *
 * A host that was cut off or suspended does not know that it was fenced. If it reconnected, it
 * would resend old requests over data that other hosts have written since. Therefore each
 * fence begins a generation, which each granted ATTACH reports to the client. The client sends
 * its generation when it attaches a disk again; a stale generation is rejected with
 * RNBD_ST_REVOKED.
 *
 * A generation must not repeat when the target restarts or when the host is removed and
 * created again. Userspace (rnbd) keeps the fencing state and restores it before an export
 * allows the host. If the newest state is lost, a generation taken from the time of day is
 * unlikely to repeat. Userspace does not record that a restart of the client has lifted a
 * fence. So if the restored state is fenced, a client that was granted the restored generation
 * may reconnect.
 *
 * Ownership: the fencing state is part of the host.
 *
 * Concurrency: a fence takes rnbdt_lock for writing. A login is checked and admitted, and an
 * attachment is checked and bound, in one section with the host locked. So each of them either
 * precedes the fence and is closed by it, or follows the fence and is refused.
 *
 * Errors: a fatal signal can interrupt the wait for a fence, and the host can be unfenced
 * before the fence is complete. The fence has then failed; fencing the host again begins
 * another wait. A restarted client lifts only a complete fence.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/rwsem.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include <rnbd/wire.h>

#include "fence.h"
#include "graph.h"
#include "owner.h"
#include "session.h"
#include "state.h"
#include "target.h"

/**
 * rnbdt_fence_done - return the highest generation that is fully drained
 * @host: host
 *
 * The function records its result in the host. Each function that lifts a fence calls it
 * first, so that a task which waits for the fence can still see that it was complete.
 *
 * Context: the host locked.
 * Return: the generation, or 0 if no fence was complete.
 */
u32 rnbdt_fence_done(struct rnbdt_host *host)
{
	struct rnbdt_fence *fence = &host->fence;

	rnbdt_assert_host(host);
	if (fence->fenced && !rnbdt_sessions_active(host))
		fence->done = fence->generation;
	return fence->done;
}

/**
 * rnbdt_sessions_fence - close the sessions of a host, without waiting
 * @host: host
 *
 * Context: rnbdt_lock held for writing.
 */
static void rnbdt_sessions_fence(const struct rnbdt_host *host)
{
	struct rnbdt_session *s;

	lockdep_assert_held_write(&rnbdt_lock);
	list_for_each_entry(s, &host->sessions, host_entry)
		rnbdt_session_close(s, "the host was fenced");
}

/**
 * rnbdt_fence_begin - fence a host without waiting for its sessions
 * @host: host
 *
 * A host that is fenced already gets a new generation, too: a restored fence may have been
 * lifted before the target restarted.
 *
 * Context: process context without rnbdt_lock; may sleep.
 * Return: the new generation, or 0 if the generations are used up. In the latter case the host
 * is fenced, but its clients can reconnect once it is unfenced.
 */
u32 rnbdt_fence_begin(struct rnbdt_host *host)
{
	struct rnbdt_fence *fence = &host->fence;
	time64_t now = ktime_get_real_seconds();
	u32 generation = 0;
	bool news;

	down_write(&rnbdt_lock);
	rnbdt_fence_done(host);
	if (fence->generation < RNBDT_GENERATION_MAX) {
		generation = fence->generation + 1;
		/* A clock far in the future must not use up the generations. */
		if (now > generation && now < RNBDT_GENERATION_MAX - RNBDT_GENERATION_MAX / 16)
			generation = now;
		fence->generation = generation;
	}
	/* If the generation could not increase, a former drain of it does not count. */
	fence->done = min(fence->done, fence->generation - 1);
	/* The restored boot id may be older than that of the client to fence. */
	if (fence->restored)
		fence->boot_id = uuid_null;
	news = !fence->fenced;
	fence->fenced = true;
	fence->restored = false;
	rnbdt_sessions_fence(host);
	rnbdt_owner_fenced(host);
	up_write(&rnbdt_lock);
	if (news)
		pr_notice("host %pUb is fenced\n", &host->uuid);
	return generation;
}

/* Test whether @s has an attachment that was bound before the fence of @generation. */
static bool rnbdt_session_active(struct rnbdt_session *s, u32 generation)
{
	struct rnbdt_attach *att;
	unsigned long index;

	lockdep_assert_held_write(&rnbdt_lock);
	if (!s->nr_bound)
		return false;
	xa_for_each(&s->attaches, index, att)
		if (!xa_is_value(att) && att->export && att->fence_generation < generation)
			return true;
	return false;
}

static struct rnbdt_session *rnbdt_session_find_active(const struct rnbdt_host *host,
						       u32 generation)
{
	struct rnbdt_session *s;

	lockdep_assert_held_write(&rnbdt_lock);
	if (!host->nr_active)
		return NULL;
	list_for_each_entry(s, &host->sessions, host_entry)
		if (rnbdt_session_active(s, generation))
			return s;
	return NULL;
}

/**
 * rnbdt_sessions_wait_fenced - wait until the fenced sessions cannot reach the storage
 * @host: host
 * @generation: generation of the fence; only attachments bound before it delay the return
 *
 * Context: process context without rnbdt_lock; sleeps until the storage has
 * completed the requests, without a limit of time.
 * Return: 0, or -EINTR after a fatal signal; the sessions end nevertheless.
 */
static int rnbdt_sessions_wait_fenced(const struct rnbdt_host *host, u32 generation)
{
	struct rnbdt_session *s;
	long left = 1;

	down_write(&rnbdt_lock);
	while (left >= 0) {
		s = rnbdt_session_find_active(host, generation);
		if (!s)
			break;
		kref_get(&s->ref);
		up_write(&rnbdt_lock);

		left = wait_for_completion_killable_timeout(&s->teardown.drained, 30 * HZ);
		if (!left)
			pr_warn("host %pUb is fenced: waiting for session %u to end its I/O\n",
				&host->uuid, s->serial);
		rnbdt_session_put(s);

		down_write(&rnbdt_lock);
	}
	up_write(&rnbdt_lock);
	return left < 0 ? -EINTR : 0;
}

/**
 * rnbdt_fence_host - fence a host and wait until the fence is complete
 * @host: host
 *
 * Context: process context without rnbdt_lock; sleeps until the storage has
 * completed the requests, without a limit of time.
 * Return: 0 if no I/O of the host is in flight. Otherwise I/O may be in flight: -EINTR after a
 * fatal signal; -ECANCELED if the host was unfenced before the fence was complete; -EOVERFLOW
 * if the generations are used up.
 */
int rnbdt_fence_host(struct rnbdt_host *host)
{
	u32 generation = rnbdt_fence_begin(host);
	u32 begun = generation, waited;
	bool done;
	int ret;

	if (!generation)
		return -EOVERFLOW;
	/* Another task may begin a newer fence concurrently: wait for that one, too. */
	do {
		waited = generation;
		ret = rnbdt_sessions_wait_fenced(host, waited);
		if (ret)
			return ret;
		down_write(&rnbdt_lock);
		done = rnbdt_fence_done(host) >= begun;
		generation = host->fence.fenced ? host->fence.generation : waited;
		up_write(&rnbdt_lock);
	} while (!done && generation != waited);
	return done ? 0 : -ECANCELED;
}

/**
 * rnbdt_unfence_host - allow logins of a fenced host again
 * @host: host
 *
 * Attachments of older generations remain revoked.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_unfence_host(struct rnbdt_host *host)
{
	bool news;

	down_write(&rnbdt_lock);
	rnbdt_fence_done(host);
	news = host->fence.fenced;
	host->fence.fenced = false;
	up_write(&rnbdt_lock);
	if (news)
		pr_notice("host %pUb is no longer fenced\n", &host->uuid);
}

/**
 * rnbdt_fence_restore - restore the fencing state of an earlier run of the target
 * @host: host
 * @fence: state to restore; ignored unless its generation is newer
 *
 * If the state is newer, close the sessions of the host, without waiting.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_fence_restore(struct rnbdt_host *host, const struct rnbdt_fence *fence)
{
	bool newer;

	down_write(&rnbdt_lock);
	newer = fence->generation > host->fence.generation;
	if (newer) {
		/* Use the restored boot id only if no client has logged in since the restart. */
		if (fence->fenced && uuid_is_null(&host->fence.boot_id))
			host->fence.boot_id = fence->boot_id;
		host->fence.generation = fence->generation;
		host->fence.fenced = fence->fenced;
		host->fence.restored = true;
		rnbdt_sessions_fence(host);
		rnbdt_owner_fenced(host);
	}
	up_write(&rnbdt_lock);
	if (newer && fence->fenced)
		pr_notice("host %pUb is fenced\n", &host->uuid);
}

/* Lift a fence if the client module has restarted, because it then has no old requests. */
static u16 rnbdt_fence_lift(const struct rnbdt_session *s, const uuid_t *boot_id)
{
	struct rnbdt_host *host = s->host;
	struct rnbdt_fence *fence = &host->fence;

	rnbdt_assert_host(host);

	if (!host->unfence_on_restart || s->login.list)
		return RNBD_ST_FENCED;
	if (s->login.info.fence_generation) {
		/*
		 * A client can have the generation of the current fence only if that fence was
		 * lifted once and the target has then restarted.
		 */
		if (!fence->restored)
			return RNBD_ST_FENCED;
	} else if (uuid_is_null(boot_id) || uuid_equal(&fence->boot_id, boot_id)) {
		return RNBD_ST_FENCED;
	}
	/* Do not lift a fence that is not complete. */
	if (rnbdt_fence_done(host) != fence->generation)
		return RNBD_ST_BUSY;
	fence->fenced = false;
	rnbdt_fence_admit(s);
	pr_notice("host %pUb %s and is no longer fenced\n", &host->uuid,
		  s->login.info.fence_generation ? "was unfenced before" : "has restarted");
	return RNBD_ST_OK;
}

/**
 * rnbdt_fence_check - check whether fencing allows a login
 * @s: session whose login is authenticated
 *
 * Lift a complete fence if the client module has restarted and unfence_on_restart is set.
 *
 * Context: the host locked.
 * Return: RNBD_ST_OK; RNBD_ST_FENCED; RNBD_ST_BUSY if the fence is not complete;
 * RNBD_ST_SHUTDOWN if the session closes.
 */
u16 rnbdt_fence_check(const struct rnbdt_session *s)
{
	struct rnbdt_fence *fence = &s->host->fence;
	u32 generation = s->login.info.fence_generation;
	uuid_t boot_id;

	rnbdt_assert_host(s->host);

	/* A session that was closed, perhaps by this fence, must not lift the fence. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN)
		return RNBD_ST_SHUTDOWN;
	if (!fence->fenced)
		return RNBD_ST_OK;
	import_uuid(&boot_id, s->login.info.boot_id);
	/* Without a recorded boot id, this login may come from the client that was fenced. */
	if (uuid_is_null(&fence->boot_id) && !s->login.list)
		fence->boot_id = boot_id;
	if (generation && generation != fence->generation)
		return RNBD_ST_FENCED;
	return rnbdt_fence_lift(s, &boot_id);
}

/**
 * rnbdt_fence_check_attach - check whether fencing allows a disk to be attached
 * @s: live session
 * @generation: fence generation that the client sent, 0 if the disk was not attached before
 *
 * Context: the host locked.
 * Return: RNBD_ST_OK; RNBD_ST_FENCED; RNBD_ST_REVOKED if the host was fenced since the
 * disk was attached.
 */
u16 rnbdt_fence_check_attach(const struct rnbdt_session *s, u32 generation)
{
	const struct rnbdt_fence *fence = &s->host->fence;

	rnbdt_assert_host(s->host);

	if (fence->fenced)
		return RNBD_ST_FENCED;
	return generation && generation != fence->generation ? RNBD_ST_REVOKED : RNBD_ST_OK;
}

/**
 * rnbdt_fence_admit - record a granted login
 * @s: session whose login is granted
 *
 * Context: the host locked.
 */
void rnbdt_fence_admit(const struct rnbdt_session *s)
{
	struct rnbdt_fence *fence = &s->host->fence;

	rnbdt_assert_host(s->host);
	import_uuid(&fence->boot_id, s->login.info.boot_id);
	fence->restored = false;
}

/**
 * rnbdt_sessions_active - count the sessions of a host that can reach the storage
 * @host: host
 *
 * Closing sessions count until their I/O has ended.
 *
 * Context: the host locked.
 * Return: number of sessions.
 */
u32 rnbdt_sessions_active(const struct rnbdt_host *host)
{
	rnbdt_assert_host(host);
	return host->nr_active;
}
