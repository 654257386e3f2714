// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd attach: attach an export as a local disk.
 *
 * Operation: names are resolved by address.c, the kernel takes numbers. A target
 * that is busy with what this machine had there before is asked again for a while.
 * Ownership: nothing is kept.
 * Concurrency: one thread.
 * Errors: one line that names the export and the target.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rnbd/netlink.h>

#include "address.h"
#include "args.h"
#include "attach_conf.h"
#include "attached.h"
#include "cmd.h"
#include "disks.h"
#include "hostid.h"
#include "netlink_client.h"
#include "options.h"
#include "secret_store.h"
#include "util.h"

#define NODE_WAIT_MS	5000
/* A target ends what this host had there before it was started anew. */
#define TARGET_WAIT_MS	30000
#define TARGET_NAP_MS	100
#define TARGET_NAP_MAX_MS	2000
#define NAP_MS		10
/* While the target is not there at all; each attempt takes its time as well. */
#define RETRY_NAP_MS	500
/* What a file describes is attached at boot, when a target may boot as well. */
#define CONF_WAIT	90

/* devtmpfs makes the node at once, udev may rename or set rights later. */
static bool wait_for_node(const char *path)
{
	struct stat st;
	int left;

	for (left = NODE_WAIT_MS / NAP_MS; left; left--) {
		if (!stat(path, &st) && S_ISBLK(st.st_mode))
			return true;
		take_nap(NAP_MS);
	}
	return false;
}

static int print_attached(const struct args *args, const struct disk *disk)
{
	char *path = xasprintf("/dev/%s", disk->disk);
	int ret = RNBD_EXIT_OK;

	if (!wait_for_node(path)) {
		err("attached, but %s does not appear; is devtmpfs or udev there?", path);
		ret = RNBD_EXIT_FAIL;
	} else if (args_has(args, "json")) {
		json_print(disk_json(disk));
	} else {
		puts(path);
	}
	free(path);
	return ret;
}

/**
 * struct attempt - what an attach asks for, and what it got
 * @args: the command line
 * @attach: what to ask for
 * @disk: the disk, if there is one
 * @why: why there is none
 */
struct attempt {
	const struct args *args;
	struct attach attach;
	struct disk disk;
	const char *why;
};

/* The kernel does not wait for a target that is busy with our former self. */
static int attach_patiently(const char *address, void *arg)
{
	uint64_t end = now_ms() + TARGET_WAIT_MS;
	unsigned int nap = TARGET_NAP_MS;
	struct attempt *attempt = arg;
	int ret;

	attempt->attach.address = address;
	while ((ret = rnbd_attach(&attempt->attach, &attempt->disk)) == -EBUSY &&
	       now_ms() < end)
		nap = take_longer_naps(nap, TARGET_NAP_MAX_MS);
	if (ret)
		attempt->why = rnbd_error();
	return ret;
}

/* Is it attached at this address already? As attached_find(). */
static int find_attached(const char *address, void *arg)
{
	struct attempt *attempt = arg;

	attempt->attach.address = address;
	return attached_find(attempt->args, &attempt->attach, &attempt->disk, &attempt->why);
}

static bool not_attached(int ret)
{
	return ret == -ENODEV;
}

/*
 * Only if it is not attached yet. Who attaches the same under the same name at the same
 * time has a disk soon; until then the kernel refuses the name, and it is looked again.
 */
static int attach_once(struct attempt *attempt, const struct addrinfo *list)
{
	uint64_t end = now_ms() + TARGET_WAIT_MS;
	const char *name = args_value(attempt->args, "name");
	bool taken;
	int ret;

	for (;;) {
		ret = ask_addresses(list, find_attached, attempt, not_attached);
		if (!not_attached(ret))
			return ret;
		taken = !name || attached_name_taken(name);
		ret = ask_addresses(list, attach_patiently, attempt, unreachable);
		if (ret != -EEXIST || taken || now_ms() >= end)
			return ret;
		take_nap(TARGET_NAP_MS);
	}
}

