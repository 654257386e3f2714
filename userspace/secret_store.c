// SPDX-License-Identifier: GPL-2.0-only
/*
 * Secrets of hosts: files that hold a secret, and the copies that the target keeps.
 *
 * Operation: a secret is one line in a file that only its owner can read. On a client, the tool
 * reads the secret from such a file at each attach. On a target, the kernel never reveals a
 * secret, so the tool keeps a copy in /etc/rnbd/secrets; a host that is created again gets its
 * secret from this copy. host_give() in cmd_secret.c defines in which order kernel and copy are
 * changed. During a rotation there is also a copy of the old secret.
 *
 * Ownership: buffers with a secret are wiped after use. No secret appears on a command line or
 * in a message; only rnbd secret generate prints one.
 * Concurrency: the directory of the copies is locked while a secret changes. If two commands set
 * the secret of a host, both the kernel and the copy end up with the secret of the command that
 * took the lock last.
 * Errors: one error message that names the file and the remedy.
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
#include "parse.h"
#include "secret_store.h"
#include "util.h"

#define STORE_PARENT	"/etc/rnbd"
#define STORE		SECRET_STORE_DIR

/* Refuse a file that other users could read or change. */
static int check_rights(const char *file, const struct stat *st)
{
	if (!S_ISREG(st->st_mode)) {
		err("%s: is not a regular file", file);
		return -EINVAL;
	}
	if (st->st_mode & 077) {
		err("%s: accessible to others (mode %03o); make a new secret, or run: chmod 600 %s",
		    file, st->st_mode & 0777, file);
		return -EPERM;
	}
	if (st->st_uid && st->st_uid != geteuid()) {
		err("%s: owned by user %u, who can change it; run: chown root %s", file,
		    st->st_uid, file);
		return -EPERM;
	}
	return 0;
}

/* Read a secret; loop, because a pipe can deliver the text in pieces. */
static int read_secret(int fd, const char *name, uint8_t *secret)
{
	char text[RNBD_SECRET_TEXT_SIZE + 2];
	const char *why;
	size_t len = 0;
	ssize_t got;
	int ret = 0;

	do {
		got = read(fd, text + len, sizeof(text) - len);
		if (got > 0)
			len += got;
	} while (got > 0 && len < sizeof(text));
	if (got < 0) {
		ret = -errno;
		err("%s: cannot be read: %s", name, strerror(errno));
	} else {
		why = rnbd_secret_parse(text, len, secret);
		if (why) {
			err("%s: %s", name, why);
			ret = -EINVAL;
		}
	}
	explicit_bzero(text, sizeof(text));
	return ret;
}

/**
 * secret_read() - read a secret from a file
 * @file: path of the file
 * @secret: secret, RNBD_SECRET_SIZE bytes; the caller wipes it
 *
 * Return: 0, or a negative errno after an error message.
 */
int secret_read(const char *file, uint8_t *secret)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int ret;

	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		err("%s: %s", file, strerror(errno));
	} else {
		ret = check_rights(file, &st) ?: read_secret(fd, file, secret);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/**
 * secret_read_operand() - read a secret from a file or from standard input
 * @file: path of the file, or "-" for standard input
 * @secret: secret, RNBD_SECRET_SIZE bytes; the caller wipes it
 *
 * Return: 0, or a negative errno after an error message.
 */
int secret_read_operand(const char *file, uint8_t *secret)
{
	return strcmp(file, "-") ? secret_read(file, secret) :
	       read_secret(STDIN_FILENO, "standard input", secret);
}

/**
 * secret_stored_path() - get the path of the copy of a host's secret
 * @uuid_text: UUID of the host, in lower case
 *
 * Return: the path; the caller frees it.
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
 * Lock the directory of the copies until the returned file descriptor is closed, so that the
 * secrets in the kernel and the copies change together. With @make, create the directory;
 * otherwise return -ENOENT if it does not exist.
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
		note("waiting for another command that changes a secret");
	if (!flock(fd, LOCK_EX))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

void secret_copy_init(struct secret_copy *copy, const char *uuid_text)
{
	copy->path = secret_stored_path(uuid_text);
	copy->old = xasprintf("%s.old", copy->path);
	copy->former = xasprintf("%s.former", copy->path);
	copy->fresh = xasprintf("%s.new", copy->path);
}

void secret_copy_exit(struct secret_copy *copy)
{
	free(copy->fresh);
	free(copy->former);
	free(copy->old);
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

/* Restore the former copy, or remove the copy if there was none before. */
int secret_copy_undo(const struct secret_copy *copy)
{
	if (rename(copy->former, copy->path) &&
	    (errno != ENOENT || unlink(copy->path)))
		return -errno;
	return fsync(copy->store) ? -errno : 0;
}

/* Replace the copy atomically: after a crash, there is either the former or the new copy. */
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
		err("nothing is changed: cannot store the secret in %s for rnbd restore: %s",
		    copy->path, strerror(-ret));
	return ret;
}

/* Keep the new copy, and remove the former one. */
int secret_copy_settle(const struct secret_copy *copy)
{
	return remove_file(copy->former);
}

/* Make the copy of the present secret also the copy of the old secret, by a hard link. */
int secret_copy_store_old(const struct secret_copy *copy)
{
	int ret = remove_file(copy->old);

	if (!ret && (link(copy->path, copy->old) || fsync(copy->store))) {
		ret = -errno;
		err("nothing is changed: cannot store the current secret in %s: %s", copy->old,
		    strerror(-ret));
	}
	return ret;
}

