// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: exports/<name>/{exclusive,owner,owner_state}, the owner of an exclusive export.
 *
 * Operation: "exclusive" can be changed only while the export is disabled. "owner" is the UUID of
 * the owner or "none"; a store ends the ownership or transfers it. Userspace saves the content of
 * "owner_state" and restores it, see owner.c.
 *
 * Ownership: the attributes belong to the directory of the export.
 *
 * Concurrency: export->lock serialises writers of "exclusive"; rnbdt_lock protects the rest. No
 * store waits for storage: "closing" becomes 0 when the requests of the former owner have ended.
 *
 * Errors: a refused store changes nothing. It is logged with the remedy unless its value is an
 * invalid boolean.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>

#include "configfs_owner.h"
#include "export.h"
#include "graph.h"
#include "owner.h"
#include "target.h"

/* Value of "owner" for an export without an owner */
#define RNBDT_OWNER_NONE	"none"

static ssize_t rnbdt_export_exclusive_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(rnbdt_to_export(item)->exclusive));
}

static ssize_t rnbdt_export_exclusive_store(struct config_item *item, const char *page,
					    size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	bool exclusive;
	int ret;

	ret = kstrtobool(page, &exclusive);
	if (ret)
		return ret;
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	ret = rnbdt_export_must_be_off(export, "exclusive");
	if (!ret)
		rnbdt_owner_set_exclusive(export, exclusive);
	mutex_unlock(&export->lock);
	return ret ?: count;
}

struct configfs_attribute rnbdt_export_attr_exclusive = {
	.ca_name	= "exclusive",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_export_exclusive_show,
	.store		= rnbdt_export_exclusive_store,
};

/* Refuse an owner for an export that is not exclusive: the owner would have no effect. */
static int rnbdt_must_be_exclusive(struct rnbdt_export *export)
{
	if (READ_ONCE(export->exclusive))
		return 0;
	pr_err("export %s: it is not exclusive and has no owner; disable it and write 1 to exclusive\n",
	       rnbdt_export_name(export));
	return -EINVAL;
}

static ssize_t rnbdt_export_owner_show(struct config_item *item, char *page)
{
	uuid_t host;

	down_read(&rnbdt_lock);
	host = rnbdt_to_export(item)->owner.host;
	up_read(&rnbdt_lock);
	if (uuid_is_null(&host))
		return sysfs_emit(page, RNBDT_OWNER_NONE "\n");
	return sysfs_emit(page, "%pUb\n", &host);
}

static ssize_t rnbdt_export_owner_store(struct config_item *item, const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	char text[UUID_STRING_LEN + 1], end;
	uuid_t host = uuid_null;

	if (!sysfs_streq(page, RNBDT_OWNER_NONE) &&
	    (sscanf(page, "%36s %c", text, &end) != 1 || strlen(text) != UUID_STRING_LEN ||
	     uuid_parse(text, &host) || uuid_is_null(&host))) {
		pr_err("export %s: owner is the UUID of a host, or " RNBDT_OWNER_NONE "\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	if (rnbdt_must_be_exclusive(export))
		return -EINVAL;
	rnbdt_owner_move(export, &host);
	return count;
}

struct configfs_attribute rnbdt_export_attr_owner = {
	.ca_name	= "owner",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_export_owner_show,
	.store		= rnbdt_export_owner_store,
};

/* State for userspace to save: GENERATION HOST BOOT-ID FENCE-GENERATION */
static ssize_t rnbdt_export_owner_state_show(struct config_item *item, char *page)
{
	struct rnbdt_owner owner;

	down_read(&rnbdt_lock);
	owner = rnbdt_to_export(item)->owner;
	up_read(&rnbdt_lock);
	return sysfs_emit(page, "%u %pUb %pUb %u\n", owner.generation, &owner.host,
			  &owner.boot_id, owner.fence_generation);
}

static ssize_t rnbdt_export_owner_state_store(struct config_item *item, const char *page,
					      size_t count)
{
	char host[UUID_STRING_LEN + 1], boot_id[UUID_STRING_LEN + 1], end;
	struct rnbdt_export *export = rnbdt_to_export(item);
	struct rnbdt_owner owner = { };
	u64 generation;

	if (sscanf(page, "%11llu %36s %36s %10u %c", &generation, host, boot_id,
		   &owner.fence_generation, &end) != 4 ||
	    !generation || generation > RNBDT_OWNER_GENERATION_MAX ||
	    strlen(host) != UUID_STRING_LEN || uuid_parse(host, &owner.host) ||
	    strlen(boot_id) != UUID_STRING_LEN || uuid_parse(boot_id, &owner.boot_id)) {
		pr_err("export %s: owner_state must be a value that was read from it: GENERATION HOST BOOT-ID FENCE-GENERATION\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	if (rnbdt_must_be_exclusive(export))
		return -EINVAL;
	owner.generation = generation;
	rnbdt_owner_restore(export, &owner);
	return count;
}

struct configfs_attribute rnbdt_export_attr_owner_state = {
	.ca_name	= "owner_state",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_export_owner_state_show,
	.store		= rnbdt_export_owner_state_store,
};
