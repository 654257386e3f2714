// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd secret generate, rnbd host secret: make a secret, and demand it of a host.
 *
 * Operation: secret_store.c keeps a copy of the secret that the kernel of the target is
 * told; host_give() says in which order.
 * Ownership: a secret is wiped as soon as it is written or told. rnbd secret generate
 * alone prints one.
 * Concurrency: the directory of the copies is locked while a secret changes.
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
	int ret = target_make_host(dir);
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
static int host_give(const char *dir, const struct secret_copy *copy, const char *file)
{
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret = secret_read(file, secret);
	int undone;

	if (!ret)
		ret = secret_copy_store(copy, secret);
	if (!ret) {
		ret = host_set(dir, secret);
		undone = ret ? secret_copy_undo(copy) : secret_copy_settle(copy);
		if (ret && undone)
			err("%s has it nevertheless, run it again: %s", copy->path,
			    strerror(-undone));
	}
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

/* The kernel first: a crash in between leaves a host that has to prove itself again. */
static int host_take(const char *dir, const struct secret_copy *copy)
{
	int ret;

	if (!configfs_exists(dir)) {
		err("there is no such host; see: rnbd host list");
		return -ENOENT;
	}
	ret = secret_set(dir, NULL);
	return ret ?: secret_copy_forget(copy);
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
	if (!file == !args_has(args, "clear"))
		return usage_err("wanted --secret-file FILE or --clear");
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
	ret = file ? host_give(dir, &copy, file) : host_take(dir, &copy);
	free(dir);
	secret_copy_exit(&copy);
	if (copy.store >= 0)
		close(copy.store);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