int secret_copy_forget_old(const struct secret_copy *copy)
{
	int ret = remove_file(copy->old);

	if (!ret && copy->store >= 0 && fsync(copy->store)) {
		ret = -errno;
		err("%s: removed, but may reappear after a crash: %s", copy->old, strerror(-ret));
	}
	return ret;
}

/* Test whether the copy has this secret; print no message if there is no copy. */
bool secret_copy_is(const struct secret_copy *copy, const uint8_t *secret)
{
	uint8_t kept[RNBD_SECRET_SIZE];
	bool same = !access(copy->path, F_OK) && !secret_read(copy->path, kept) &&
		    !memcmp(kept, secret, sizeof(kept));

	explicit_bzero(kept, sizeof(kept));
	return same;
}

/* Test whether the copies of the old and of the present secret have the same secret. */
bool secret_copy_is_old(const struct secret_copy *copy)
{
	uint8_t old[RNBD_SECRET_SIZE];
	bool same = !access(copy->old, F_OK) && !secret_read(copy->old, old) &&
		    secret_copy_is(copy, old);

	explicit_bzero(old, sizeof(old));
	return same;
}

int secret_copy_forget(const struct secret_copy *copy)
{
	/*
	 * Remove the copy of the present secret last: after a crash, the copy of the old secret
	 * must not exist without it.
	 */
	const char * const names[] = { copy->old, copy->former, copy->fresh, copy->path };
	int ret = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		int failed = remove_file(names[i]);

		ret = ret ?: failed;
	}
	return ret;
}

/**
 * secret_forget() - remove the copies of a host's secrets
 * @uuid_text: UUID of the host, in lower case
 *
 * Return: 0, or a negative errno after an error message.
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

static int set_attr(const char *dir, const char *attr, const uint8_t *secret)
{
	char text[RNBD_SECRET_TEXT_SIZE] = RNBD_SECRET_NONE;
	int ret;

	if (secret)
		rnbd_secret_format(secret, text);
	ret = configfs_write_secret(dir, attr, text);
	explicit_bzero(text, sizeof(text));
	return ret;
}

/**
 * secret_set() - set the secret of a host in the kernel
 * @dir: directory of the host in configfs
 * @secret: RNBD_SECRET_SIZE bytes, or NULL to remove both the secret and the old secret
 *
 * The kernel closes the sessions that did not authenticate with a secret that the host has now,
 * or, if @secret is NULL, those that did authenticate; target_wait_stale_secret() waits for their
 * end. If the host has an old secret, as during a rotation, the old secret stays valid when the
 * secret is set.
 *
 * Return: 0, or a negative errno after an error message.
 */
int secret_set(const char *dir, const uint8_t *secret)
{
	return set_attr(dir, "secret", secret);
}

/**
 * secret_set_from() - set the secret of a host in the kernel from a file
 * @dir: directory of the host in configfs
 * @file: path of the file with the secret
 *
 * Return: 0, or a negative errno after an error message.
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

static int put_back(const char *dir, const char *attr, const char *file)
{
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret = secret_read(file, secret);

	if (!ret)
		ret = set_attr(dir, attr, secret);
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

/* Return the value of the attribute, 1 or 0, or -EIO after an error message. */
static int has_attr(const char *dir, const char *attr)
{
	char *has = configfs_get(dir, attr);
	int ret = has ? !!strcmp(has, "0") : -EIO;

	free(has);
	return ret;
}

/* Test whether a copy exists; return true, too, if this cannot be determined. */
static bool is_kept(const char *path)
{
	return !access(path, F_OK) || errno != ENOENT;
}

/*
 * Return 1 if there is a copy of the present or old secret and the host in the kernel lacks this
 * secret, otherwise 0, or -EIO after an error message. A host lacks only the old secret if an
 * earlier command crashed after it had set the present one.
 */
static int needs_kept(const char *dir, const struct secret_copy *copy)
{
	int has = has_attr(dir, "has_secret");

	if (!has)
		return is_kept(copy->path);
	if (has > 0)
		has = has_attr(dir, "has_old_secret");
	return has ? (has < 0 ? has : 0) : is_kept(copy->old);
}

/**
 * secret_put_back() - give a host the secrets that it lacks from their copies
 * @dir: directory of the host in configfs
 *
 * An old secret that was withdrawn is never restored: the withdrawal removes its copy before it
 * changes the kernel.
 *
 * Return: 1 if the host was given a secret, 0 if the host already has each secret of which there
 * is a copy, or a negative errno after an error message.
 */
int secret_put_back(const char *dir)
{
	struct secret_copy copy = { .store = -1 };
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	int ret;

	/* A copy has the UUID in lower case; the name of the directory can be in upper case. */
	if (parse_uuid(strrchr(dir, '/') + 1, uuid))
		abort();
	format_uuid(uuid, text);
	secret_copy_init(&copy, text);
	/* Check first without the lock, because another command can hold it for long. */
	ret = needs_kept(dir, &copy);
	if (ret > 0) {
		copy.store = secret_store_lock(false);
		ret = copy.store < 0 ? copy.store : needs_kept(dir, &copy);
		if (copy.store < 0)
			err(STORE ": cannot use it: %s", strerror(-ret));
	}
	if (ret > 0 && !configfs_read_u64(dir, "has_secret"))
		ret = put_back(dir, "secret", copy.path) ?: 1;
	if (ret > 0 && is_kept(copy.old))
		ret = put_back(dir, "old_secret", copy.old) ?: 1;
	if (copy.store >= 0)
		close(copy.store);
	secret_copy_exit(&copy);
	return ret;
}
