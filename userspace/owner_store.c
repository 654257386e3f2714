// SPDX-License-Identifier: GPL-2.0-only
/*
 * Store the owners of exclusive exports in files, so that they survive a restart of the target.
 *
 * Operation: the kernel shows the owner of an export in one line, owner_state. Commands keep
 * this line in one file for each export that ever had an owner; the file is named by the UUID
 * of the export, because the UUID identifies the data. Commands that create an export write
 * the line back before they enable the export. The kernel ignores a line unless its owner
 * generation is higher than the present one, so an old file cannot undo a change of the owner.
 *
 * Ownership: the files belong to rnbd. The file of a removed export stays: if the same data are
 * exported again, the target must still refuse the disks of an earlier owner.
 * Concurrency: owner_store_keep() holds a lock of the directory while it reads owner_state and
 * writes the file.
 * Errors: one error message that names the file. An export whose file is damaged is not
 * created.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configfs.h"
#include "file_replace.h"
#include "output.h"
#include "owner_store.h"
#include "parse.h"

#define PARENT_DIR	"/var/lib/rnbd"

/* Return the path of an export's file, freed by the caller, or NULL after an error message. */
static char *path_of(const char *export_dir)
{
	char *uuid_text = configfs_get(export_dir, "uuid");
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *path = NULL;

	if (uuid_text && parse_uuid(uuid_text, uuid)) {
		err("cannot parse uuid: \"%s\"", uuid_text);
	} else if (uuid_text) {
		format_uuid(uuid, text);
		path = xasprintf(OWNER_STORE_DIR "/%s", text);
	}
	free(uuid_text);
	return path;
}

/* Return the generation in a file; 0 if the file is missing or damaged. */
static uint32_t kept_generation(const char *path)
{
	char line[OWNER_TEXT_SIZE + 16] = "";
	struct owner owner = { };
	FILE *in = fopen(path, "re");

	if (!in)
		return 0;
	if (!fgets(line, sizeof(line), in) || owner_parse(line, &owner))
		owner.generation = 0;
	fclose(in);
	return owner.generation;
}

static int keep_line(const char *export_dir, const char *path)
{
	char *text = configfs_get(export_dir, "owner_state");
	char line[OWNER_TEXT_SIZE + 1];
	struct owner owner;
	int ret = 0;

	if (!text)
		return -EIO;
	if (owner_parse(text, &owner)) {
		err("cannot parse owner_state: \"%s\"", text);
		ret = -EINVAL;
	} else if (kept_generation(path) > owner.generation) {
		ret = -ESTALE;
	} else if (owner.generation) {
		owner_text(&owner, line);
		strcat(line, "\n");
		ret = file_replace(path, line, NULL) ?: file_sync_dir(path);
		if (ret)
			err("%s: cannot record the owner of the export: %s", path, strerror(-ret));
	}
	free(text);
	return ret;
}

static bool never_owned(const char *export_dir)
{
	char *text = configfs_try(export_dir, "owner_state");
	struct owner owner = { };
	bool never = text && !owner_parse(text, &owner) && !owner.generation;

	free(text);
	return never;
}

/**
 * owner_store_keep() - store the owner of an export
 * @export_dir: directory of the export in configfs
 *
 * Nothing is written for an export that never had an owner.
 *
 * Return: 0; -ESTALE without a message if the generation in the file is higher than that in the
 * kernel, for example while the export is being restored; or another negative errno after an
 * error message.
 */
int owner_store_keep(const char *export_dir)
{
	int ret = -EIO, lock;
	char *path;

	if (never_owned(export_dir))
		return 0;
	path = path_of(export_dir);
	if (!path)
		return -EIO;
	lock = file_lock_dir(PARENT_DIR, OWNER_STORE_DIR);
	if (lock >= 0) {
		ret = keep_line(export_dir, path);
		close(lock);
	} else {
		ret = lock;
		err(OWNER_STORE_DIR ": cannot be used: %s; the owner of the export is not recorded",
		    strerror(-ret));
	}
	free(path);
	return ret;
}

static bool is_exclusive(const char *export_dir)
{
	return configfs_read_u64(export_dir, "exclusive");
}

/**
 * owner_store_put_back() - write the stored owner of an export to the kernel
 * @export_dir: directory of the export in configfs; the export has its UUID and is not enabled
 *
 * Return: 0, also if no owner is stored or the export is not exclusive, or a negative errno
 * after an error message.
 */
int owner_store_put_back(const char *export_dir)
{
	char line[OWNER_TEXT_SIZE + 16] = "";
	struct owner owner;
	char *path;
	int ret = 0;
	FILE *in;

	if (!is_exclusive(export_dir))
		return 0;
	path = path_of(export_dir);
	if (!path)
		return -EIO;
	in = fopen(path, "re");
	if (!in && errno == ENOENT)
		goto out;
	if (!in || (!fgets(line, sizeof(line), in) && ferror(in))) {
		ret = -errno;
		err("%s: cannot be read: %s; the owner of the export is not known", path,
		    strerror(errno));
	} else if (owner_parse(line, &owner)) {
		ret = -EINVAL;
		err("%s: is damaged; remove it if no disk of an earlier owner is left", path);
	} else {
		line[strcspn(line, "\n")] = '\0';
		ret = configfs_write(export_dir, "owner_state", line);
	}
	if (in)
		fclose(in);
out:
	free(path);
	return ret;
}
