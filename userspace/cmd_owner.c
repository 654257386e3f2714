// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd export owner: show, end or move the ownership of an exclusive export; rnbd export
 * record-owners: record the owners in files as hosts attach and detach.
 *
 * Operation: to end or move the ownership, "owner" first writes to the kernel, which at once
 * begins to close the attachment of the earlier owner. Then the command records in a file which
 * host is the owner now, or that there is none. If recording fails, the command fails, because
 * after the next start of the target the earlier owner could attach the export again. Last,
 * unless --no-wait is given, the command waits until the storage has completed the requests of
 * the earlier owner.
 * Ownership: owner_store.c manages the files of recorded owners.
 * Concurrency: hosts may attach and detach concurrently; the kernel serializes the changes
 * of the owner.
 * Errors: one line. After exit code 1, the owner in the kernel has possibly changed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "output.h"
#include "owner_store.h"
#include "parse.h"
#include "target.h"
#include "target_wait.h"

#define RECORD_NAP_MS	1000

static int show_owner(const char *dir)
{
	char *owner = configfs_get(dir, "owner");

	if (!owner)
		return RNBD_EXIT_FAIL;
	printf("%s\n", owner);
	free(owner);
	return RNBD_EXIT_OK;
}

/* @host: UUID of the new owner, or the word "none", which ends the ownership */
static int move_owner(const struct args *args, const char *dir, const char *host,
		      uint32_t seconds)
{
	const char *name = args->operand[0];
	int ret;

	if (!configfs_read_u64(dir, "exclusive")) {
		err("the export is not exclusive; create it again: rnbd export add %s --exclusive",
		    name);
		return RNBD_EXIT_FAIL;
	}
	ret = configfs_write(dir, "owner", host);
	if (!ret)
		ret = owner_store_keep(dir);
	if (ret == -ESTALE)
		err("owner not recorded: %s has a newer one; remove the export and add it again",
		    OWNER_STORE_DIR);
	if (!ret && !args_has(args, "no-wait"))
		ret = target_wait_closed(dir, seconds);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/**
 * struct recorded - the last recorded owner of an export
 * @name: name of the export
 * @state: value of the attribute owner_state
 */
struct recorded {
	char *name;
	char *state;
};

/**
 * struct all_recorded - the exports that existed when configfs was last read
 * @recorded: exports, sorted by name
 * @nr: number of exports in @recorded
 */
struct all_recorded {
	struct recorded *recorded;
	size_t nr;
};

/*
 * Move the recorded state of the export @name out of @old; returns NULL if @old has none. The
 * caller passes names in sorted order, so that one search through @old serves all of them.
 */
static char *take_state(struct all_recorded *old, size_t *next, const char *name)
{
	char *state;

	while (*next < old->nr && strverscmp(old->recorded[*next].name, name) < 0)
		(*next)++;
	if (*next == old->nr || strcmp(old->recorded[*next].name, name))
		return NULL;
	state = old->recorded[*next].state;
	old->recorded[*next].state = NULL;
	return state;
}

static void free_recorded(struct all_recorded *all)
{
	size_t i;

	for (i = 0; i < all->nr; i++) {
		free(all->recorded[i].name);
		free(all->recorded[i].state);
	}
	free(all->recorded);
}

/*
 * Record the owner of an export if owner_state differs from @old, the state recorded before, or
 * if @old is NULL. Frees @old. Returns 0 or a negative errno.
 */
static int record_one(const char *name, char *old, struct all_recorded *now)
{
	char *dir = configfs_path("exports/%s", name);
	char *state = configfs_try(dir, "owner_state");
	int ret = 0;

	/* Ignore an export that was removed after its owner_state was read. */
	if (state && (!old || strcmp(old, state)) && configfs_exists(dir))
		ret = owner_store_keep(dir);
	if (ret == -ESTALE)
		ret = 0;
	if (state && !ret) {
		now->recorded = grow(now->recorded, now->nr, sizeof(*now->recorded));
		now->recorded[now->nr++] = (struct recorded) { xstrdup(name), state };
		state = NULL;
	}
	free(state);
	free(old);
	free(dir);
	return ret;
}

/* Record the owners that are not in @old or have changed. Returns 0 or a negative errno. */
static int record_changed(struct all_recorded *old)
{
	char *all = configfs_path("exports");
	struct strlist names = { };
	struct all_recorded now = { };
	size_t next = 0, i;
	int ret = 0;

	configfs_names(all, &names);
	for (i = 0; !ret && i < names.nr; i++)
		ret = record_one(names.item[i], take_state(old, &next, names.item[i]), &now);
	free_recorded(old);
	*old = now;
	strlist_free(&names);
	free(all);
	return ret;
}

/* Read the attributes once a second, because configfs does not report changes. */
int cmd_export_record_owners(const struct args *args)
{
	struct all_recorded recorded = { };

	(void)args;
	while (!record_changed(&recorded))
		take_nap(RECORD_NAP_MS);
	free_recorded(&recorded);
	return RNBD_EXIT_FAIL;
}

int cmd_export_owner(const struct args *args)
{
	const char *host = args->nr_operands > 1 ? args->operand[1] : NULL;
	uint32_t seconds = 0;
	uint8_t uuid[UUID_SIZE];
	char *dir;
	int ret;

	context_set("%s %s", args->cmd->name, args->operand[0]);
	if (host && strcmp(host, "none") && parse_uuid(host, uuid))
		return usage_err("%s: wanted the UUID of a host, or none", host);
	ret = target_wait_options(args, &seconds);
	if (ret)
		return ret;
	dir = target_find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	ret = host ? move_owner(args, dir, host, seconds) : show_owner(dir);
	free(dir);
	return ret;
}
