// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd secret generate: create a secret. rnbd host secret: set, rotate, withdraw or clear the
 * secret with which a host must authenticate.
 *
 * Operation: "rnbd host secret" sets the secret in the kernel of the target, and stores a
 * copy in a file (secret_store.c); see host_give() for the order. During a rotation a host
 * has two secrets and can log in with either, until the old secret is withdrawn.
 * Ownership: a secret in memory is wiped after it was written to a file or the kernel.
 * Only "rnbd secret generate" prints a secret.
 * Concurrency: the directory of the copies is locked while a secret changes. The lock is
 * released before the command waits for the I/O of the closing sessions.
 * Errors: one line that names the host or the file, and the remedy.
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
		err("cannot get random numbers: %s", strerror(errno));
		return RNBD_EXIT_FAIL;
	}
	if (strcmp(file, "-")) {
		fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0) {
			err("cannot create it: %s%s", strerror(errno), errno != EEXIST ? "" :
			    "; a secret is not replaced, choose another name or remove the file");
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

/* Set the secret in the kernel; creates the host if it does not exist. */
static int host_set(const char *dir, const uint8_t *secret)
{
	/* A new host has no permission yet, so it cannot attach before the secret is set. */
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
 * Replace the copy first, and then the secret in the kernel: if the machine crashes in between,
 * "rnbd restore" sets the new secret, and not the former one, which others possibly know. If
 * only this program is killed in between, the kernel keeps the former secret until the command
 * is run again.
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
		err("%s has the new secret, run the command again: %s", copy->path,
		    strerror(-undone));
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
 * Remove the copy of the old secret first, and then the old secret in the kernel: if the
 * machine crashes in between, the target starts without this secret, which others possibly
 * know.
 */
static int host_withdraw(const char *dir, const struct secret_copy *copy)
{
	int ret = check_host(dir);

	if (!ret)
		ret = secret_copy_forget_old(copy);
	return ret ?: configfs_write(dir, "old_secret", RNBD_SECRET_NONE);
}

/* Make @secret the only secret of the host. */
static int host_replace(const char *dir, const struct secret_copy *copy, const uint8_t *secret)
{
	int ret = 0;

	/* Remove a copy of an old secret that the kernel lacks: "rnbd restore" would set it. */
	if (configfs_read_u64(dir, "has_secret") && !configfs_read_u64(dir, "has_old_secret"))
		ret = secret_copy_forget_old(copy);
	if (!ret)
		ret = host_give(dir, copy, secret);
	return ret ?: host_withdraw(dir, copy);
}

/*
 * Copy the present secret to the old secret, and then replace the present secret by @secret.
 * If the command is interrupted at any point, it can be run again, with the same @secret, to
 * complete the rotation.
 */
static int host_rotate(const char *dir, const struct secret_copy *copy, const uint8_t *secret)
{
	bool has_old;
	int ret = check_host(dir);

	if (ret)
		return ret;
	if (!configfs_read_u64(dir, "has_secret")) {
		err("the host has no secret to rotate; run it without --rotate");
		return -ENOKEY;
	}
	has_old = configfs_read_u64(dir, "has_old_secret");
	if (has_old && secret_copy_is(copy, secret))
		return host_give(dir, copy, secret);
	if (has_old && !secret_copy_is_old(copy)) {
		err("the old secret is still valid; first run: rnbd host secret %s --withdraw",
		    strrchr(dir, '/') + 1);
		return -EBUSY;
	}
	if (access(copy->path, F_OK)) {
		ret = -errno;
		err("no copy of its current secret in %s: %s; run it without --rotate",
		    copy->path, strerror(-ret));
		return ret;
	}
	ret = secret_copy_store_old(copy);
	if (!ret)
		ret = configfs_write(dir, "old_secret", RNBD_SECRET_CURRENT);
	if (!ret)
		ret = host_give(dir, copy, secret);
	if (ret) {
		/* Undo: remove the old secret, so that the host has only the present one. */
		secret_copy_forget_old(copy);
		configfs_write(dir, "old_secret", RNBD_SECRET_NONE);
	}
	return ret;
}

/*
 * Remove the secrets in the kernel first, and the copies last: if the machine crashes in
 * between, "rnbd restore" sets the secret from the copy, so that the host still needs it.
 */
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
	/* A rotation closes no session. */
	if (!ret && !args_has(args, "rotate"))
		ret = target_wait_stale_secret(dir);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