static int attach_somewhere(struct attempt *attempt, const char *host)
{
	struct addrinfo *list;
	int ret;

	ret = find_addresses(host, &list, &attempt->why);
	if (ret)
		return ret;
	if (args_has(attempt->args, "idempotent"))
		ret = attach_once(attempt, list);
	else
		ret = ask_addresses(list, attach_patiently, attempt, unreachable);
	freeaddrinfo(list);
	return ret;
}

/* A target that boots: not there, or there without its exports. */
static bool may_come(int error)
{
	return unreachable(error) || error == -ECONNREFUSED ||
	       error == -ECONNRESET || error == -ENOTCONN || error == -ENOENT ||
	       error == -EBUSY;
}

static int attach_within(struct attempt *attempt, const char *host, uint32_t seconds)
{
	uint64_t end = now_ms() + seconds * 1000ull;
	bool told = false;
	int ret;

	while ((ret = attach_somewhere(attempt, host)) && may_come(ret) && now_ms() < end) {
		if (!told)
			note("%s; asks again for %u s", attempt->why, seconds);
		told = true;
		take_nap(RETRY_NAP_MS);
	}
	if (ret)
		err("%s", attempt->why);
	return ret;
}

static int attach_disk(const struct args *args, uint32_t wait)
{
	const char *host_id = args_value(args, "host-id");
	const char *secret_file = args_value(args, "secret-file");
	uint8_t secret[RNBD_SECRET_SIZE];
	struct attempt attempt = {
		.args = args,
		.attach.export = args->operand[1],
	};
	struct attach *attach = &attempt.attach;
	char host[NI_MAXHOST], where[WHERE_SIZE];
	int ret;

	ret = get_target(args, host, &attach->port, where);
	if (!ret)
		ret = args_number(args, "wait", 0, SECONDS_MAX, &wait);
	if (!ret)
		ret = options_parse(args, &attach->options);
	if (ret)
		return ret;
	if (!export_name_valid(attach->export))
		return usage_err("\"%s\" is no name of an export: 1 to 63 of A-Z a-z 0-9 . _ : -",
				 attach->export);
	if (host_id && parse_uuid(host_id, attach->host_id))
		return usage_err("--host-id %s: not a UUID", host_id);

	context_set("attach %s at %s", attach->export, where);
	if (!host_id && hostid_get(attach->host_id))
		return RNBD_EXIT_FAIL;

	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	if (secret_file && secret_read(secret_file, secret)) {
		rnbd_close();
		return RNBD_EXIT_FAIL;
	}
	attach->secret = secret_file ? secret : NULL;
	ret = attach_within(&attempt, host, wait);
	/* The kernel refuses a number that is out of range before it asks the target. */
	if (ret)
		ret = ret == -ERANGE ? RNBD_EXIT_USAGE : RNBD_EXIT_FAIL;
	else
		ret = print_attached(args, &attempt.disk);
	explicit_bzero(secret, sizeof(secret));
	rnbd_close();
	return ret;
}

int cmd_attach(const struct args *args)
{
	const char *path = args_value(args, "config");
	struct attach_conf conf;
	int ret;

	if (!path && args->nr_operands < 2)
		return usage_err("an operand is missing; usage: rnbd %s %s",
				 args->cmd->name, args->cmd->operands);
	if (!path)
		return attach_disk(args, 0);
	if (args->nr_operands)
		return usage_err("\"%s\" and --config: the file has the target; usage: rnbd %s %s",
				 args->operand[0], args->cmd->name, args->cmd->operands);

	ret = attach_conf_load(&conf, args, path);
	if (!ret) {
		context_set("%s %s", args->cmd->name, path);
		ret = attach_disk(&conf.args, CONF_WAIT);
	}
	attach_conf_free(&conf);
	return ret;
}
