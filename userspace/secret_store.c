// SPDX-License-Identifier: GPL-2.0-only
/*
 * Secrets of hosts: the files that hold one, and the copies that the target keeps.
 *
 * Operation: a secret is one line in a file that nobody but its owner may read. The
 * client is given such a file at each attach. The kernel of the target is told the
 * secret and never tells it again, so a copy is kept in /etc/rnbd/secrets, from which
 * rnbd restore takes it; cmd_secret.c says in which order.
 * Ownership: no secret is kept longer than it is needed, nor put on a command line, into
 * a message or into what is printed.
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
#include <sys/stat.h>
#include <unistd.h>

#include "../drivers/core/secret.h"
#include "configfs.h"
#include "secret_store.h"

#define STORE_PARENT	"/etc/rnbd"
#define STORE		SECRET_STORE_DIR

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

int secret_write(int fd, const uint8_t *secret)
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
int secret_store_lock(bool make)
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

void secret_copy_init(struct secret_copy *copy, const char *uuid_text)
{
	copy->path = secret_stored_path(uuid_text);
	copy->former = xasprintf("%s.former", copy->path);
	copy->fresh = xasprintf("%s.new", copy->path);
}

void secret_copy_exit(struct secret_copy *copy)
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

static int copy_write(const struct secret_copy *copy, const uint8_t *secret)
{
	int ret = remove_file(copy->fresh);
	int fd;

	if (ret)
		return ret;
	fd = open(copy->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = secret_write(fd, secret);
	if (!ret && fsync(fd))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

/* What was there before is there again. */
int secret_copy_undo(const struct secret_copy *copy)
{
	if (rename(copy->former, copy->path) &&
	    (errno != ENOENT || unlink(copy->path)))
		return -errno;
	return fsync(copy->store) ? -errno : 0;
}

/* There is never half a secret in the place, and no moment without one. */
int secret_copy_store(const struct secret_copy *copy, const uint8_t *secret)
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
		secret_copy_undo(copy);
	}
	if (ret)
		err("nothing is changed: it cannot be kept in %s, where rnbd restore looks: %s",
		    copy->path, strerror(-ret));
	return ret;
}

/* The new copy stays: the older one goes. */
int secret_copy_settle(const struct secret_copy *copy)
{
	return remove_file(copy->former);
}

int secret_copy_forget(const struct secret_copy *copy)
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
	struct secret_copy copy = { .store = secret_store_lock(false) };
	int ret;

	secret_copy_init(&copy, uuid_text);
	ret = secret_copy_forget(&copy);
	secret_copy_exit(&copy);
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
	ret = configfs_write_secret(dir, "secret", text);
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
	int store = secret_store_lock(false);
	int ret = secret_read(file, secret);

	if (!ret)
		ret = secret_set(dir, secret);
	explicit_bzero(secret, sizeof(secret));
	if (store >= 0)
		close(store);
	return ret;
}
