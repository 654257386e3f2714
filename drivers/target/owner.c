// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owners of exclusive exports: one host at a time may attach such an export.
 *
 * Operation
 *
 * The first host that attaches an exclusive export owns it. The ownership survives the loss of
 * the connection, and ends when the host detaches the export, is fenced or restarts its client
 * module, or when the administrator ends it or moves it to another host. Each change begins a
 * new owner generation of the export. The reply to a granted ATTACH reports this generation. The
 * client sends the reported generation when it attaches the same disk again; any generation
 * other than the present one is rejected with RNBD_ST_REVOKED. So a host that was cut off cannot
 * resend old requests over those of a later owner. While the storage executes requests of an
 * earlier owner, the ATTACH of the next owner is answered with RNBD_ST_BUSY (bind.c).
 *
 * A generation must not repeat when the target restarts or the export is created again.
 * Userspace (rnbd) keeps the owner and restores it before the export is enabled. A new
 * generation is taken from the time of day, so that it is unlikely to repeat even if the newest
 * state is lost. The kept state contains the fence generation of the owner, so that a later
 * fencing of the owner ends a restored ownership.
 *
 * Ownership: struct rnbdt_owner is part of the export and names the owner by UUID, because the
 * host need not exist in configfs.
 *
 * Concurrency: the owner is part of the configuration: it changes with rnbdt_lock held for
 * writing, and code that has locked any host may read it. As an exception, an ATTACH of the owner
 * writes rnbdt_owner.session_id with only the host locked. A change of the owner closes the
 * attachments of older generations in the same critical section.
 *
 * Errors: none.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include <rnbd/wire.h>

#include "../core/attach.h"
#include "attach.h"
#include "attached.h"
#include "graph.h"
#include "owner.h"
#include "session.h"
#include "target.h"

/* Buckets of the hash table of exports that have an owner, by owner */
#define RNBDT_OWNED_BUCKETS	1024

static struct hlist_head rnbdt_owned[RNBDT_OWNED_BUCKETS];	/* rnbdt_lock */

static struct hlist_head *rnbdt_owned_bucket(const uuid_t *host)
{
	return &rnbdt_owned[jhash(host, sizeof(*host), 0) % RNBDT_OWNED_BUCKETS];
}

/**
 * rnbdt_owner_init - initialise the owner of an export
 * @export: zeroed export
 *
 * Context: any.
 */
void rnbdt_owner_init(struct rnbdt_export *export)
{
	INIT_HLIST_NODE(&export->owner.entry);
}

/**
 * rnbdt_owner_exit - remove an export from the hash table of owners
 * @export: export whose directory is removed, or that is about to be freed
 *
 * Lookups in the hash table use the name of the export, which configfs frees before it frees the
 * export. So the export must leave the table before its name is freed.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_owner_exit(struct rnbdt_export *export)
{
	down_write(&rnbdt_lock);
	hlist_del_init(&export->owner.entry);
	up_write(&rnbdt_lock);
}

/* Set the owner of an export, and close the attachments of other generations. */
static void rnbdt_owner_write(struct rnbdt_export *export, const uuid_t *host,
			      const uuid_t *boot_id, u32 fence_generation, u32 generation)
{
	struct rnbdt_owner *owner = &export->owner;

	lockdep_assert_held_write(&rnbdt_lock);

	owner->host = *host;
	owner->boot_id = *boot_id;
	owner->session_id = uuid_null;
	owner->fence_generation = fence_generation;
	owner->generation = generation;
	hlist_del_init(&owner->entry);
	if (!uuid_is_null(host))
		hlist_add_head(&owner->entry, rnbdt_owned_bucket(host));
	rnbdt_attached_revoke(export);
}

/* Begin a new owner generation of an export; @host is the owner, or null for no owner. */
static void rnbdt_owner_begin(struct rnbdt_export *export, const uuid_t *host,
			      const uuid_t *boot_id, u32 fence_generation)
{
	time64_t now = ktime_get_real_seconds();
	u32 generation = export->owner.generation + 1;

	/* A clock far in the future must not use up the generations. */
	if (now > generation && now < RNBDT_OWNER_GENERATION_MAX)
		generation = now;
	rnbdt_owner_write(export, host, boot_id, fence_generation, generation);
}

