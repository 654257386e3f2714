// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd export owner: show, end or move the ownership of an exclusive export; rnbd export
 * keep: keep what changes as hosts attach and detach.
 *
 * Operation: the kernel ends the attachment of the earlier owner at once, and that is kept
 * in a file: a change that is not kept has not succeeded, because the next start of the
 * target would let the earlier owner continue. Then the command waits for the requests of
 * that owner which the storage has.
 * Ownership: see owner_store.c for what is kept.
 * Concurrency: hosts may attach and detach at the same time; the kernel orders the changes.
 * Errors: one line; exit code 1 although the kernel may have changed the owner.
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

#define KEEP_NAP_MS	1000

static int show_owner(const char *dir)
{
	char *owner = configfs_get(dir, "owner");

	if (!owner)
		return RNBD_EXIT_FAIL;
	printf("%s\n", owner);
	free(owner);
	return RNBD_EXIT_OK;
}

/* @host: UUID of the next owner, or none */
static int move_owner(const struct args *args, const char *dir, const char *host,
		      uint32_t seconds)
{
	const char *name = args->operand[0];
	int ret;

	if (!configfs_read_u64(dir, "exclusive")) {
		err("the export is not exclusive; make it again: rnbd export add %s --exclusive",
		    name);
		return RNBD_EXIT_FAIL;
	}
	ret = configfs_write(dir, "owner", host);
	if (!ret)
		ret = owner_store_keep(dir);
	if (ret == -ESTALE)
		err("not kept: " OWNER_STORE_DIR " has a newer owner of it; remove the export and add it again");
	if (!ret && !args_has(args, "no-wait"))
		ret = target_wait_closed(dir, seconds);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/**
 * struct kept - owner_state of an export as it was kept last
 * @name: of the export
 * @state: line
 */
struct kept {
	char *name;
	char *state;
};

static struct kept *find_kept(struct kept *kept, size_t nr, const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(kept[i].name, name))
			return &kept[i];
	return NULL;
}

/* Keep the owners that have changed since the last call. Returns a negative errno. */
static int keep_changed(struct kept **kept, size_t *nr)
{
	char *all = configfs_path("exports");
	struct strlist names = { };
	int ret = 0;
	size_t i;

	configfs_names(all, &names);
	for (i = 0; !ret && i < names.nr; i++) {
		char *dir = xasprintf("%s/%s", all, names.item[i]);
		struct kept *old = find_kept(*kept, *nr, names.item[i]);
		char *state = configfs_try(dir, "owner_state");

		/* An export may be removed at any time. */
		if (state && (!old || strcmp(old->state, state)) && configfs_exists(dir))
			ret = owner_store_keep(dir);
		if (ret == -ESTALE)
			ret = 0;
		if (state && !ret && !old) {
			*kept = xrealloc(*kept, *nr + 1, sizeof(**kept));
			old = &(*kept)[(*nr)++];
			*old = (struct kept) { .name = xstrdup(names.item[i]) };
		}
		if (state && !ret) {
			free(old->state);
			old->state = state;
			state = NULL;
		}
		free(state);
		free(dir);
	}
	strlist_free(&names);
	free(all);
	return ret;
}

/* configfs has no events: the attributes are read once a second. */
int cmd_export_keep(const struct args *args)
{
	struct kept *kept = NULL;
	size_t nr = 0;

	(void)args;
	while (!keep_changed(&kept, &nr))
		take_nap(KEEP_NAP_MS);
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
