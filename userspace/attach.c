// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd attach, rnbd detach.
 *
 * Operation: names are resolved by address.c, the kernel takes numbers. A target
 * that is busy with what this machine had there before is asked again for a while.
 * Ownership: nothing is kept.
 * Concurrency: one thread.
 * Errors: one line that names the export and the target, or the disk.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rnbd/netlink.h>

#include "address.h"
#include "attached.h"
#include "command.h"
#include "conf.h"
#include "hostid.h"
#include "list.h"
#include "netlink.h"
#include "resolve.h"
#include "secrets.h"
#include "util.h"

#define NODE_WAIT_MS	5000
/* A target ends what this host had there before it was started anew. */
#define TARGET_WAIT_MS	30000
#define TARGET_NAP_MS	100
/* udev opens a disk for a moment whenever it has appeared or was written. */
#define BUSY_WAIT	2
#define NAP_MS		10
/* While the target is not there at all; each attempt takes its time as well. */
#define RETRY_NAP_MS	500
/* What a file describes is attached at boot, when a target may boot as well. */
#define CONF_WAIT	90
#define NAME_RULE	"1 to 63 of A-Z a-z 0-9 . _ : -, but no rnbdN, number or UUID"

static int get_size(const struct args *args, const char *name, uint64_t max,
		    uint64_t *out)
{
	const char *value = args_value(args, name);

	if (value && parse_size(value, max, out))
		return usage_err("--%s %s: wanted a size such as 4096, 64K or 1M",
				 name, value);
	return 0;
}

/* Like get_size(), but 0 is a size, and nothing leaves it to the kernel. */
static int get_inline(const struct args *args, const char *name, uint32_t *out)
{
	const char *value = args_value(args, name);
	uint64_t size = ATTACH_DEFAULT;
	int ret = 0;

	if (value && !strcmp(value, "0"))
		size = 0;
	else
		ret = get_size(args, name, RNBD_INLINE_MAX, &size);
	*out = size;
	return ret;
}

static int get_recovery(const struct args *args, struct attach *attach)
{
	const char *policy = args_value(args, "policy");
	int ret;

	if (policy && strcmp(policy, "queue") && strcmp(policy, "fail"))
		return usage_err("--policy %s: wanted queue or fail", policy);
	attach->policy = policy && !strcmp(policy, "fail") ? RNBD_POLICY_FAIL :
							     RNBD_POLICY_QUEUE;
	attach->loss_timeout = ATTACH_DEFAULT;
	ret = args_number(args, "fast-io-fail", 0, SECONDS_MAX, &attach->fast_io_fail);
	if (!ret)
		ret = args_number(args, "loss-timeout", 0, SECONDS_MAX,
				  &attach->loss_timeout);
	if (!ret)
		ret = args_number(args, "keepalive", RNBD_KEEPALIVE_MS_MIN,
				  RNBD_KEEPALIVE_MS_MAX, &attach->keepalive_ms);
	return ret;
}

static int get_transfer(const struct args *args, struct attach *attach)
{
	const char *mode = args_value(args, "transfer");

	if (mode && strcmp(mode, "zero-copy") && strcmp(mode, "copy"))
		return usage_err("--transfer %s: wanted zero-copy or copy", mode);
	if (mode && !strcmp(mode, "copy"))
		attach->flags |= RNBD_FLAG_COPY;
	return 0;
}

static int get_wishes(const struct args *args, struct attach *attach)
{
	uint64_t slot_size = 0, max_io = 0;
	int ret;

	ret = args_number(args, "queues", 1, RNBD_QUEUES_MAX, &attach->queues);
	if (!ret)
		ret = args_number(args, "poll-queues", 0, RNBD_QUEUES_MAX - 1,
				  &attach->poll_queues);
	if (!ret)
		ret = args_number(args, "queue-depth", 1, RNBD_DEPTH_MAX, &attach->depth);
	if (!ret)
		ret = args_number(args, "ring-slots", RNBD_RING_SLOTS_MIN,
				  RNBD_RING_SLOTS_MAX, &attach->ring_slots);
	if (!ret)
		ret = get_size(args, "slot-size", UINT32_MAX, &slot_size);
	if (!ret)
		ret = get_size(args, "max-io", UINT32_MAX, &max_io);
	if (!ret)
		ret = get_size(args, "pool", UINT64_MAX, &attach->pool_bytes);
	if (!ret)
		ret = get_inline(args, "inline-read", &attach->inline_read);
	if (!ret)
		ret = get_inline(args, "inline-write", &attach->inline_write);
	if (!ret)
		ret = get_recovery(args, attach);
	attach->slot_size = slot_size;
	attach->max_io = max_io;
	if (args_has(args, "read-only"))
		attach->flags |= RNBD_FLAG_READONLY;
	if (args_has(args, "early-release"))
		attach->flags |= RNBD_FLAG_EARLY_RELEASE;
	if (!ret)
		ret = get_transfer(args, attach);
	return ret;
}

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
	struct attempt *attempt = arg;
	int ret;

	attempt->attach.address = address;
	while ((ret = rnbd_attach(&attempt->attach, &attempt->disk)) == -EBUSY &&
	       now_ms() < end)
		take_nap(TARGET_NAP_MS);
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
	const char *name = attempt->attach.name;
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
		.attach.name = args_value(args, "name"),
	};
	struct attach *attach = &attempt.attach;
	char host[NI_MAXHOST], where[WHERE_SIZE];
	int ret;

	ret = get_target(args, host, &attach->port, where);
	if (!ret)
		ret = args_number(args, "wait", 0, SECONDS_MAX, &wait);
	if (!ret)
		ret = get_wishes(args, attach);
	if (ret)
		return ret;
	if (!export_name_valid(attach->export))
		return usage_err("\"%s\" is no name of an export: 1 to 63 of A-Z a-z 0-9 . _ : -",
				 attach->export);
	if (attach->name && !disk_name_valid(attach->name))
		return usage_err("--name %s: wanted " NAME_RULE, attach->name);
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
	ret = attach_within(&attempt, host, wait) ? RNBD_EXIT_FAIL :
						    print_attached(args, &attempt.disk);
	explicit_bzero(secret, sizeof(secret));
	rnbd_close();
	return ret;
}

