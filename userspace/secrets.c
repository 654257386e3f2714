// SPDX-License-Identifier: GPL-2.0-only
/*
 * Secrets of hosts: rnbd secret generate, rnbd host secret, and files that hold one.
 *
 * Operation: a secret is one line in a file that nobody but its owner may read. The
 * client is given such a file at each attach. The kernel of the target is told the
 * secret and never tells it again, so a copy is kept in /etc/rnbd/secrets, from which
 * rnbd restore takes it; host_give() says in which order.
 * Ownership: no secret is kept longer than it is needed, nor put on a command line, into
 * a message or into what is printed, but for that of rnbd secret generate.
 * Concurrency: of two that give a host its secret at once the last one wins, in the
 * kernel and in the copy: the directory of the copies is locked meanwhile.
 * Errors: one line that names the file and what to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../drivers/core/secret.h"
#include "command.h"
#include "configfs.h"
#include "parse.h"
#include "secrets.h"
#include "target.h"

#define STORE_PARENT	"/etc/rnbd"
#define STORE		STORE_PARENT "/secrets"

/* What a wrong file may be must not tell others what it is. */
static int check_rights(const char *file, const struct stat *st)
{
	if (!S_ISREG(st->st_mode)) {
		err("%s: is no regular file", file);
		return -EINVAL;
	}
	if (st->st_mode & 077) {
		err("%s: others may use it (mode %03o); make a new secret, or run: chmod 600 %s",
		    file, st->st_mode & 0777, file);
		return -EPERM;
	}
	if (st->st_uid && st->st_uid != geteuid()) {
		err("%s: belongs to user %u, who could change it; run: chown root %s", file,
		    st->st_uid, file);
		return -EPERM;
	}
	return 0;
}

/**
 * secret_read() - read a file with a secret
 * @file: its path
 * @secret: RNBD_SECRET_SIZE bytes; the caller wipes them
 *
 * Return: 0, or a negative errno after a message.
 */
int secret_read(const char *file, uint8_t *secret)
{
	char text[RNBD_SECRET_TEXT_SIZE + 2];
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why;
	struct stat st;
	ssize_t len;
	int ret;

	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		err("%s: %s", file, strerror(errno));
		goto out;
	}
	ret = check_rights(file, &st);
	if (ret)
		goto out;
	len = read(fd, text, sizeof(text));
	if (len < 0) {
		ret = -errno;
		err("%s: cannot be read: %s", file, strerror(errno));
		goto out;
	}
	why = rnbd_secret_parse(text, len, secret);
	explicit_bzero(text, sizeof(text));
	if (why) {
		err("%s: %s", file, why);
		ret = -EINVAL;
	}
out:
	if (fd >= 0)
		close(fd);
	return ret;
}

/**
 * secret_stored_path() - where the secret of a host is kept
 * @uuid_text: of the host, in lower case
 *
 * Return: a path; the caller frees it.
 */
char *secret_stored_path(const char *uuid_text)
{
	return xasprintf(STORE "/%s", uuid_text);
}

static int write_secret(int fd, const uint8_t *secret)
{
	char text[RNBD_SECRET_TEXT_SIZE];
	ssize_t done;

	rnbd_secret_format(secret, text);
	text[sizeof(text) - 1] = '\n';
	done = write(fd, text, sizeof(text));
	explicit_bzero(text, sizeof(text));
	if (done < 0)
		return -errno;
	return done == sizeof(text) ? 0 : -ENOSPC;
}

/*
 * The directory of the copies, locked until it is closed: what the kernel has and what is
 * kept belong together. With @make it is made; -ENOENT if it is not there.
 */
