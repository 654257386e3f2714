// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: the secrets of a host.
 *
 * Operation: a host has a secret and, while the secret is being rotated, the old secret as well;
 * the target accepts a proof of either. A store closes the sessions that rely on a secret which
 * the host no longer has. The store does not wait until their storage has completed their
 * requests: the writer polls stale_secret_sessions.
 *
 * Ownership: as in auth.c.
 *
 * Concurrency: stores take rnbdt_lock for writing, which excludes all code that locks a host.
 *
 * Errors: a refused store is logged. Only the word "none" removes a secret; removing the secret
 * removes the old secret, too. The buffer that held a secret is wiped.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <rnbd/wire.h>

#include "../core/secret.h"
#include "auth.h"
#include "configfs_secret.h"
#include "graph.h"
#include "half_open.h"
#include "state.h"
#include "target.h"

/*
 * Return the secret in @page, NULL for "none", or an ERR_PTR(). Empty text is refused, so that a
 * script with an empty variable removes no secret. @page is not copied, because a copy would have
 * to be wiped, too.
 */
static struct rnbdt_secret *rnbdt_host_read_secret(const char *name, const char *attr,
						   const char *page, size_t count)
{
	struct rnbdt_secret *secret;
	u8 bytes[RNBD_SECRET_SIZE];
	const char *reason;

	if (sysfs_streq(page, RNBD_SECRET_NONE))
		return NULL;
	reason = rnbd_secret_parse(page, count, bytes);
	if (reason) {
		pr_err("host %s: %s: %s; \"" RNBD_SECRET_NONE "\" removes it\n", name,
		       attr, reason);
		return ERR_PTR(-EINVAL);
	}
	secret = rnbdt_secret_alloc(bytes);
	memzero_explicit(bytes, sizeof(bytes));
	if (IS_ERR(secret))
		pr_err("host %s: %s: the kernel cannot compute an HMAC-SHA256 (error %ld; is the module hmac loaded?)\n",
		       name, attr, PTR_ERR(secret));
	return secret;
}

/*
 * If the host already has a secret with the bytes of @secret, return the object of the host,
 * because the secrets of sessions and hosts are compared by pointer. Otherwise return @secret.
 * Takes over the reference on @secret and returns a reference.
 */
static struct rnbdt_secret *rnbdt_host_known_secret(const struct rnbdt_host *host,
						    struct rnbdt_secret *secret)
{
	struct rnbdt_secret *known;

	if (rnbdt_secret_same(secret, host->secret))
		known = host->secret;
	else if (rnbdt_secret_same(secret, host->old_secret))
		known = host->old_secret;
	else
		return secret;
	rnbdt_secret_get(known);
	rnbdt_secret_put(secret);
	return known;
}

/*
 * Set or remove the secret. Close the sessions that rely on a secret which the host no longer has
 * and, if the host has a secret now, those that began without one. Do not wait for their end.
 */
static ssize_t rnbdt_host_secret_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	struct rnbdt_secret *secret, *old = NULL;
	bool changed;

	secret = rnbdt_host_read_secret(config_item_name(item), "secret", page, count);
	/* configfs frees its buffer without wiping it. */
	memzero_explicit((char *)page, count);
	if (IS_ERR(secret))
		return PTR_ERR(secret);

	down_write(&rnbdt_lock);
	secret = rnbdt_host_known_secret(host, secret);
	changed = secret != host->secret;
	swap(host->secret, secret);
	if (!host->secret)
		swap(host->old_secret, old);
	/* Forget the addresses of earlier logins: those clients did not prove this secret. */
	if (changed)
		rnbdt_half_open_forget(host);
	up_write(&rnbdt_lock);
	rnbdt_secret_put(secret);
	rnbdt_secret_put(old);
	if (changed || old)
		rnbdt_sessions_close_stale_secret(host, "the secret of the host was changed");
	return count;
}

/* Only root may write a secret. */
struct configfs_attribute rnbdt_host_attr_secret = {
	.ca_name	= "secret",
	.ca_mode	= 0200,
	.ca_owner	= THIS_MODULE,
	.store		= rnbdt_host_secret_store,
};

/*
 * "current" makes the present secret the old secret, too. If a new secret is stored after that,
 * no session is closed, because the host still has the old secret.
 */
static ssize_t rnbdt_host_old_secret_store(struct config_item *item,
					   const char *page, size_t count)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	bool current_one = sysfs_streq(page, RNBD_SECRET_CURRENT);
	struct rnbdt_secret *secret = NULL;
	int ret = 0;

	if (!current_one)
		secret = rnbdt_host_read_secret(config_item_name(item), "old_secret", page, count);
	/* configfs frees its buffer without wiping it. */
	memzero_explicit((char *)page, count);
	if (IS_ERR(secret))
		return PTR_ERR(secret);

	down_write(&rnbdt_lock);
	if (current_one)
		secret = rnbdt_secret_get(host->secret);
	else
		secret = rnbdt_host_known_secret(host, secret);
	/* Refuse an old secret alone: without a secret, the target would request no proof. */
	if ((secret || current_one) && !host->secret)
		ret = -ENOKEY;
	else
		swap(host->old_secret, secret);
	up_write(&rnbdt_lock);
	rnbdt_secret_put(secret);
	if (ret) {
		pr_err("host %s: old_secret: the host has no secret; set that first\n",
		       config_item_name(item));
		return ret;
	}
	rnbdt_sessions_close_stale_secret(host, "the old secret of the host was withdrawn");
	return count;
}

/* Only root may write a secret. */
struct configfs_attribute rnbdt_host_attr_old_secret = {
	.ca_name	= "old_secret",
	.ca_mode	= 0200,
	.ca_owner	= THIS_MODULE,
	.store		= rnbdt_host_old_secret_store,
};

static ssize_t rnbdt_host_has_old_secret_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(rnbdt_to_host(item)->old_secret));
}

static ssize_t rnbdt_host_show_count(struct config_item *item, char *page,
				     u32 (*count)(const struct rnbdt_host *host))
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	u32 nr;

	rnbdt_host_lock(host);
	nr = count(host);
	rnbdt_host_unlock(host);
	return sysfs_emit(page, "%u\n", nr);
}

static ssize_t rnbdt_host_old_secret_sessions_show(struct config_item *item, char *page)
{
	return rnbdt_host_show_count(item, page, rnbdt_sessions_count_old_secret);
}

static ssize_t rnbdt_host_stale_secret_sessions_show(struct config_item *item, char *page)
{
	return rnbdt_host_show_count(item, page, rnbdt_sessions_count_stale_secret);
}

static ssize_t rnbdt_host_has_secret_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(rnbdt_to_host(item)->secret));
}

struct configfs_attribute rnbdt_host_attr_has_secret = {
	.ca_name	= "has_secret",
	.ca_mode	= 0444,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_host_has_secret_show,
};

struct configfs_attribute rnbdt_host_attr_has_old_secret = {
	.ca_name	= "has_old_secret",
	.ca_mode	= 0444,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_host_has_old_secret_show,
};

struct configfs_attribute rnbdt_host_attr_old_secret_sessions = {
	.ca_name	= "old_secret_sessions",
	.ca_mode	= 0444,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_host_old_secret_sessions_show,
};

struct configfs_attribute rnbdt_host_attr_stale_secret_sessions = {
	.ca_name	= "stale_secret_sessions",
	.ca_mode	= 0444,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_host_stale_secret_sessions_show,
};
