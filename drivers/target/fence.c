// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fencing of hosts: no I/O of a fenced host can reach the storage.
 *
 * Operation
 *
 * When a cluster has lost contact with a node, the other nodes may continue only when no I/O of
 * that node can reach the storage. Fencing a host closes its sessions (teardown.c), whose further
 * requests rnbdt_may_submit() then refuses. A fence is complete when all attachments of the host
 * have left their exports: then the storage has completed the requests of the host. Logins of the
 * host are refused until the administrator unfences it or, with unfence_on_restart, until its
 * client module has restarted.
 *
 * A host that was cut off or suspended does not know that it was fenced. If it reconnected, it
 * would resend old requests over data that other hosts have written since. Therefore each fence
 * begins a new generation. The reply to a granted ATTACH reports the generation of the host.
 * When the client attaches the disk again, it sends the generation that was reported for the
 * disk; a stale generation is rejected with RNBD_ST_REVOKED.
 *
 * A generation must not repeat when the target restarts or when the host is removed and created
 * again. Userspace (rnbd) keeps the fencing state and restores it before an export allows the
 * host. A new generation is taken from the time of day, so that it is unlikely to repeat even if
 * the newest state is lost. Userspace does not record that a restart of the client has lifted a
 * fence. So a host can be restored as fenced although the fence was lifted. With
 * unfence_on_restart, a client that sends the restored generation lifts such a fence, because
 * the target granted this generation to the client only after the fence was lifted.
 *
 * Ownership: the fencing state is part of the host.
 *
 * Concurrency: a fence takes rnbdt_lock for writing. A login is checked and admitted in one
 * critical section with the host locked, and an attachment is checked and bound in one such
 * section. So each login and each attachment either precedes the fence and is closed by it, or
 * follows the fence and is refused.
 *
 * Errors: a fatal signal can interrupt the wait for a fence, and the host can be unfenced before
 * the fence is complete. In both cases rnbdt_fence_host() returns an error; fencing the host
 * again begins another wait. A restarted client lifts only a complete fence.
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
 * rnbdt_fence_done - return the highest generation whose fence was found complete
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
 * A host that is fenced already gets a new generation, too: if its fence was restored, the fence
 * could have been lifted before the target restarted, and clients could have its generation.
 *
 * Context: process context without rnbdt_lock; may sleep.
 * Return: the new generation, or 0 if the generations are used up. In the latter case the host
 * is fenced, but its generation is not new: after the unfencing, clients can attach disks again
 * that they had before the fence.
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
	/* If the generation could not increase, forget that its earlier fence was complete. */
	fence->done = min(fence->done, fence->generation - 1);
	/* A restored boot id can be older than that of the client to fence: forget it. */
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
 * Return: 0; -EINTR after a fatal signal, while the teardown of the sessions continues.
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
 * Return: 0 if no I/O of the host is in flight. Otherwise I/O is possibly in flight: -EINTR
 * after a fatal signal; -ECANCELED if the host was unfenced before the fence was complete;
 * -EOVERFLOW if the generations are used up.
 */
int rnbdt_fence_host(struct rnbdt_host *host)
{
	u32 generation = rnbdt_fence_begin(host);
	u32 begun = generation, waited;
	bool done;
	int ret;

	if (!generation)
		return -EOVERFLOW;
	/* Another task can begin a newer fence concurrently: wait for the newer fence, too. */
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
 * @fence: state to restore; ignored unless its generation is newer than that of @host
 *
 * If the state is restored, close the sessions of the host, without waiting for their end.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_fence_restore(struct rnbdt_host *host, const struct rnbdt_fence *fence)
{
	bool newer;

	down_write(&rnbdt_lock);
	newer = fence->generation > host->fence.generation;
	if (newer) {
		/* A client that has logged in since the target restarted has a newer boot id. */
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

/*
 * With unfence_on_restart, lift a complete fence if the client module has restarted, because it
 * then has no old requests, or if the client sends the generation of a restored fence. Return the
 * status of the login.
 */
static u16 rnbdt_fence_lift(const struct rnbdt_session *s, const uuid_t *boot_id)
{
	struct rnbdt_host *host = s->host;
	struct rnbdt_fence *fence = &host->fence;

	rnbdt_assert_host(host);

	if (!host->unfence_on_restart || s->login.list)
		return RNBD_ST_FENCED;
	if (s->login.info.fence_generation) {
		/*
		 * The client has attached a disk under the generation of this fence. This is
		 * possible only if the fence was lifted, and the target then restarted and
		 * restored it.
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
 * If unfence_on_restart is set, lift a complete fence in two cases: the client module has
 * restarted, or the fence was restored and the client sends its generation.
 *
 * Context: the host locked.
 * Return: RNBD_ST_OK; RNBD_ST_FENCED; RNBD_ST_BUSY if the login would lift the fence, but the fence
 * is not complete; RNBD_ST_SHUTDOWN if the session is closing.
 */
u16 rnbdt_fence_check(const struct rnbdt_session *s)
{
	struct rnbdt_fence *fence = &s->host->fence;
	u32 generation = s->login.info.fence_generation;
	uuid_t boot_id;

	rnbdt_assert_host(s->host);

	/* A closing session must not lift the fence: this fence has possibly closed it. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN)
		return RNBD_ST_SHUTDOWN;
	if (!fence->fenced)
		return RNBD_ST_OK;
	import_uuid(&boot_id, s->login.info.boot_id);
	/* If no boot id is known, record this one: it is possibly that of the fenced client. */
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
 * rnbdt_fence_admit - record the boot id of a granted login
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
 * rnbdt_sessions_active - count the sessions of a host that have attachments bound to exports
 * @host: host
 *
 * Only these sessions can reach the storage. A closing session counts until its I/O has ended.
 *
 * Context: the host locked.
 * Return: number of sessions.
 */
u32 rnbdt_sessions_active(const struct rnbdt_host *host)
{
	rnbdt_assert_host(host);
	return host->nr_active;
}
