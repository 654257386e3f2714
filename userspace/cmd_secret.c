// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd secret generate, rnbd host secret: make a secret, and demand it of a host.
 *
 * Operation: secret_store.c keeps a copy of the secret that the kernel of the target is
 * told; host_give() says in which order. A rotation leaves the host with two secrets, of
 * which either proves a login, until the old one is withdrawn.
 * Ownership: a secret is wiped as soon as it is written or told. rnbd secret generate
 * alone prints one.
 * Concurrency: the directory of the copies is locked while a secret changes. The lock is
 * released before the command waits for the storage of the sessions that end.
 * Errors: one line that names the host or the file and what to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../drivers/core/secret.h"
#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "parse.h"
#include "secret_store.h"
#include "target.h"
#include "target_wait.h"
#include "util.h"

int cmd_secret_generate(const struct args *args)
{
	const char *file = args->nr_operands ? args->operand[0] : "-";
	uint8_t secret[RNBD_SECRET_SIZE];
	int fd = STDOUT_FILENO;
	int ret = 0;

	context_set("secret generate %s", file);
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret)) {
		err("there are no random numbers: %s", strerror(errno));
		return RNBD_EXIT_FAIL;
	}
	if (strcmp(file, "-")) {
		fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0) {
			err("cannot make it: %s%s", strerror(errno), errno != EEXIST ? "" :
			    "; a secret is not replaced, choose another name or remove that one");
			return RNBD_EXIT_FAIL;
		}
	}
	ret = secret_write(fd, secret);
	explicit_bzero(secret, sizeof(secret));
	if (fd != STDOUT_FILENO) {
		if (!ret && fsync(fd))
			ret = -errno;
		if (close(fd) && !ret)
			ret = -errno;
		if (ret)
			unlink(file);
	}
	if (ret)
		err("cannot write it: %s", strerror(-ret));
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/* Tells the kernel, and makes the host if it is not there. */
static int host_set(const char *dir, const uint8_t *secret)
{
	/* Before the host may attach anything, if that is still to come. */
	int ret = target_make_bare_host(dir);
	bool made = !ret;

	if (ret == -EEXIST)
		ret = 0;
	if (!ret)
		ret = secret_set(dir, secret);
	if (ret && made)
		configfs_rmdir(dir);
	return ret;
}

/*
 * The copy is in its place before the kernel hears of the secret. If it cannot be kept,
 * nothing has happened; if the kernel refuses, the former copy comes back. After a crash
 * in between rnbd restore gives the host the new one: the older one may have been
 * changed because others know it. If only this program dies, the kernel has that one
 * until it is run again, and nobody was told that it had succeeded.
 */
static int host_give(const char *dir, const struct secret_copy *copy, const uint8_t *secret)
{
	int ret = secret_copy_store(copy, secret);
	int undone;

	if (ret)
		return ret;
	ret = host_set(dir, secret);
	undone = ret ? secret_copy_undo(copy) : secret_copy_settle(copy);
	if (ret && undone)
		err("%s has it nevertheless, run it again: %s", copy->path, strerror(-undone));
	return ret;
}

static int check_host(const char *dir)
{
	if (configfs_exists(dir))
		return 0;
	err("there is no such host; see: rnbd host list");
	return -ENOENT;
}

/*
 * The copy goes first: after a crash in between the target starts without the old secret,
 * which others may know.
 */
static int host_withdraw(const char *dir, const struct secret_copy *copy)
{
	int ret = check_host(dir);

	if (!ret)
		ret = secret_copy_forget_old(copy);
	return ret ?: configfs_write(dir, "old_secret", RNBD_SECRET_NONE);
}

/* From now on this secret alone counts. */
static int host_replace(const char *dir, const struct secret_copy *copy, const uint8_t *secret)
{
	int ret = 0;

	/* rnbd restore must not give back an old secret that the kernel does not have. */
	if (configfs_read_u64(dir, "has_secret") && !configfs_read_u64(dir, "has_old_secret"))
		ret = secret_copy_forget_old(copy);
	if (!ret)
		ret = host_give(dir, copy, secret);
	return ret ?: host_withdraw(dir, copy);
}

