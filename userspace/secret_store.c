// SPDX-License-Identifier: GPL-2.0-only
/*
 * Secrets of hosts: the files that hold one, and the copies that the target keeps.
 *
 * Operation: a secret is one line in a file that nobody but its owner may read. The
 * client is given such a file at each attach. The kernel of the target is told the
 * secret and never tells it again, so a copy is kept in /etc/rnbd/secrets, from which
 * a host that is made again gets it; cmd_secret.c says in which order. While a secret
 * is being rotated there is a copy of the old one, too.
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
#include "parse.h"
#include "secret_store.h"
#include "util.h"

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

/* A pipe may hand the text over in pieces. */
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
 * secret_read() - read a file with a secret
 * @file: its path
 * @secret: RNBD_SECRET_SIZE bytes; the caller wipes them
 *
 * Return: 0, or a negative errno after a message.
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
 * secret_read_operand() - read a file with a secret, or standard input
 * @file: its path, or "-"
 * @secret: RNBD_SECRET_SIZE bytes; the caller wipes them
 *
 * Return: 0, or a negative errno after a message.
 */
int secret_read_operand(const char *file, uint8_t *secret)
{
	return strcmp(file, "-") ? secret_read(file, secret) :
	       read_secret(STDIN_FILENO, "standard input", secret);
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
		note("waits for a secret that is being changed");
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

/* The present copy is that of the old secret as well. */
int secret_copy_store_old(const struct secret_copy *copy)
{
	int ret = remove_file(copy->old);

	if (!ret && (link(copy->path, copy->old) || fsync(copy->store))) {
		ret = -errno;
		err("nothing is changed: the present secret cannot be kept in %s: %s", copy->old,
		    strerror(-ret));
	}
	return ret;
}

int secret_copy_forget_old(const struct secret_copy *copy)
{
	int ret = remove_file(copy->old);

	if (!ret && copy->store >= 0 && fsync(copy->store)) {
		ret = -errno;
		err("%s: its removal may not last: %s", copy->old, strerror(-ret));
	}
	return ret;
}

/* Is that secret the one that is kept? No message if there is no copy. */
bool secret_copy_is(const struct secret_copy *copy, const uint8_t *secret)
{
	uint8_t kept[RNBD_SECRET_SIZE];
	bool same = !access(copy->path, F_OK) && !secret_read(copy->path, kept) &&
		    !memcmp(kept, secret, sizeof(kept));

	explicit_bzero(kept, sizeof(kept));
	return same;
}

/* Is the copy of the old secret that of the present one, so that no other is in use? */
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
	/* The old secret must not be kept without the present one. */
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
 * secret_set() - tell the kernel the secret of a host
 * @dir: of the host in configfs
 * @secret: RNBD_SECRET_SIZE bytes, or NULL to remove it, and the old one
 *
 * The kernel closes the sessions that rely on a secret which the host no longer has;
 * target_wait_outdated() waits for their end. The old secret still counts.
 *
 * Return: 0, or a negative errno after a message.
 */
int secret_set(const char *dir, const uint8_t *secret)
{
	return set_attr(dir, "secret", secret);
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

static int put_back(const char *dir, const char *attr, const char *file)
{
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret = secret_read(file, secret);

	if (!ret)
		ret = set_attr(dir, attr, secret);
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

/* 1, 0, or -EIO after a message */
static int has_attr(const char *dir, const char *attr)
{
	char *has = configfs_get(dir, attr);
	int ret = has ? !!strcmp(has, "0") : -EIO;

	free(has);
	return ret;
}

/* A copy that is there and cannot be used must not be taken for none. */
static bool is_kept(const char *path)
{
	return !access(path, F_OK) || errno != ENOENT;
}

/*
 * 1 if the host lacks a secret that is kept, otherwise 0, or -EIO after a message. A host
 * with a secret can lack the old one if a program died after it had set the first.
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
 * secret_put_back() - give a host those of its secrets that are kept and that it lacks
 * @dir: of the host in configfs
 *
 * A secret that was withdrawn is not kept: the copy goes before the kernel's secret.
 *
 * Return: 1 if it has got a secret, 0 if it lacks none that is kept, or a negative errno
 * after a message.
 */
int secret_put_back(const char *dir)
{
	struct secret_copy copy = { };
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	int ret;

	/* the directory may be in upper case */
	if (parse_uuid(strrchr(dir, '/') + 1, uuid))
		abort();
	format_uuid(uuid, text);
	secret_copy_init(&copy, text);
	/* Another command may hold the lock: take it only if needed. */
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
	if (copy.store > 0)
		close(copy.store);
	secret_copy_exit(&copy);
	return ret;
}