static void rnbdt_owner_end(struct rnbdt_export *export, const char *reason)
{
	pr_info("export %s: host %pUb no longer owns it: %s\n", rnbdt_export_name(export),
		&export->owner.host, reason);
	rnbdt_owner_begin(export, &uuid_null, &uuid_null, 0);
}

static bool rnbdt_has_owner(const struct rnbdt_export *export)
{
	return !uuid_is_null(&export->owner.host);
}

static bool rnbdt_is_boot_id(const uuid_t *boot_id, const struct rnbdt_session *s)
{
	return !memcmp(boot_id, s->login.info.boot_id, sizeof(*boot_id));
}

/**
 * rnbdt_owner_set_exclusive - make an export exclusive, or not exclusive
 * @export: export that is not enabled
 * @exclusive: only one host at a time may attach the export
 *
 * If this call changes the attribute, disks that were attached before the call cannot be attached
 * again, see rnbdt_owner_check().
 * An export that becomes exclusive keeps its owner generation, so that userspace can restore a
 * newer generation.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_owner_set_exclusive(struct rnbdt_export *export, bool exclusive)
{
	down_write(&rnbdt_lock);
	if (export->exclusive != exclusive) {
		WRITE_ONCE(export->exclusive, exclusive);
		if (!exclusive && export->owner.generation)
			rnbdt_owner_begin(export, &uuid_null, &uuid_null, 0);
	}
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_owner_move - end the ownership of an exclusive export, or move it to a host
 * @export: exclusive export
 * @host: next owner, which need not have attached the export, or null to end the ownership;
 *	nothing happens if @host is the current owner
 *
 * Context: process context without rnbdt_lock; may sleep, but does not wait for the storage.
 */
void rnbdt_owner_move(struct rnbdt_export *export, const uuid_t *host)
{
	down_write(&rnbdt_lock);
	if (uuid_equal(host, &export->owner.host))
		goto unlock;
	if (rnbdt_has_owner(export))
		pr_notice("export %s: the administrator ends the ownership of host %pUb\n",
			  rnbdt_export_name(export), &export->owner.host);
	if (!uuid_is_null(host))
		pr_notice("export %s: the administrator makes host %pUb the owner\n",
			  rnbdt_export_name(export), host);
	/* rnbdt_owner_take() sets the boot id when the client of the host attaches the export. */
	rnbdt_owner_begin(export, host, &uuid_null, 0);
unlock:
	up_write(&rnbdt_lock);
}

/*
 * Test whether @host is the owner and was fenced after it became the owner. An owner without a
 * boot id has not attached the export, so a fence need not end its ownership.
 */
static bool rnbdt_owner_is_fenced(const struct rnbdt_owner *owner, const struct rnbdt_host *host)
{
	return uuid_equal(&owner->host, &host->uuid) && !uuid_is_null(&owner->boot_id) &&
	       owner->fence_generation < host->fence.generation;
}

/**
 * rnbdt_owner_restore - restore the owner that an export had in an earlier run of the target
 * @export: exclusive export
 * @state: state to restore; ignored unless its owner generation is newer than that of @export
 *
 * If the state is restored, close the attachments of older generations, without waiting. If the
 * restored owner was fenced after it became the owner, end its ownership.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_owner_restore(struct rnbdt_export *export, const struct rnbdt_owner *state)
{
	struct rnbdt_host *host;

	down_write(&rnbdt_lock);
	if (state->generation > export->owner.generation) {
		rnbdt_owner_write(export, &state->host, &state->boot_id,
				  state->fence_generation, state->generation);
		host = rnbdt_host_find(&state->host);
		if (host && rnbdt_owner_is_fenced(state, host))
			rnbdt_owner_end(export, "it was fenced");
	}
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_owner_check - check whether the owner of an export allows a host to attach it
 * @export: export that the host may use
 * @s: live session of the host
 * @info: ATTACH request
 *
 * Context: rnbdt_lock held.
 * Return: RNBD_ST_OK; RNBD_ST_REVOKED if the disk was attached in another owner generation, before
 * the export became exclusive, or by another run of the client module than that of the owner;
 * RNBD_ST_OWNED if another host owns the export.
 */
