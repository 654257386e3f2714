// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd attach: attach an export as a local disk.
 *
 * Operation: address.c resolves host names, because the kernel accepts only numeric
 * addresses. A target answers BUSY if a retry can succeed, for example while it tears down an
 * earlier attachment of this host, or if it limits the rate of logins. After this answer, the
 * command retries for up to TARGET_WAIT_MS.
 * Ownership: no state is kept.
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
/* Time limit of retries while the target answers BUSY */
#define TARGET_WAIT_MS	30000
#define TARGET_NAP_MS	100
#define TARGET_NAP_MAX_MS	2000
#define NAP_MS		10
/* Pause between attempts while the target or its export is not available */
#define RETRY_NAP_MS	500
/* Default of --wait in seconds with --config: at boot, the target can be booting as well. */
#define CONF_WAIT	90

/* Wait for the device node: without devtmpfs, udev creates it some time after the attach. */
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
		err("attached, but %s does not appear; check devtmpfs and udev", path);
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
 * struct attempt - an attach: request and result
 * @args: command line
 * @attach: request
 * @disk: disk that was attached, or that was found by attached_find()
 * @why: error message, if the attach or the search failed
 */
struct attempt {
	const struct args *args;
	struct attach attach;
	struct disk disk;
	const char *why;
};

/* Attach, and retry while the target answers BUSY, because the kernel does not retry. */
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

/* Call attached_find() for one address of the target. */
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
 * Attach unless a matching disk exists. If the attach fails with -EEXIST although no disk had
 * the name before, another process is attaching this export or a disk of this name: search and
 * attach again, for up to TARGET_WAIT_MS, until the disk of the other process appears.
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
		taken = name && attached_name_taken(name);
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

/*
 * Check whether the error can be that of a target that is still booting, which for example is
 * unreachable or does not have the export yet.
 */
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
			note("%s; retrying for %u s", attempt->why, seconds);
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
		return usage_err("\"%s\" is not an export name: 1 to 63 of A-Z a-z 0-9 . _ : -",
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
	/* The kernel rejects a number out of range before it connects: a usage error. */
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
		return usage_err("operand \"%s\" contradicts --config; usage: rnbd %s %s",
				 args->operand[0], args->cmd->name, args->cmd->operands);

	ret = attach_conf_load(&conf, args, path);
	if (!ret) {
		context_set("%s %s", args->cmd->name, path);
		ret = attach_disk(&conf.args, CONF_WAIT);
	}
	attach_conf_free(&conf);
	return ret;
}
