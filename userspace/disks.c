// SPDX-License-Identifier: GPL-2.0-only
/*
 * List the attached disks, find the disk that an operand names, and make JSON objects.
 *
 * Operation: one netlink dump, sorted by the name of the disk (rnbdN). An operand is
 * looked up in the list of all disks, because the list has their names and export UUIDs.
 * Ownership: the caller of disk_json() owns the object.
 * Concurrency: one thread.
 * Errors: each error is one line on stderr.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "disks.h"
#include "options.h"
#include "resolve.h"
#include "util.h"

static void add_option(struct json_object *obj, const struct opt *opt,
		       const struct option_value *value)
{
	char text[OPTION_TEXT_SIZE];

	option_format(opt, value, text);
	if (!value->known)
		json_add_string(obj, opt->key, NULL);
	else if (opt->type == OPT_FLAG)
		json_add_bool(obj, opt->key, value->number);
	else if (opt->type == OPT_WORD || opt->type == OPT_TEXT)
		json_add_string(obj, opt->key, text);
	else
		json_add_u64(obj, opt->key, value->number);
}

/* Add the granted values of the options of one group, except options that only sysfs reports. */
static void add_granted(struct json_object *obj, const struct options *granted,
			enum opt_group group)
{
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (opt->group == group && !opt->sysfs)
			add_option(obj, opt, &granted->value[option_row(opt)]);
	}
}

/**
 * disk_sysfs_options_json() - add to a JSON object the options that only sysfs reports
 * @obj: object
 * @granted: values that were read from sysfs
 */
void disk_sysfs_options_json(struct json_object *obj, const struct options *granted)
{
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (opt->sysfs)
			add_option(obj, opt, &granted->value[option_row(opt)]);
	}
}

static struct json_object *requested_json(const struct options *requested)
{
	struct json_object *obj = json_object_new_object();
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (opt->group && requested->value[option_row(opt)].known)
			add_option(obj, opt, &requested->value[option_row(opt)]);
	}
	return obj;
}

/**
 * disk_json() - make the JSON object of a disk
 * @disk: disk
 *
 * Return: the object; the caller owns it.
 */
struct json_object *disk_json(const struct disk *disk)
{
	struct json_object *obj = json_object_new_object();

	json_add_string(obj, "disk", disk->disk);
	json_add_string(obj, "name", *disk->name ? disk->name : NULL);
	json_add_string(obj, "export", disk->export);
	json_add_string(obj, "address", disk->address);
	json_add_u64(obj, "port", disk->port);
	json_add_string(obj, "state", disk->state);
	json_add_u64(obj, "state_ms", disk->state_ms);
	json_add_u64(obj, "attached_ms", disk->attached_ms);
	json_add_string(obj, "reason", disk->reason);
	json_add_string(obj, "last_error", disk->last_error);
	json_add_u64(obj, "epoch", disk->epoch);
	json_add_u64(obj, "attempt", disk->attempt);
	json_add_u64(obj, "next_try_ms", disk->next_try_ms);
	json_add_u64(obj, "reconnects", disk->reconnects);
	add_granted(obj, &disk->granted, OPT_RECOVERY);
	json_add_u64(obj, "size", disk->size);
	json_add_u64(obj, "block_size", disk->block_size);
	add_granted(obj, &disk->granted, OPT_GEOMETRY);
	json_add_bool(obj, "authenticated", disk->authenticated);
	json_add_uuid(obj, "host_id", disk->host_id);
	json_add_u64(obj, "session", disk->session);
	json_add_string(obj, "session_state", disk->session_state);
	json_add_uuid(obj, "session_id", disk->session_id);
	json_add_uuid(obj, "export_id", disk->export_id);
	json_object_object_add(obj, "requested", requested_json(&disk->requested));
	return obj;
}

/**
 * values_json() - add the counters and other numbers of a disk to a JSON object
 * @obj: object
 * @sample: sample of the disk
 */
void values_json(struct json_object *obj, const struct sample *sample)
{
	size_t i;

	for (i = 0; i < NR_VALUES; i++)
		json_add_known(obj, value_infos[i].key, sample->value[i], !sample->missing[i]);
}

static int compare_disks(const void *a, const void *b)
{
	const struct disk *x = a, *y = b;

	return strverscmp(x->disk, y->disk);
}

/**
 * disks_list() - list all disks, sorted
 * @disks: where the disks are stored; the caller frees disks->disk, also after a failure
 *
 * Return: an exit code, after a message if the list cannot be read.
 */
int disks_list(struct disks *disks)
{
	int ret = rnbd_list(NULL, disks);

	/* The netlink family existed when the socket was opened: the module was unloaded since. */
	if (ret == -ENOENT)
		err("the rnbd module was unloaded; run: modprobe rnbd");
	else if (ret)
		err("%s", rnbd_error());
	if (ret)
		return RNBD_EXIT_FAIL;
	if (disks->nr)
		qsort(disks->disk, disks->nr, sizeof(*disks->disk), compare_disks);
	return RNBD_EXIT_OK;
}

/**
 * disks_open_list() - open the netlink socket and list all disks
 * @disks: where the disks are stored; the caller frees disks->disk, also after a failure
 *
 * The caller must call rnbd_close(), also after a failure.
 *
 * Return: an exit code, after a message if this fails.
 */
int disks_open_list(struct disks *disks)
{
	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	return disks_list(disks);
}

/* Print why resolve_disk() failed with @error. Returns the exit code. */
int resolve_fail(int error)
{
	err("%s", resolve_error());
	return error == -EINVAL ? RNBD_EXIT_USAGE : RNBD_EXIT_FAIL;
}

/**
 * disk_get() - find the disk that the first operand names
 * @args: command line
 * @disk: where the disk is stored
 *
 * Return: an exit code, after a message if no disk is found.
 */
int disk_get(const struct args *args, struct disk *disk)
{
	const struct disk *found;
	struct disks disks = { };
	int ret;

	if (resolve_check(args->operand[0]))
		return usage_err("%s", resolve_error());
	ret = disks_open_list(&disks);
	if (ret == RNBD_EXIT_OK) {
		ret = resolve_disk(args->operand[0], &disks, &found);
		if (ret)
			ret = resolve_fail(ret);
		else
			*disk = *found;
	}
	rnbd_close();
	free(disks.disk);
	return ret;
}