/*
 * The present secret becomes the old one as well, and then the new one replaces it. After a
 * crash in between both secrets are the present one, or restore gives the host the new and
 * the old one. Running the command again completes it.
 */
static int host_rotate(const char *dir, const struct secret_copy *copy, const uint8_t *secret)
{
	bool has_old;
	int ret = check_host(dir);

	if (ret)
		return ret;
	if (!configfs_read_u64(dir, "has_secret")) {
		err("it has no secret that could count as well; run it without --rotate");
		return -ENOKEY;
	}
	has_old = configfs_read_u64(dir, "has_old_secret");
	if (has_old && secret_copy_is(copy, secret))
		return host_give(dir, copy, secret);
	if (has_old && !secret_copy_is_old(copy)) {
		err("an older secret still counts; first run: rnbd host secret %s --withdraw",
		    strrchr(dir, '/') + 1);
		return -EBUSY;
	}
	if (access(copy->path, F_OK)) {
		ret = -errno;
		err("its present secret is not kept in %s: %s; run it without --rotate",
		    copy->path, strerror(-ret));
		return ret;
	}
	ret = secret_copy_store_old(copy);
	if (!ret)
		ret = configfs_write(dir, "old_secret", RNBD_SECRET_CURRENT);
	if (!ret)
		ret = host_give(dir, copy, secret);
	if (ret) {
		/* The present secret stays the only one. */
		secret_copy_forget_old(copy);
		configfs_write(dir, "old_secret", RNBD_SECRET_NONE);
	}
	return ret;
}

/* The kernel first: a crash in between leaves a host that has to prove itself again. */
static int host_take(const char *dir, const struct secret_copy *copy)
{
	int ret = check_host(dir);

	if (!ret)
		ret = secret_set(dir, NULL);
	return ret ?: secret_copy_forget(copy);
}

static int host_secret(const struct args *args, const char *dir, const struct secret_copy *copy)
{
	const char *file = args_value(args, "secret-file");
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret;

	if (args_has(args, "withdraw"))
		return host_withdraw(dir, copy);
	if (!file)
		return host_take(dir, copy);
	ret = secret_read_operand(file, secret);
	if (!ret)
		ret = args_has(args, "rotate") ? host_rotate(dir, copy, secret) :
						 host_replace(dir, copy, secret);
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

int cmd_host_secret(const struct args *args)
{
	const char *file = args_value(args, "secret-file");
	struct secret_copy copy = { };
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *dir;
	int ret;

	context_set("host secret %s", args->operand[0]);
	if (parse_uuid(args->operand[0], uuid))
		return usage_err("not a UUID; rnbd hostid on the client prints it");
	if (!!file + args_has(args, "clear") + args_has(args, "withdraw") != 1)
		return usage_err("wanted --secret-file FILE, --withdraw or --clear");
	if (!file && args_has(args, "rotate"))
		return usage_err("--rotate needs --secret-file FILE");
	if (configfs_check())
		return RNBD_EXIT_FAIL;
	format_uuid(uuid, text);
	copy.store = secret_store_lock(file);
	if (copy.store < 0 && copy.store != -ENOENT) {
		err(SECRET_STORE_DIR ": cannot use it: %s", strerror(-copy.store));
		return RNBD_EXIT_FAIL;
	}
	secret_copy_init(&copy, text);
	dir = target_host_dir(args->operand[0]);
	ret = host_secret(args, dir, &copy);
	secret_copy_exit(&copy);
	if (copy.store >= 0)
		close(copy.store);
	/* A rotation ends no session. */
	if (!ret && !args_has(args, "rotate"))
		ret = target_wait_outdated(dir);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
