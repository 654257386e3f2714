// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fencing: a host that others must be able to go on without.
 *
 * Operation
 *
 * Nodes of a cluster that lose sight of one of them go on when it is certain
 * that nothing it has asked for reaches the storage any more. To fence a host ends
 * its sessions as anything else does, see session.c: its queue pairs are in
 * error and drained, its keys invalid, its bios at their end. Only then is it done.
 * Until it is unfenced, or comes back started anew if that is what the
 * administrator wants, no login of it is granted.
 *
 * A host that was cut off or stopped all the time does not know that it was
 * fenced, and has requests that it would send again on a new connection, now on
 * top of what others have written. So each fence begins a generation, a grant tells
 * it, and a disk that connects again says by which one it lives: in another one it
 * is never connected again.
 *
 * The generation must not come back when the target starts anew, or when the host
 * is removed and made again. Whoever keeps the state of the fence puts it back
 * before the host is let in (rnbd does); should the newest be lost, one that is
 * made from the time of day is not likely to be one that was there before. That a
 * fence was lifted by a host itself is not kept: what is put back may say fenced, and
 * then a disk comes that was attached in just that generation.
 *
 * Ownership: all of it is part of the host.
 *
 * Concurrency: rnbdt_lock. A login is checked and gets its export in one go under
 * it, so it comes either before the fence and is ended, or after it and is refused.
 *
 * Errors: whoever waits for a fence can be killed, and it can be lifted by hand before it
 * is complete. Then it did not succeed, and to fence again waits again. A host that comes
 * back started anew lifts it only when it is.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/timekeeping.h>

#include "target.h"

/**
 * rnbdt_fence_done - up to which fence nothing of a host is on its way any more
 * @host: host
 *
 * It is noted before a fence is lifted, so whoever waits for one hears of its end even
 * if it was lifted at once.
 *
 * Context: rnbdt_lock held.
 * Return: the generation that began with it, or 0.
 */
u32 rnbdt_fence_done(struct rnbd_thost *host)
{
	struct rnbd_tfence *fence = &host->fence;

	lockdep_assert_held(&rnbdt_lock);
	if (fence->fenced && !rnbdt_sessions_active(host))
		fence->done = fence->generation;
	return fence->done;
}

/**
 * rnbdt_fence_begin - let nothing more of a host in
 * @host: host
 *
 * Its sessions end; nobody waits for that. One that is fenced is fenced anew: what was
 * put back may have been lifted before.
 *
 * Context: process context without rnbdt_lock.
 * Return: the generation that begins, or 0 if there is no further one: the host is out,
 * but what it has attached may come back once it is unfenced.
 */
u32 rnbdt_fence_begin(struct rnbd_thost *host)
{
	struct rnbd_tfence *fence = &host->fence;
	time64_t now = ktime_get_real_seconds();
	u32 generation = 0;
	bool news;

	mutex_lock(&rnbdt_lock);
	rnbdt_fence_done(host);
	if (fence->generation < RNBDT_GENERATION_MAX) {
		generation = fence->generation + 1;
		/* A clock that is far off must not use them up. */
		if (now > generation && now < RNBDT_GENERATION_MAX - RNBDT_GENERATION_MAX / 16)
			generation = now;
		fence->generation = generation;
	}
	/* If there is no further one, that has to be waited for once more. */
	fence->done = min(fence->done, fence->generation - 1);
	/* Somebody newer may have been let in since that was kept. */
	if (fence->restored)
		fence->boot_id = uuid_null;
	news = !fence->fenced;
	fence->fenced = true;
	fence->restored = false;
	rnbdt_sessions_fence(host);
	mutex_unlock(&rnbdt_lock);
	if (news)
		pr_notice("host %pUb is fenced\n", &host->uuid);
	return generation;
}

/**
 * rnbdt_fence - let nothing of a host reach any storage from now on
 * @host: host
 *
 * Context: process context without rnbdt_lock; waits for the storage.
 * Return: 0 if nothing of it is on its way any more; -EINTR after a signal that
 * kills, some may be; -ECANCELED if it was unfenced before that; -EOVERFLOW if there is no
 * further generation.
 */
int rnbdt_fence(struct rnbd_thost *host)
{
	u32 generation = rnbdt_fence_begin(host);
	u32 begun = generation, waited;
	bool done;
	int ret;

	if (!generation)
		return -EOVERFLOW;
	/* Others may fence it meanwhile: the last one counts. */
	do {
		waited = generation;
		ret = rnbdt_sessions_wait_fenced(host, waited);
		if (ret)
			return ret;
		mutex_lock(&rnbdt_lock);
		done = rnbdt_fence_done(host) >= begun;
		generation = host->fence.fenced ? host->fence.generation : waited;
		mutex_unlock(&rnbdt_lock);
	} while (!done && generation != waited);
	return done ? 0 : -ECANCELED;
}