u16 rnbdt_owner_check(const struct rnbdt_export *export, const struct rnbdt_session *s,
		      const struct rnbd_attach_info *info)
{
	const struct rnbdt_owner *owner = &export->owner;
	/* A disk that has a fence generation was attached before and can resend requests. */
	bool again = info->fence_generation;
	u32 generation;

	lockdep_assert_held(&rnbdt_lock);

	generation = export->exclusive ? owner->generation : 0;
	if (again && info->owner_generation != generation)
		return RNBD_ST_REVOKED;
	/*
	 * The disk was attached while the export was not exclusive, so other hosts have possibly
	 * written to the export since.
	 */
	if (again && export->exclusive && !generation)
		return RNBD_ST_REVOKED;
	if (!export->exclusive || !rnbdt_has_owner(export))
		return RNBD_ST_OK;
	if (!uuid_equal(&owner->host, &s->host->uuid))
		return RNBD_ST_OWNED;
	/* In this generation, only a client module with the boot id of the owner attaches disks. */
	if (again && !rnbdt_is_boot_id(&owner->boot_id, s))
		return RNBD_ST_REVOKED;
	return RNBD_ST_OK;
}

/**
 * rnbdt_owner_changes - test whether an attachment would change the owner of an export
 * @export: export that rnbdt_owner_check() has allowed
 * @s: live session of the host
 *
 * Context: rnbdt_lock held.
 * Return: true if rnbdt_owner_take() would begin a new owner generation.
 */
bool rnbdt_owner_changes(const struct rnbdt_export *export, const struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	return export->exclusive &&
	       (!rnbdt_has_owner(export) || !rnbdt_is_boot_id(&export->owner.boot_id, s));
}

/**
 * rnbdt_owner_take - make the host of an attachment the owner of its export, if exclusive
 * @att: attachment that rnbdt_owner_check() has allowed, bound to the export
 *
 * Context: host of the session locked since rnbdt_owner_check(), or, if rnbdt_owner_changes(),
 * rnbdt_lock held for writing since then.
 */
void rnbdt_owner_take(struct rnbdt_attach *att)
{
	const struct rnbdt_session *s = att->session;
	struct rnbdt_export *export = att->export;
	uuid_t boot_id;

	lockdep_assert_held(&rnbdt_lock);

	if (!export->exclusive)
		return;
	if (rnbdt_owner_changes(export, s)) {
		import_uuid(&boot_id, s->login.info.boot_id);
		rnbdt_owner_begin(export, &s->host->uuid, &boot_id, s->host->fence.generation);
		pr_info("export %s: host %pUb owns it\n", rnbdt_export_name(export),
			&export->owner.host);
	}
	export->owner.session_id = s->session_id;
	att->owner_generation = export->owner.generation;
}

/*
 * Test whether @s may end the ownership of the export @name that the host of @s has in @generation.
 * If another session of the host has attached the export later, @s must not end the ownership, even
 * if that session has lost its connection: it can reconnect and attach the export again.
 */
static bool rnbdt_owner_is(struct rnbdt_export *export, const struct rnbdt_session *s,
			   u32 generation, const char *name)
{
	const struct rnbdt_owner *owner = &export->owner;

	return owner->generation == generation && uuid_equal(&owner->host, &s->host_id) &&
	       (uuid_is_null(&owner->session_id) ||
		uuid_equal(&owner->session_id, &s->session_id)) &&
	       !strcmp(rnbdt_export_name(export), name);
}

/* End the ownership of the export @name that the host of @s has in @generation. */
static void rnbdt_owner_release(const struct rnbdt_session *s, u32 generation, const char *name)
{
	struct rnbdt_export *export;
	struct hlist_node *next;

	lockdep_assert_held_write(&rnbdt_lock);

	hlist_for_each_entry_safe(export, next, rnbdt_owned_bucket(&s->host_id), owner.entry)
		if (rnbdt_owner_is(export, s, generation, name))
			rnbdt_owner_end(export, "it has detached");
}

/* Test whether a live session of the host of @s has the export @name attached. */
static bool rnbdt_owner_is_attached(const struct rnbdt_session *s, const char *name)
{
	struct rnbdt_attach *att = NULL;
	bool attached = false;

	rcu_read_lock();
	while (!attached && (att = rnbdt_attached_next(s->host, name, att)))
		attached = att->state == RNBDT_ATTACH_OPEN &&
			   READ_ONCE(att->session->state) == RNBDT_LIVE;
	rcu_read_unlock();
	return attached;
}

/**
 * rnbdt_owner_detach - end the ownership that began with a detached attachment
 * @att: attachment that the client has detached, not open; it has possibly left its export
 *
 * Nothing happens if a live session of the host has the export attached, or if another session of
 * the host has attached it since, even if that session has lost its connection: the end of the
 * ownership would revoke the disk of that session.
 *
 * Context: rnbdt_lock held for writing.
 */