static int store_lock(bool make)
{
	int fd, ret;

	if (make && ((mkdir(STORE_PARENT, 0755) && errno != EEXIST) ||
		     (mkdir(STORE, 0700) && errno != EEXIST)))
		return -errno;
	fd = open(STORE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	if (errno == EWOULDBLOCK)
		note("waits for a secret that is being changed, and for the I/O of its host");
	if (!flock(fd, LOCK_EX))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

/*
 * A copy that takes the place of an older one, which has the name @former until it is
 * known which of both stays. What a crash leaves is replaced by the next one.
 */
struct copy {
	int store;
	char *path, *former, *fresh;
};

static void copy_init(struct copy *copy, const char *uuid_text)
{
	copy->path = secret_stored_path(uuid_text);
	copy->former = xasprintf("%s.former", copy->path);
	copy->fresh = xasprintf("%s.new", copy->path);
}

static void copy_exit(struct copy *copy)
{
	free(copy->fresh);
	free(copy->former);
	free(copy->path);
}

static int remove_file(const char *path)
{
	int ret;

	if (!unlink(path) || errno == ENOENT)
		return 0;
	ret = -errno;
	err("cannot remove %s: %s", path, strerror(-ret));
	return ret;
}

static int copy_write(const struct copy *copy, const uint8_t *secret)
{
	int ret = remove_file(copy->fresh);
	int fd;

	if (ret)
		return ret;
	fd = open(copy->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write_secret(fd, secret);
	if (!ret && fsync(fd))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

/* What was there before is there again. */
static int copy_undo(const struct copy *copy)
{
	if (rename(copy->former, copy->path) &&
	    (errno != ENOENT || unlink(copy->path)))
		return -errno;
	return fsync(copy->store) ? -errno : 0;
}

/* There is never half a secret in the place, and no moment without one. */
static int copy_store(const struct copy *copy, const uint8_t *secret)
{
	int ret = copy_write(copy, secret);

	if (!ret)
		ret = remove_file(copy->former);
	if (!ret && link(copy->path, copy->former) && errno != ENOENT)
		ret = -errno;
	if (!ret && rename(copy->fresh, copy->path))
		ret = -errno;
	if (ret) {
		unlink(copy->fresh);
		unlink(copy->former);
	} else if (fsync(copy->store)) {
		ret = -errno;
		copy_undo(copy);
	}
	if (ret)
		err("nothing is changed: it cannot be kept in %s, where rnbd restore looks: %s",
		    copy->path, strerror(-ret));
	return ret;
}

static int copy_forget(const struct copy *copy)
{
	const char * const names[] = { copy->path, copy->former, copy->fresh };
	int ret = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		int failed = remove_file(names[i]);

		ret = ret ?: failed;
	}
	return ret;
}

/**
 * secret_forget() - remove the copy of a host's secret
 * @uuid_text: of the host, in lower case
 *
 * Return: 0, or a negative errno after a message.
 */
int secret_forget(const char *uuid_text)
{
	struct copy copy = { .store = store_lock(false) };
	int ret;

	copy_init(&copy, uuid_text);
	ret = copy_forget(&copy);
	copy_exit(&copy);
	if (copy.store >= 0)
		close(copy.store);
	return ret;
}

/**
 * secret_set() - tell the kernel the secret of a host
 * @dir: of the host in configfs
 * @secret: RNBD_SECRET_SIZE bytes, or NULL to take it away
 *
 * Sessions that began with another one have ended when this returns.
 *
 * Return: 0, or a negative errno after a message.
 */
int secret_set(const char *dir, const uint8_t *secret)
{
	char text[RNBD_SECRET_TEXT_SIZE] = RNBD_SECRET_NONE;
	int ret;

	if (secret)
		rnbd_secret_format(secret, text);
	ret = cfg_write_secret(dir, "secret", text);
	explicit_bzero(text, sizeof(text));
	return ret;
}

/**
 * secret_set_from() - tell the kernel the secret of a host
 * @dir: of the host in configfs
 * @file: what holds the secret
 *
 * Return: 0, or a negative errno after a message.
 */
int secret_set_from(const char *dir, const char *file)
{
	uint8_t secret[RNBD_SECRET_SIZE];
	int store = store_lock(false);
	int ret = secret_read(file, secret);

	if (!ret)
		ret = secret_set(dir, secret);
	explicit_bzero(secret, sizeof(secret));
	if (store >= 0)
		close(store);
	return ret;
}

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
	ret = write_secret(fd, secret);
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
		cfg_rmdir(dir);
	return ret;
}

/*
 * The copy is in its place before the kernel hears of the secret. If it cannot be kept,
 * nothing has happened; if the kernel refuses, the former copy comes back. After a crash
 * in between rnbd restore gives the host the new one: the older one may have been
 * changed because others know it. If only this program dies, the kernel has that one
 * until it is run again, and nobody was told that it had succeeded.
 */
static int host_give(const char *dir, const struct copy *copy, const char *file)
{
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret = secret_read(file, secret);
	int undone;

	if (!ret)
		ret = copy_store(copy, secret);
	if (!ret) {
		ret = host_set(dir, secret);
		undone = ret ? copy_undo(copy) : remove_file(copy->former);
		if (ret && undone)
			err("%s has it nevertheless, run it again: %s", copy->path,
			    strerror(-undone));
	}
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

/* The kernel first: a crash in between leaves a host that has to prove itself again. */
static int host_take(const char *dir, const struct copy *copy)
{
	int ret;

	if (!cfg_exists(dir)) {
		err("there is no such host; see: rnbd host list");
		return -ENOENT;
	}
	ret = secret_set(dir, NULL);
	return ret ?: copy_forget(copy);
}

int cmd_host_secret(const struct args *args)
{
	const char *file = args_value(args, "secret-file");
	struct copy copy = { };
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *dir;
	int ret;

	context_set("host secret %s", args->operand[0]);
	if (parse_uuid(args->operand[0], uuid))
		return usage_err("not a UUID; rnbd hostid on the client prints it");
	if (!file == !args_has(args, "clear"))
		return usage_err("wanted --secret-file FILE or --clear");
	if (cfg_check())
		return RNBD_EXIT_FAIL;
	format_uuid(uuid, text);
	copy.store = store_lock(file);
	if (copy.store < 0 && copy.store != -ENOENT) {
		err(STORE ": cannot use it: %s", strerror(-copy.store));
		return RNBD_EXIT_FAIL;
	}
	copy_init(&copy, text);
	dir = target_host_dir(args->operand[0]);
	ret = file ? host_give(dir, &copy, file) : host_take(dir, &copy);
	free(dir);
	copy_exit(&copy);
	if (copy.store >= 0)
		close(copy.store);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
