// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports that have a backend, by their storage, path and UUID.
 *
 * Operation: an export is in the tables from when it is enabled until its backend is closed.
 * During that time no other export with the same storage or UUID can be enabled, and while the
 * export is being disabled, none with the same path. Two backends of the same storage with
 * different caches would not see each other's writes. Clients would regard two exports with the
 * same UUID as the same data. An export that is being disabled, or whose directory was removed,
 * stays in the tables while its storage possibly still executes requests.
 *
 * Ownership: the tables hold no reference.
 *
 * Concurrency: rnbdt_lock protects the tables. Storage, path and UUID of an export are constant
 * while it has a backend.
 *
 * Errors: a conflict is logged with the remedy.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include "backend.h"
#include "graph.h"
#include "opened.h"
#include "target.h"

#define RNBDT_OPENED_BITS	12

static DEFINE_HASHTABLE(rnbdt_opened_storage, RNBDT_OPENED_BITS);	/* rnbdt_lock */
static DEFINE_HASHTABLE(rnbdt_opened_paths, RNBDT_OPENED_BITS);		/* rnbdt_lock */
static DEFINE_HASHTABLE(rnbdt_opened_uuids, RNBDT_OPENED_BITS);		/* rnbdt_lock */

/*
 * Hash a storage by its identity: the device number of a block device (@dev), or the inode of a
 * file, which is the same for all its names.
 */
static unsigned long rnbdt_storage_hash(dev_t dev, const struct inode *inode)
{
	return dev ? dev : hash_ptr(inode, 32);
}

static u32 rnbdt_path_hash(const char *path)
{
	return jhash(path, strlen(path), 0);
}

static u32 rnbdt_uuid_hash(const uuid_t *uuid)
{
	return jhash(uuid, sizeof(*uuid), 0);
}

/**
 * rnbdt_opened_check - check that no export has opened the same storage
 * @export: export that is being enabled, for the log
 * @inode: inode of the storage
 *
 * Context: process context, rnbdt_lock held.
 * Return: 0, or -EBUSY, logged, if another export has opened the storage.
 */
int rnbdt_opened_check(const struct rnbdt_export *export, const struct inode *inode)
{
	dev_t dev = S_ISBLK(inode->i_mode) ? inode->i_rdev : 0;
	struct rnbdt_export *other;

	lockdep_assert_held(&rnbdt_lock);

	hash_for_each_possible(rnbdt_opened_storage, other, storage_entry,
			       rnbdt_storage_hash(dev, inode)) {
		const struct rnbdt_backend *be = other->backend;

		/*
		 * Use only the copies in @be: another task can be closing the storage without
		 * rnbdt_lock.
		 */
		if (dev != be->dev || (!dev && inode != be->inode))
			continue;
		pr_err("export %s: %s is in use by export %s as %s; disable that one first\n",
		       rnbdt_export_name((struct rnbdt_export *)export), export->path,
		       rnbdt_export_name(other), other->path);
		return -EBUSY;
	}
	return 0;
}

/* Check that no export in the tables has the UUID, and that none being disabled has the path. */
static int rnbdt_opened_check_names(struct rnbdt_export *export)
{
	struct rnbdt_export *other;

	hash_for_each_possible(rnbdt_opened_paths, other, path_entry,
			       rnbdt_path_hash(export->path)) {
		if (other->enabled || strcmp(other->path, export->path))
			continue;
		pr_err("export %s: export %s has the same path and is still being disabled; wait for its storage to end its requests\n",
		       rnbdt_export_name(export), rnbdt_export_name(other));
		return -EBUSY;
	}
	hash_for_each_possible(rnbdt_opened_uuids, other, uuid_entry,
			       rnbdt_uuid_hash(&export->uuid)) {
		if (!uuid_equal(&other->uuid, &export->uuid))
			continue;
		pr_err("export %s: export %s is enabled and has the same uuid; disable that one, or write another uuid to this one\n",
		       rnbdt_export_name(export), rnbdt_export_name(other));
		return -EEXIST;
	}
	return 0;
}

/**
 * rnbdt_opened_add - add an export to the tables
 * @export: export that is being enabled, with its backend set
 *
 * Another export can have opened the same file since rnbdt_opened_check(), so files are checked
 * again. Block devices are opened exclusively, so they need no second check.
 *
 * Context: process context, rnbdt_lock held for writing.
 * Return: 0; -EBUSY or -EEXIST, logged, if another export has its storage, path or UUID.
 */
int rnbdt_opened_add(struct rnbdt_export *export)
{
	const struct rnbdt_backend *be = export->backend;
	int ret = 0;

	lockdep_assert_held_write(&rnbdt_lock);

	if (!be->dev)
		ret = rnbdt_opened_check(export, be->inode);
	if (!ret)
		ret = rnbdt_opened_check_names(export);
	if (ret)
		return ret;
	hash_add(rnbdt_opened_storage, &export->storage_entry,
		 rnbdt_storage_hash(be->dev, be->inode));
	hash_add(rnbdt_opened_paths, &export->path_entry, rnbdt_path_hash(export->path));
	hash_add(rnbdt_opened_uuids, &export->uuid_entry, rnbdt_uuid_hash(&export->uuid));
	return 0;
}

/**
 * rnbdt_opened_remove - undo rnbdt_opened_add()
 * @export: export whose backend has been closed
 *
 * Context: process context, rnbdt_lock held for writing.
 */
void rnbdt_opened_remove(struct rnbdt_export *export)
{
	lockdep_assert_held_write(&rnbdt_lock);

	hash_del(&export->storage_entry);
	hash_del(&export->path_entry);
	hash_del(&export->uuid_entry);
}