/**
 * rnbdt_unfence - let a host in again
 * @host: host
 *
 * What it attached before stays revoked.
 *
 * Context: process context without rnbdt_lock.
 */
void rnbdt_unfence(struct rnbd_thost *host)
{
	bool news;

	mutex_lock(&rnbdt_lock);
	rnbdt_fence_done(host);
	news = host->fence.fenced;
	host->fence.fenced = false;
	mutex_unlock(&rnbdt_lock);
	if (news)
		pr_notice("host %pUb is not fenced any more\n", &host->uuid);
}

/**
 * rnbdt_fence_take - make a host what it was when the target ran before
 * @host: host
 * @fence: how it was then; of a newer generation, or nothing changes
 *
 * What it has attached in an older one ends; nobody waits for that.
 *
 * Context: process context without rnbdt_lock.
 */
void rnbdt_fence_take(struct rnbd_thost *host, const struct rnbd_tfence *fence)
{
	bool newer;

	mutex_lock(&rnbdt_lock);
	newer = fence->generation > host->fence.generation;
	if (newer) {
		/* A fence was by whom it has kept; others may have been let in since. */
		if (fence->fenced && uuid_is_null(&host->fence.boot_id))
			host->fence.boot_id = fence->boot_id;
		host->fence.generation = fence->generation;
		host->fence.fenced = fence->fenced;
		host->fence.restored = true;
		rnbdt_sessions_fence(host);
	}
	mutex_unlock(&rnbdt_lock);
	if (newer && fence->fenced)
		pr_notice("host %pUb is fenced\n", &host->uuid);
}

/* Only a module that was started anew has nothing left to send. */
static u16 rnbdt_fence_lift(const struct rnbd_tsession *s, const uuid_t *boot_id)
{
	struct rnbd_thost *host = s->host;
	struct rnbd_tfence *fence = &host->fence;

	lockdep_assert_held(&rnbdt_lock);

	if (!host->unfence_on_restart || (s->login.flags & RNBD_LOGIN_DISCOVER))
		return RNBD_ST_FENCED;
	if (s->login.fence_generation) {
		/* It was let in after this fence, before the target started anew. */
		if (!fence->restored)
			return RNBD_ST_FENCED;
	} else if (uuid_is_null(boot_id) || uuid_equal(&fence->boot_id, boot_id)) {
		return RNBD_ST_FENCED;
	}
	/* Never before the fence is complete. */
	if (rnbdt_fence_done(host) != fence->generation)
		return RNBD_ST_BUSY;
	fence->fenced = false;
	rnbdt_fence_let_in(s);
	pr_notice("host %pUb %s and is not fenced any more\n", &host->uuid,
		  s->login.fence_generation ? "was let in before" : "was started anew");
	return RNBD_ST_OK;
}

/**
 * rnbdt_fence_check - may this login be granted
 * @s: session with a login that was proven
 *
 * Context: rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_fence_check(const struct rnbd_tsession *s)
{
	struct rnbd_tfence *fence = &s->host->fence;
	u32 generation = s->login.fence_generation;
	uuid_t boot_id;

	lockdep_assert_held(&rnbdt_lock);

	/* One that a fence has ended lifts none, and nobody reads its answer. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN)
		return RNBD_ST_SHUTDOWN;
	import_uuid(&boot_id, s->login.boot_id);
	/* The first that is seen of it may still be what was fenced. */
	if (fence->fenced && uuid_is_null(&fence->boot_id) &&
	    !(s->login.flags & RNBD_LOGIN_DISCOVER))
		fence->boot_id = boot_id;
	if (generation && generation != fence->generation)
		return fence->fenced ? RNBD_ST_FENCED : RNBD_ST_REVOKED;
	return fence->fenced ? rnbdt_fence_lift(s, &boot_id) : RNBD_ST_OK;
}

/**
 * rnbdt_fence_let_in - a login is granted
 * @s: session that can reach the storage from now on
 *
 * Context: rnbdt_lock held.
 */
void rnbdt_fence_let_in(const struct rnbd_tsession *s)
{
	struct rnbd_tfence *fence = &s->host->fence;

	lockdep_assert_held(&rnbdt_lock);
	import_uuid(&fence->boot_id, s->login.boot_id);
	fence->restored = false;
}