int cmd_attach(const struct args *args)
{
	const char *path = args_value(args, "config");
	struct conf conf;
	int ret;

	if (!path && args->nr_operands < 2)
		return usage_err("an operand is missing; usage: rnbd %s %s",
				 args->cmd->name, args->cmd->operands);
	if (!path)
		return attach_disk(args, 0);
	if (args->nr_operands)
		return usage_err("\"%s\" and --config: the file has the target; usage: rnbd %s %s",
				 args->operand[0], args->cmd->name, args->cmd->operands);

	ret = conf_load(&conf, args, path);
	if (!ret) {
		context_set("%s %s", args->cmd->name, path);
		ret = attach_disk(&conf.args, CONF_WAIT);
	}
	conf_free(&conf);
	return ret;
}

static bool matches(const char *pattern)
{
	glob_t found = { };
	bool some = !glob(pattern, 0, NULL, &found);

	globfree(&found);
	return some;
}

/* Does a logical volume, an array or multipath lie on it or on a partition? */
static bool has_holders(const char *name)
{
	char *disk = xasprintf("/sys/block/%s/holders/*", name);
	char *partition = xasprintf("/sys/block/%s/%sp*/holders/*", name, name);
	bool some = matches(disk) || matches(partition);

	free(partition);
	free(disk);
	return some;
}

/* @wait: seconds; for holders, which do not go by themselves, no longer than usual */
static int detach_one(const char *name, const struct args *args, uint32_t wait)
{
	const bool force = args_has(args, "force");
	uint64_t start = now_ms();
	uint64_t left;
	int ret;

	context_set("detach %s", name);
	while ((ret = rnbd_detach(name, force)) == -EBUSY) {
		left = wait > BUSY_WAIT && has_holders(name) ? BUSY_WAIT : wait;
		if (now_ms() - start >= left * 1000)
			break;
		take_nap(NAP_MS);
	}
	/* It was listed a moment ago. */
	if (ret == -ENODEV && args_has(args, "idempotent"))
		ret = 0;
	if (!ret)
		return RNBD_EXIT_OK;
	err("%s", rnbd_error());
	return RNBD_EXIT_FAIL;
}

static int detach_disks(const char *word, const struct args *args, uint32_t wait)
{
	const struct disk *one = NULL;
	struct disks disks = { };
	size_t i;
	int ret;

	ret = disks_list(&disks);
	if (ret)
		goto out;
	if (!word) {
		for (i = 0; i < disks.nr; i++)
			ret |= detach_one(disks.disk[i].disk, args, wait);
		goto out;
	}
	ret = resolve_disk(word, &disks, &one);
	if (!ret)
		ret = detach_one(one->disk, args, wait);
	else if (ret == -ENODEV && args_has(args, "idempotent"))
		ret = RNBD_EXIT_OK;
	else
		ret = resolve_fail(ret);
out:
	free(disks.disk);
	return ret;
}

int cmd_detach(const struct args *args)
{
	const char *word = args->nr_operands ? args->operand[0] : NULL;
	uint32_t wait = BUSY_WAIT;
	int ret;

	if (!word == !args_has(args, "all"))
		return usage_err("wanted a disk or --all; usage: rnbd detach DISK | --all");
	if (word && resolve_check(word))
		return usage_err("%s", resolve_error());
	ret = args_number(args, "wait", 0, SECONDS_MAX, &wait);
	if (ret)
		return ret;

	ret = rnbd_open();
	/* Without the module nothing is attached. */
	if (ret == -ENOENT && args_has(args, "idempotent"))
		return RNBD_EXIT_OK;
	if (ret) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	ret = detach_disks(word, args, wait);
	rnbd_close();
	return ret;
}