void rnbdt_owner_detach(const struct rnbdt_attach *att)
{
	const struct rnbdt_session *s = att->session;

	if (att->owner_generation && !rnbdt_owner_is_attached(s, att->name))
		rnbdt_owner_release(s, att->owner_generation, att->name);
}

/**
 * rnbdt_owner_owns - test whether a request would end an ownership
 * @s: live session of the host
 * @info: ATTACH request with RNBD_ATTACH_DISOWN
 *
 * Context: host of @s locked.
 * Return: true if rnbdt_owner_disown() would end an ownership.
 */
bool rnbdt_owner_owns(const struct rnbdt_session *s, const struct rnbd_attach_info *info)
{
	struct rnbdt_export *export;

	lockdep_assert_held(&rnbdt_lock);

	if (!info->owner_generation || rnbdt_owner_is_attached(s, info->export))
		return false;
	hlist_for_each_entry(export, rnbdt_owned_bucket(&s->host_id), owner.entry)
		if (rnbdt_owner_is(export, s, info->owner_generation, info->export))
			return true;
	return false;
}

/**
 * rnbdt_owner_disown - end the ownership that began with an earlier attachment
 * @s: live session of the host
 * @info: ATTACH request with RNBD_ATTACH_DISOWN
 *
 * The ATTACH of the next owner is answered with RNBD_ST_BUSY until the storage has completed the
 * requests of the earlier attachment, see bind.c. Nothing happens in the cases that are described
 * at rnbdt_owner_detach().
 *
 * Context: rnbdt_lock held for writing.
 */
void rnbdt_owner_disown(const struct rnbdt_session *s, const struct rnbd_attach_info *info)
{
	lockdep_assert_held_write(&rnbdt_lock);

	if (info->owner_generation && !rnbdt_owner_is_attached(s, info->export))
		rnbdt_owner_release(s, info->owner_generation, info->export);
}

/* Test whether the owner is the host of @s, but with an earlier run of its client module. */
static bool rnbdt_owner_is_outdated(const struct rnbdt_owner *owner,
				    const struct rnbdt_session *s)
{
	return uuid_equal(&owner->host, &s->host_id) && !uuid_is_null(&owner->boot_id) &&
	       !rnbdt_is_boot_id(&owner->boot_id, s);
}

/**
 * rnbdt_owner_outdated - test whether an earlier run of a client module owns an export
 * @s: session whose client is authenticated
 *
 * Context: rnbdt_lock held.
 * Return: true if rnbdt_owner_restarted() must be called.
 */
bool rnbdt_owner_outdated(const struct rnbdt_session *s)
{
	const struct rnbdt_export *export;

	lockdep_assert_held(&rnbdt_lock);

	hlist_for_each_entry(export, rnbdt_owned_bucket(&s->host_id), owner.entry)
		if (rnbdt_owner_is_outdated(&export->owner, s))
			return true;
	return false;
}

/**
 * rnbdt_owner_restarted - end the ownerships of earlier runs of a client module
 * @s: session whose login is accepted
 *
 * Nothing happens if a later run of the client module than that of @s has logged in.
 *
 * Context: login work without rnbdt_lock; may sleep.
 */
void rnbdt_owner_restarted(const struct rnbdt_session *s)
{
	struct rnbdt_export *export;
	struct hlist_node *next;

	down_write(&rnbdt_lock);
	if (!rnbdt_is_boot_id(&s->host->boot_id, s))
		goto unlock;
	hlist_for_each_entry_safe(export, next, rnbdt_owned_bucket(&s->host_id), owner.entry)
		if (rnbdt_owner_is_outdated(&export->owner, s))
			rnbdt_owner_end(export, "its client module has restarted");
unlock:
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_owner_fenced - end the ownerships of a fenced host
 * @host: host whose fence generation has changed
 *
 * Context: rnbdt_lock held for writing.
 */
void rnbdt_owner_fenced(const struct rnbdt_host *host)
{
	struct rnbdt_export *export;
	struct hlist_node *next;

	lockdep_assert_held_write(&rnbdt_lock);

	hlist_for_each_entry_safe(export, next, rnbdt_owned_bucket(&host->uuid), owner.entry)
		if (rnbdt_owner_is_fenced(&export->owner, host))
			rnbdt_owner_end(export, "it was fenced");
}
