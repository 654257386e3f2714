// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd secret set: replace the secret of attached disks.
 *
 * Operation: the new secret applies to the whole session of each disk, from the next login
 * of the session on. The present connections stay.
 * Ownership: the secret is wiped before the command ends.
 * Concurrency: one thread. If two commands set the secret of a session, the secret that the
 * kernel receives last applies.
 * Errors: one line for each disk that fails; the command continues with the others.
 */
#include <stdlib.h>
#include <string.h>

#include <rnbd/wire.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "netlink_client.h"
#include "resolve.h"
#include "secret_store.h"
#include "util.h"

static int set_one(const char *name, const uint8_t *secret)
{
	context_set("secret set %s", name);
	if (!rnbd_set_secret(name, secret))
		return RNBD_EXIT_OK;
	err("%s", rnbd_error());
	return RNBD_EXIT_FAIL;
}

static int set_disks(const char *word, const uint8_t *secret)
{
	const struct disk *one = NULL;
	struct disks disks = { };
	size_t i;
	int ret;

	ret = disks_list(&disks);
	if (!ret && word) {
		ret = resolve_disk(word, &disks, &one);
		ret = ret ? resolve_fail(ret) : set_one(one->disk, secret);
	} else if (!ret) {
		for (i = 0; i < disks.nr; i++)
			ret |= set_one(disks.disk[i].disk, secret);
	}
	free(disks.disk);
	return ret;
}

int cmd_secret_set(const struct args *args)
{
	const char *word = args->nr_operands ? args->operand[0] : NULL;
	const char *file = args_value(args, "secret-file");
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret = RNBD_EXIT_FAIL;

	if (!word == !args_has(args, "all"))
		return usage_err("wanted a disk or --all; usage: rnbd secret set DISK | --all");
	if (!file)
		return usage_err("wanted --secret-file FILE");
	if (word && resolve_check(word))
		return usage_err("%s", resolve_error());
	if (!secret_read_operand(file, secret)) {
		if (rnbd_open()) {
			err("%s", rnbd_error());
		} else {
			ret = set_disks(word, secret);
			rnbd_close();
		}
	}
	explicit_bzero(secret, sizeof(secret));
	return ret;
}
